// What the server claims to serve: its own documents where it has them, else this contract's manifest.
import { commandManifest } from '../../../generated/messages.ts'
import { type OperationId, type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { isMap, type JsonMap, mapOf } from './json.ts'
import type { Target } from './target.ts'

export type Claim = 'implemented' | 'preview' | 'planned'
export type WsCommandName = keyof typeof commandManifest.ws

export interface Claims {
  /** The document itself, or null where it is not served. */
  openapi: JsonMap | null
  asyncapi: JsonMap | null
  /** Of this contract's operations; what a document does not have is planned. */
  operations: ReadonlyMap<OperationId, Claim>
  commands: ReadonlyMap<WsCommandName, Claim>
  /** Operations that a document has under an id of the contract with another method or path. */
  misplaced: readonly string[]
}

export async function readClaims(target: Target): Promise<Claims> {
  const [openapi, asyncapi] = [
    await readDocument(target, '/openapi.json'),
    await readDocument(target, '/asyncapi.json'),
  ]
  const operations = new Map<OperationId, Claim>()
  const misplaced: string[] = []
  const served = servedOperations(openapi)
  for (const info of operationManifest) {
    if (openapi === null) operations.set(info.operationId, info.implementation)
    else operations.set(info.operationId, served.get(info.operationId)?.claim ?? 'planned')
    const there = served.get(info.operationId)
    if (there && there.place !== placeOf(info))
      misplaced.push(`${info.operationId} is ${there.place}, not ${placeOf(info)}`)
  }
  return { openapi, asyncapi, operations, commands: servedCommands(asyncapi), misplaced }
}

function placeOf({ method, path }: OperationInfo): string {
  return `${method} ${path}`
}

async function readDocument(target: Target, path: string): Promise<JsonMap | null> {
  const { status, body } = await target.send('GET', path)
  return status === 200 && isMap(body) ? body : null
}

function servedOperations(openapi: JsonMap | null): Map<string, { claim: Claim; place: string }> {
  const served = new Map<string, { claim: Claim; place: string }>()
  for (const [path, item] of Object.entries(mapOf(openapi?.paths))) {
    for (const [method, operation] of Object.entries(mapOf(item))) {
      const { operationId } = mapOf(operation)
      if (typeof operationId === 'string')
        served.set(operationId, { claim: claimOf(operation), place: `${method} ${path}` })
    }
  }
  return served
}

function servedCommands(asyncapi: JsonMap | null): Map<WsCommandName, Claim> {
  const messages = mapOf(mapOf(mapOf(asyncapi?.channels).ws).messages)
  const all = mapOf(mapOf(asyncapi?.components).messages)
  const commands = new Map<WsCommandName, Claim>()
  for (const { command, implementation } of Object.values(commandManifest.ws)) {
    const message = resolved(messages[command], all)
    if (asyncapi === null) commands.set(command, implementation === 'implemented' ? 'implemented' : 'planned')
    else commands.set(command, message === undefined ? 'planned' : claimOf(message))
  }
  return commands
}

function resolved(message: unknown, all: JsonMap): unknown {
  const { $ref } = mapOf(message)
  return typeof $ref === 'string' ? (all[$ref.slice($ref.lastIndexOf('/') + 1)] ?? message) : message
}

/** A document without markers declares what it serves. */
function claimOf(value: unknown): Claim {
  const marker = mapOf(value)['x-svc-implementation']
  return marker === 'planned' || marker === 'preview' ? marker : 'implemented'
}

/** The methods that a path takes by the claims, in capitals. */
export function methodsOf(claims: Claims, path: string): string[] {
  return operationManifest
    .filter((info) => info.path === path && claims.operations.get(info.operationId) !== 'planned')
    .map(({ method }) => method.toUpperCase())
}
