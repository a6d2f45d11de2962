// `validators.js`: what the running service validates, requests of its hot operations and commands of its sockets.
import { type Channel, channelsOf } from './channels.ts'
import { compileValidators, type ValidatorModule } from './compile-validators.ts'
import type { Contract } from './contract.ts'
import { type Operation, operationsOf, type Parameter } from './operations.ts'
import { property, quoted, union } from './text.ts'
import { isMap, type Json, type JsonMap, mapOf, schemaName, schemaReference } from './tree.ts'

const PARTS = { path: 'path', query: 'query', header: 'headers' } as const

export async function emitValidators({ openapi, asyncapi, schemas }: Contract): Promise<{ js: string; dts: string }> {
  const hot = operationsOf(openapi).filter(({ validation }) => validation === 'precompiled')
  const channels = channelsOf(asyncapi)
  const js = await compileValidators(
    entry(hot, channels),
    {
      parameters: moduleOf(hot, (operation) => parametersSchema(operation, schemas), { coerce: true, defaults: true }),
      bodies: moduleOf(hot.filter(hasBody), bodySchema, { coerce: false, defaults: true }),
      commands: commandModule(channels),
    },
    schemas,
  )
  return { js, dts: declarations(hot, channels) }
}

function moduleOf(
  operations: readonly Operation[],
  schemaOf: (operation: Operation) => JsonMap,
  options: { coerce: boolean; defaults: boolean },
): ValidatorModule {
  return { ...options, schemas: Object.fromEntries(operations.map((one) => [one.operationId, schemaOf(one)])) }
}

function commandModule(channels: readonly Channel[]): ValidatorModule {
  const commands = channels.flatMap((channel) => channel.commands)
  const entries = commands.map(({ channel, key, schema }) => [`${channel}_${key}`, schemaReference(schema!)] as const)
  return { coerce: false, defaults: false, schemas: Object.fromEntries(entries) }
}

/** The parameters of an operation as one object; unknown query parameters are refused, unknown headers are not. */
function parametersSchema({ parameters }: Operation, schemas: JsonMap): JsonMap {
  const properties: JsonMap = {}
  for (const [place, name] of Object.entries(PARTS)) {
    const own = parameters.filter((parameter) => parameter.in === place)
    const entries = own.map((parameter) => [keyOf(parameter), parameterSchema(parameter, schemas)] as const)
    const part: JsonMap = { type: 'object', properties: Object.fromEntries(entries) }
    const required = own.filter((parameter) => parameter.required).map(keyOf)
    if (required.length > 0) part.required = required
    if (place === 'query') part.additionalProperties = false
    properties[name] = part
  }
  return { type: 'object', required: Object.values(PARTS), properties }
}

function keyOf({ in: place, name }: Parameter): string {
  return place === 'header' ? name.toLowerCase() : name
}

/** An empty query parameter says nothing, so it is refused, as express-openapi-validator does. */
function parameterSchema(parameter: Parameter, schemas: JsonMap): Json {
  const name = schemaName(parameter.schema)
  const schema = name === null ? parameter.schema : mapOf(schemas[name])
  const text = isMap(schema) && schema.type === 'string' && schema.minLength === undefined
  return text && parameter.in === 'query' ? { ...schema, minLength: 1 } : schema
}

function hasBody({ body, request }: Operation): boolean {
  return body === 'json' && request !== null
}

function bodySchema({ request }: Operation): JsonMap {
  const json = request!.content.find(({ media_type }) => media_type === 'application/json')
  return {
    type: 'object',
    ...(request!.required ? { required: ['body'] } : {}),
    properties: { body: json?.schema ?? {} },
  }
}

function entry(hot: readonly Operation[], channels: readonly Channel[]): string {
  const requests = hot.map((operation) => {
    const parts = [`parameters.${operation.operationId}`]
    if (hasBody(operation)) parts.push(`bodies.${operation.operationId}`)
    return `  ${operation.operationId}: all(${parts.join(', ')}),\n`
  })
  const commands = channels.map(({ name, commands }) => {
    const entries = commands.map(({ key }) => `    ${property(key)}: commands.${name}_${key},\n`)
    return `  ${property(name)}: {\n${entries.join('')}  },\n`
  })
  return `import * as parameters from 'virtual:parameters'
import * as bodies from 'virtual:bodies'
import * as commands from 'virtual:commands'

function all(...parts) {
  const validate = (value) => {
    const errors = []
    for (const part of parts) if (!part(value)) errors.push(...part.errors)
    validate.errors = errors.length === 0 ? null : errors
    return errors.length === 0
  }
  return validate
}

export const requestValidators = {
${requests.join('')}}
export const commandValidators = {
${commands.join('')}}
`
}

/** The types of validators, which both modules declare for themselves. */
export const VALIDATE_TYPES = `/** One failed keyword. \`instancePath\` is a JSON pointer into the value. */
export interface KeywordError {
  instancePath: string
  schemaPath: string
  keyword: string
  params: Record<string, unknown>
  message?: string
}

/** Tells whether a value is valid; if not, \`errors\` says all that is wrong until the next call. */
export interface Validate {
  (value: unknown): boolean
  errors?: KeywordError[] | null
}
`

function declarations(hot: readonly Operation[], channels: readonly Channel[]): string {
  const members = channels.map(({ name, commands }) => {
    return `  readonly ${property(name)}: Readonly<Record<${union(commands.map(({ key }) => key))}, Validate>>\n`
  })
  const ids = hot.map(({ operationId }) => `  readonly ${property(operationId)}: Validate\n`)
  return `${VALIDATE_TYPES}
/**
 * Whole requests \`{ path, query, headers, body }\` of operations marked ${quoted('precompiled')}. Header names are in lower case.
 * Parameters are texts and are changed in place into what their schemas ask for; defaults are filled in.
 */
export const requestValidators: {
${ids.join('')}}

/** Whole commands, by channel. They are not changed. */
export const commandValidators: {
${members.join('')}}
`
}
