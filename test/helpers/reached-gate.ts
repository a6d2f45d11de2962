// The gate of a whole run: each operation, command and frame that the contract calls implemented was reached by a test, and each code of the error
// catalogue that the server answers with was received by one.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCatalogue } from '../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { restoreExactSchemas } from '../../src/contract/exact-schemas.ts'
import type { JsonMap } from '../../src/contract/json.ts'
import { type ReachedKind, readRecords } from './reached.ts'

const ROOT = join(import.meta.dirname, '../..')
const SRC = join(ROOT, 'src')

interface Implemented {
  readonly implementation: string
  readonly preview?: boolean
}

/** What is served, with the preview as well. */
function isServed({ implementation, preview }: Implemented): boolean {
  return implementation === 'implemented' || preview === true
}

function* servedOf(channels: Readonly<Record<string, Readonly<Record<string, Implemented>>>>): Iterable<string> {
  for (const [channel, items] of Object.entries(channels))
    for (const [name, item] of Object.entries(items)) if (isServed(item)) yield `${channel}.${name}`
}

/** The codes that the server's own code names, whichever transport answers with them. */
function answeredCodes(): string[] {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/^(codegen|client|conformance)\b/.test(path))
    .map((path) => readFileSync(join(SRC, path), 'utf8'))
  const named = new Set(files.flatMap((text) => text.match(/(?<=')[A-Z][A-Z_]+(?=')/g) ?? []))
  return Object.keys(errorCatalogue).filter((code) => named.has(code))
}

interface Schema {
  readonly $ref?: string
  readonly const?: string
  readonly enum?: readonly string[]
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
}

/** The types of events, and the statuses of jobs and nodes that events and frames tell. */
function eventNames(): Record<'event' | 'status', readonly string[]> {
  const published = JSON.parse(readFileSync(join(ROOT, 'generated/openapi.json'), 'utf8')) as JsonMap
  const { schemas } = (restoreExactSchemas(published) as unknown as { components: { schemas: Schemas } }).components
  return {
    event: [...new Set(fixedTexts(schemas, schemas.JobEvent!, 'type'))],
    status: [...new Set([...schemas.JobStatus!.enum!, ...fixedTexts(schemas, schemas.NodeStatusEvent!, 'status')])],
  }
}

type Schemas = Readonly<Record<string, Schema>>

/** The texts that a schema and its variants fix for a property. */
function fixedTexts(schemas: Schemas, schema: Schema, property: string): string[] {
  const { const: fixed, enum: several = [] } = schema.properties?.[property] ?? {}
  const parts = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]
  const inner = parts.flatMap((part) => {
    const referred = part.$ref === undefined ? part : schemas[part.$ref.slice(part.$ref.lastIndexOf('/') + 1)]!
    return fixedTexts(schemas, referred, property)
  })
  return [...(fixed === undefined ? [] : [fixed]), ...several, ...inner]
}

function expectedNames(): Readonly<Record<ReachedKind, readonly string[]>> {
  return {
    operation: operationManifest.filter(isServed).map(({ operationId }) => operationId),
    command: [...servedOf(commandManifest)],
    frame: [...servedOf(frameManifest)],
    error: answeredCodes(),
    ...eventNames(),
  }
}

/** What the contract allows and this server never sends. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  // Events of a node begin when it runs.
  'status pending',
])

/** Lists what the records of a run lack, one line each. */
export function listUnreached(folder: string): string[] {
  const reachedOf = readRecords(folder)
  const unreached = Object.entries(expectedNames()).flatMap(([kind, names]) => {
    const reached = reachedOf(kind as ReachedKind)
    return names.filter((name) => !reached.has(name)).map((name) => `${kind} ${name}`)
  })
  return unreached.filter((line) => !NEVER_SENT.has(line))
}
