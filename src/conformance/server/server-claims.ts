// The operations and commands that the server claims: those of its own documents where it serves them, else those of this contract.
import { commandManifest } from '../../../generated/messages.ts'
import { type OperationId, type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { isMap, type JsonMap, mapOf } from './json.ts'
import type { TargetServer } from './target-server.ts'

export type ImplementationClaim = 'implemented' | 'preview' | 'planned'
export type WsCommandName = keyof typeof commandManifest.ws

export interface ServerClaims {
  /** The document itself. Null where the server does not serve it. */
  openapi: JsonMap | null
  asyncapi: JsonMap | null
  /** The claims about this contract's operations. Operations that are missing from the document are planned. */
  operations: ReadonlyMap<OperationId, ImplementationClaim>
  commands: ReadonlyMap<WsCommandName, ImplementationClaim>
  /** Operations that have an id of the contract, but another method or path. */
  misplaced: readonly string[]
}

export async function readClaims(target: TargetServer): Promise<ServerClaims> {
  const [openapi, asyncapi] = [
    await readDocument(target, '/openapi.json'),
    await readDocument(target, '/asyncapi.json'),
  ]
  const operations = new Map<OperationId, ImplementationClaim>()
  const misplaced: string[] = []
  const served = listServedOperations(openapi)
  for (const info of operationManifest) {
    if (openapi === null) operations.set(info.operationId, info.implementation)
    else operations.set(info.operationId, served.get(info.operationId)?.claim ?? 'planned')
    const there = served.get(info.operationId)
    if (there && there.place !== formatOperation(info))
      misplaced.push(`${info.operationId} is ${there.place}, not ${formatOperation(info)}`)
  }
  return { openapi, asyncapi, operations, commands: listServedCommands(asyncapi), misplaced }
}

function formatOperation({ method, path }: OperationInfo): string {
  return `${method} ${path}`
}

async function readDocument(target: TargetServer, path: string): Promise<JsonMap | null> {
  const { status, body } = await target.send('GET', path)
  return status === 200 && isMap(body) ? body : null
}

function listServedOperations(openapi: JsonMap | null): Map<string, { claim: ImplementationClaim; place: string }> {
  const served = new Map<string, { claim: ImplementationClaim; place: string }>()
  for (const [path, item] of Object.entries(mapOf(openapi?.paths))) {
    for (const [method, operation] of Object.entries(mapOf(item))) {
      const { operationId } = mapOf(operation)
      if (typeof operationId === 'string')
        served.set(operationId, { claim: readClaim(operation), place: `${method} ${path}` })
    }
  }
  return served
}

function listServedCommands(asyncapi: JsonMap | null): Map<WsCommandName, ImplementationClaim> {
  const messages = mapOf(mapOf(mapOf(asyncapi?.channels).ws).messages)
  const all = mapOf(mapOf(asyncapi?.components).messages)
  const commands = new Map<WsCommandName, ImplementationClaim>()
  for (const { command, implementation } of Object.values(commandManifest.ws)) {
    const message = resolveMessage(messages[command], all)
    if (asyncapi === null) commands.set(command, implementation === 'implemented' ? 'implemented' : 'planned')
    else commands.set(command, message === undefined ? 'planned' : readClaim(message))
  }
  return commands
}

function resolveMessage(message: unknown, all: JsonMap): unknown {
  const { $ref } = mapOf(message)
  return typeof $ref === 'string' ? (all[$ref.slice($ref.lastIndexOf('/') + 1)] ?? message) : message
}

/** A document without markers claims all that it declares. */
function readClaim(value: unknown): ImplementationClaim {
  const marker = mapOf(value)['x-svc-implementation']
  return marker === 'planned' || marker === 'preview' ? marker : 'implemented'
}

/** Returns the claimed methods of a path, in upper case. */
export function listClaimedMethods(claims: ServerClaims, path: string): string[] {
  return operationManifest
    .filter((info) => info.path === path && claims.operations.get(info.operationId) !== 'planned')
    .map(({ method }) => method.toUpperCase())
}
