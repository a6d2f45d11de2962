// Emits `validators.js` for the running service. It validates requests of hot
// operations, commands of sockets, and large bodies of all operations.
import { type ContractChannel, listChannels } from '../documents/channels.ts'
import type { Contract } from '../documents/contract.ts'
import {
  createSchemaReference,
  isMap,
  type Json,
  type JsonMap,
  mapOf,
  readSchemaName,
} from '../documents/json-pointer.ts'
import { type ContractOperation, listOperations, type OperationParameter } from '../documents/operations.ts'
import { quotePropertyName, quoteText, toUnionType } from './typescript-source.ts'
import { compileValidators, type ValidatorModule } from './validator-compiler.ts'

const REQUEST_PARTS = { path: 'path', query: 'query', header: 'headers' } as const

interface ValidatedOperations {
  /** Operations whose whole requests are validated. */
  readonly hot: readonly ContractOperation[]
  /** Other operations with a JSON body. */
  readonly others: readonly ContractOperation[]
  /** Operations whose body is a form. */
  readonly forms: readonly ContractOperation[]
  readonly channels: readonly ContractChannel[]
}

export async function emitInputValidators({
  openapi,
  asyncapi,
  schemas,
}: Contract): Promise<{ js: string; dts: string }> {
  const operations = listOperations(openapi)
  const hot = operations.filter(({ validation }) => validation === 'precompiled')
  const others = operations.filter((one) => one.validation === 'openapi' && hasBody(one))
  const forms = operations.filter(({ body }) => body === 'multipart')
  const channels = listChannels(asyncapi)
  const js = await compileValidators(
    generateEntry({ hot, others, forms, channels }),
    {
      parameters: createModule([...hot, ...others], (operation) => createParametersSchema(operation, schemas), {
        coerce: true,
        defaults: true,
      }),
      bodies: createModule(hot.filter(hasBody), createBodySchema, { coerce: false, defaults: true }),
      // Both validators leave the values unchanged, so they share their referenced schemas.
      commands: {
        coerce: false,
        defaults: false,
        schemas: { ...createCommandSchemas(channels), ...createBodySchemas(others), ...createBodySchemas(forms) },
      },
    },
    schemas,
  )
  return { js, dts: generateDeclarations({ hot, others, forms, channels }) }
}

function createModule(
  operations: readonly ContractOperation[],
  schemaOf: (operation: ContractOperation) => JsonMap,
  options: { coerce: boolean; defaults: boolean },
): ValidatorModule {
  return { ...options, schemas: Object.fromEntries(operations.map((one) => [one.operationId, schemaOf(one)])) }
}

function createCommandSchemas(channels: readonly ContractChannel[]): JsonMap {
  const commands = channels.flatMap((channel) => channel.commands)
  return Object.fromEntries(
    commands.map(({ channel, key, schema }) => [`${channel}_${key}`, createSchemaReference(schema!)]),
  )
}

function createBodySchemas(operations: readonly ContractOperation[]): JsonMap {
  return Object.fromEntries(operations.map((operation) => [bodySchemaName(operation), createBodySchema(operation)]))
}

function bodySchemaName({ operationId }: ContractOperation): string {
  return `body_${operationId}`
}

/** Returns the parameters of an operation as one object. Unknown query parameters are refused, unknown headers are not. */
function createParametersSchema({ parameters }: ContractOperation, schemas: JsonMap): JsonMap {
  const properties: JsonMap = {}
  for (const [place, name] of Object.entries(REQUEST_PARTS)) {
    const own = parameters.filter((parameter) => parameter.in === place)
    const entries = own.map(
      (parameter) => [parameterKey(parameter), createParameterSchema(parameter, schemas)] as const,
    )
    const part: JsonMap = { type: 'object', properties: Object.fromEntries(entries) }
    const required = own.filter((parameter) => parameter.required).map(parameterKey)
    if (required.length > 0) part.required = required
    if (place === 'query') part.additionalProperties = false
    properties[name] = part
  }
  return { type: 'object', required: Object.values(REQUEST_PARTS), properties }
}

function parameterKey({ in: place, name }: OperationParameter): string {
  return place === 'header' ? name.toLowerCase() : name
}

/** Refuses an empty query parameter where the contract does not allow it, as express-openapi-validator does. */
function createParameterSchema(parameter: OperationParameter, schemas: JsonMap): Json {
  const name = readSchemaName(parameter.schema)
  const schema = name === null ? parameter.schema : mapOf(schemas[name])
  const text = isMap(schema) && schema.type === 'string' && schema.minLength === undefined
  return text && !parameter.empty && parameter.in === 'query' ? { ...schema, minLength: 1 } : schema
}

