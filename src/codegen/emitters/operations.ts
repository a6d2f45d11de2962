// Emits `operations.ts`: the manifest of all operations, and the types of a table of handlers.
import type { CodegenConfig } from '../../../codegen.config.ts'
import type { Contract } from '../documents/contract.ts'
import { type Json, listOf, mapOf, readSchemaName } from '../documents/json-pointer.ts'
import {
  type ContractOperation,
  type DeclaredReply,
  isJsonMediaType,
  listOperations,
  type MediaContent,
} from '../documents/operations.ts'
import { quotePropertyName, quoteText, toLiteral, toPascalCase, toUnionType } from './typescript-source.ts'

export function emitOperations({ openapi }: Contract, config: CodegenConfig): string {
  const operations = listOperations(openapi)
  const replies = operations.map((operation) => emitReplyType(operation, config.error_schemas))
  return [
    HEADER_TYPES,
    `/** The replies of the operations. Errors are thrown, so their statuses are missing here. */
export interface OperationReplies {
${replies.join('')}}
`,
    REQUEST_TYPES,
    emitHandlerTypes(operations),
    emitManifest(operations),
  ].join('\n')
}

const HEADER_TYPES = `import type { components, operations } from './types.ts'

type Schemas = components['schemas']

export type OperationId = keyof operations & string

export interface OperationInfo {
  readonly operationId: OperationId
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch' | 'trace'
  /** As the contract writes it: \`/api/workflows/{id}\`. */
  readonly path: string
  readonly tag: string
  readonly implementation: 'implemented' | 'planned'
  /** \`operator\`: as \`principal\` in Local mode, as \`administrator\` in identity-provider mode. */
  readonly access: 'public' | 'principal' | 'operator' | 'administrator'
  /** How its requests are validated: by the generated validators, or by the middleware that reads the document. */
  readonly validation: 'precompiled' | 'openapi'
  /** The last path parameter, where it takes any number of segments. */
  readonly wildcard: string | null
  /** Whether the path is also served with a trailing slash. */
  readonly trailing_slash: boolean
  /** The form of its error bodies. */
  readonly errors: 'api' | 'sdk' | 'openai'
  /** \`json\` is parsed and validated, \`raw\` and \`multipart\` are read by the handler. */
  readonly body: 'json' | 'raw' | 'multipart' | 'none'
  /** Whether 400 is among its answers. An operation without 400 ignores the rest of the request. */
  readonly refuses_input: boolean
  /** The scope that a token needs. The administrator's operations need \`admin\` as well. */
  readonly scope: 'read' | 'write'
  /** \`sign_in\` has a stricter limit besides the common one. */
  readonly rate_limit: 'common' | 'sign_in'
  /** Planned, and served only where the preview of the job operations is switched on. */
  readonly preview: boolean
  /** The switch that disables it, or null. */
  readonly switch: 'sdk_lifecycle' | null
}

/** Content that is not JSON. */
export type RawBody = string | Uint8Array | AsyncIterable<string | Uint8Array>

type ReplyHeaders = Readonly<Record<string, string | number>>
/** An answer whose body is sent as JSON. */
interface JsonReply<Status extends number, Body> {
  status: Status
  body: Body
  headers?: ReplyHeaders
  content_type?: never
}
/** An answer whose body is sent as it is. */
interface RawReply<Status extends number, ContentType extends string> {
  status: Status
  body: RawBody
  content_type: ContentType
  headers?: ReplyHeaders
}
interface EmptyReply<Status extends number> {
  status: Status
  headers?: ReplyHeaders
  body?: never
  content_type?: never
}
`

const REQUEST_TYPES = `type Part<Parameters, Name extends string> = Parameters extends { [K in Name]: infer Members }
  ? Members
  : Parameters extends { [K in Name]?: infer Members }
    ? NonNullable<Members>
    : Record<never, never>
type LowerCase<Members> = { [K in keyof Members as K extends string ? Lowercase<K> : never]: Members[K] }
type Body<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Content } } }
  ? Content
  : Operation extends { requestBody?: { content: { 'application/json': infer Content } } }
    ? Content | undefined
    : undefined

/** A validated request. Header names are in lower case, as Node gives them. The body is undefined where the handler reads it. */
export interface OperationRequest<Id extends OperationId> {
  path: Part<operations[Id]['parameters'], 'path'>
  query: Part<operations[Id]['parameters'], 'query'>
  headers: LowerCase<Part<operations[Id]['parameters'], 'header'>>
  body: Body<operations[Id]>
}

export type OperationReply<Id extends OperationId> = OperationReplies[Id]

export type OperationHandler<Id extends OperationId, C> = (
  request: OperationRequest<Id>,
  context: C,
) => OperationReply<Id> | Promise<OperationReply<Id>>
`