const BODY_TYPES = ['application/json', 'multipart/form-data']

function hasBody({ body, request }: ContractOperation): boolean {
  return body === 'json' && request !== null
}

function createBodySchema({ request }: ContractOperation): JsonMap {
  const json = request!.content.find(({ media_type }) => BODY_TYPES.includes(media_type))
  return {
    type: 'object',
    ...(request!.required ? { required: ['body'] } : {}),
    properties: { body: json?.schema ?? {} },
  }
}

function generateEntry({ hot, others, forms, channels }: ValidatedOperations): string {
  const requests = [
    ...hot.map((operation) => [operation, hasBody(operation) ? `bodies.${operation.operationId}` : null] as const),
    ...others.map((operation) => [operation, `commands.${bodySchemaName(operation)}`] as const),
  ].map(([{ operationId }, body]) => {
    const parts = [`parameters.${operationId}`, ...(body === null ? [] : [body])]
    return `  ${operationId}: all(${parts.join(', ')}),\n`
  })
  const commands = channels.map(({ name, commands }) => {
    const entries = commands.map(({ key }) => `    ${quotePropertyName(key)}: commands.${name}_${key},\n`)
    return `  ${quotePropertyName(name)}: {\n${entries.join('')}  },\n`
  })
  const bodies = (of: readonly ContractOperation[]) =>
    of.map((operation) => `  ${operation.operationId}: commands.${bodySchemaName(operation)},\n`).join('')
  return `import * as parameters from 'virtual:parameters'
import * as bodies from 'virtual:bodies'
import * as commands from 'virtual:commands'

function all(...parts) {
  const validate = (value) => {
    let errors = []
    for (const part of parts) if (!part(value)) errors = errors.concat(part.errors)
    validate.errors = errors.length === 0 ? null : errors
    return errors.length === 0
  }
  return validate
}

export const requestValidators = {
${requests.join('')}}
export const parameterValidators = {
${[...hot.filter(hasBody), ...others].map(({ operationId }) => `  ${operationId}: parameters.${operationId},\n`).join('')}}
export const bodyValidators = {
${hot
  .filter(hasBody)
  .map(({ operationId }) => `  ${operationId}: bodies.${operationId},\n`)
  .join('')}${bodies(others)}}
export const formValidators = {
${bodies(forms)}}
export const commandValidators = {
${commands.join('')}}
`
}

/** The types of validators. Both modules declare them. */
export const VALIDATE_TYPES = `/** One failed keyword. \`instancePath\` is a JSON pointer into the value. */
export interface KeywordError {
  instancePath: string
  schemaPath: string
  keyword: string
  params: Record<string, unknown>
  message?: string
}

/** Tells whether a value is valid. If not, \`errors\` holds its errors until the next call. */
export interface Validate {
  (value: unknown): boolean
  errors?: KeywordError[] | null
}
`

function generateDeclarations({ hot, others, forms, channels }: ValidatedOperations): string {
  const members = channels.map(({ name, commands }) => {
    return `  readonly ${quotePropertyName(name)}: Readonly<Record<${toUnionType(commands.map(({ key }) => key))}, Validate>>\n`
  })
  const declared = ({ operationId }: ContractOperation) => `  readonly ${quotePropertyName(operationId)}: Validate\n`
  return `${VALIDATE_TYPES}
/**
 * Whole requests \`{ path, query, headers, body }\` of operations marked ${quoteText('precompiled')}, and of the others that take a body in JSON.
 * Header names are in lower case.
 * Parameters are texts and are converted in place to the types of their schemas; defaults are filled in.
 */
export const requestValidators: {
${[...hot, ...others].map(declared).join('')}}

/** The parameters \`{ path, query, headers }\` of all operations that take a body in JSON. They are converted as in whole requests. */
export const parameterValidators: {
${[...hot.filter(hasBody), ...others].map(declared).join('')}}

/** The bodies \`{ body }\` of the same operations. No default is filled in. */
export const bodyValidators: {
${[...hot.filter(hasBody), ...others].map(declared).join('')}}

/** The bodies \`{ body }\` of forms, as an object of their parts. They are not changed. */
export const formValidators: {
${forms.map(declared).join('')}}

/** Whole commands, by channel. They are not changed. */
export const commandValidators: {
${members.join('')}}
`
}