function emitReplyType(operation: ContractOperation, errors: readonly string[]): string {
  const variants = operation.replies
    .filter((reply) => !isThrownReply(reply, errors))
    .flatMap((reply) => listReplyVariants(operation, reply))
  return `  ${quotePropertyName(operation.operationId)}: ${variants.length === 0 ? 'never' : variants.join(' | ')}\n`
}

/** Whether a status only reports an error. */
function isThrownReply({ status, content }: DeclaredReply, errors: readonly string[]): boolean {
  return status >= 400 && content.every(({ schema }) => isErrorSchema(schema, errors))
}

function isErrorSchema(schema: Json, errors: readonly string[]): boolean {
  const name = readSchemaName(schema)
  if (name !== null) return errors.includes(name)
  const variants = listOf(mapOf(schema).oneOf)
  return variants.length > 0 && variants.every((variant) => isErrorSchema(variant, errors))
}

function listReplyVariants(operation: ContractOperation, { status, content }: DeclaredReply): string[] {
  if (content.length === 0) return [`EmptyReply<${status}>`]
  return content.map((media) => {
    const { media_type } = media
    if (isJsonMediaType(media_type) && media_type !== 'application/json')
      return `RawReply<${status}, ${quoteText(media_type)}>`
    if (isJsonMediaType(media_type)) return `JsonReply<${status}, ${toBodyType(operation, status, media)}>`
    return `RawReply<${status}, ${media_type.includes('*') ? 'string' : quoteText(media_type)}>`
  })
}

function toBodyType({ operationId }: ContractOperation, status: number, { media_type, schema }: MediaContent): string {
  const name = readSchemaName(schema)
  if (name !== null) return `Schemas[${quoteText(name)}]`
  const item = readSchemaName(mapOf(schema).items)
  if (mapOf(schema).type === 'array' && item !== null) return `Schemas[${quoteText(item)}][]`
  return `operations[${quoteText(operationId)}]['responses'][${status}]['content'][${quoteText(media_type)}]`
}

function emitHandlerTypes(operations: readonly ContractOperation[]): string {
  const implemented = operations.filter(({ implementation, preview }) => implementation === 'implemented' || preview)
  const tags = [...new Set(implemented.map(({ tag }) => tag))]
  const tables = tags.map((tag) => {
    const own = implemented.filter((operation) => operation.tag === tag)
    const members = own.map(({ operationId }) => `  ${operationId}: OperationHandler<${quoteText(operationId)}, C>\n`)
    return `/** The operations of the tag \`${tag}\` that are implemented, or served in the preview. */
export interface ${toPascalCase(tag)}Handlers<C> {
${members.join('')}}
`
  })
  const members = tags.map((tag) => `  ${quotePropertyName(tag)}: ${toPascalCase(tag)}Handlers<C>\n`)
  return `${tables.join('\n')}
/** Every operation that is implemented, or served in the preview, by tag. */
export interface HandlerTable<C> {
${members.join('')}}

export type ImplementedOperationId = ${toUnionType(implemented.map(({ operationId }) => operationId))}
`
}

function emitManifest(operations: readonly ContractOperation[]): string {
  const entries = operations.map((operation) => {
    const { operationId, method, path, tag, implementation, access } = operation
    const { validation, wildcard, trailing_slash, errors, body, scope, rate_limit, preview } = operation
    const refuses_input = operation.replies.some(({ status }) => status === 400)
    const first = { operationId, method, path, tag, implementation, access }
    const served = { validation, wildcard, trailing_slash, errors, body, refuses_input, scope, rate_limit, preview }
    const info = { ...first, ...served, switch: operation.switch }
    return `  ${toLiteral(info)},\n`
  })
  return `/** Every operation, in the order of the document. */
export const operationManifest: readonly OperationInfo[] = [
${entries.join('')}]

/** The same by id. */
export const operationsById = Object.fromEntries(
  operationManifest.map((operation) => [operation.operationId, operation]),
) as Readonly<Record<OperationId, OperationInfo>>
`
}
