// JSON schemas that a local model can be made to keep to. The runtime makes a grammar of a schema and passes over what it does not know,
// so that whatever is not known here is refused.
import type { CompletionRequest } from './provider.ts'
import { ProviderError } from './provider-error.ts'

type Format = NonNullable<CompletionRequest['response_format']>

const PARAM = 'response_format'
const MOST_DEPTH = 64
/** Schemas, values and names in a schema. All of them are looked at at once, and no grammar of more is of any use. */
const MOST_PARTS = 10_000
/** There are no more in JSON. */
const MOST_TYPES = 7

/** What may stand in a schema and is kept to, or says nothing of the value. */
const KNOWN = new Set([
  'type',
  'enum',
  'const',
  'oneOf',
  'anyOf',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  '$ref',
  '$defs',
  '$schema',
  'title',
  'description',
])

const SCALARS = new Set<unknown>(['number', 'integer', 'boolean', 'null'])
const DEFINED = '#/$defs/'

/** The schema as the runtime takes it; `any` where any JSON object will do, null for text. @throws ProviderError `unsupported` */
export function localSchema(format: Format | null): object | 'any' | null {
  if (format === null || format.type === 'text') return null
  if (format.type === 'json_object') return 'any'
  const { schema } = format.json_schema
  const place = { path: `${PARAM}.json_schema.schema`, depth: 0, defined: null, left: { parts: MOST_PARTS } }
  return schema ? runtimeSchema(schema, place) : 'any'
}

interface Place {
  readonly path: string
  readonly depth: number
  /** What may be referred to. */
  readonly defined: Defined | null
  /** How many more there may be in all of the schema. */
  readonly left: { parts: number }
}

/** Definitions by name, and those around them. */
interface Defined {
  readonly here: Record<string, unknown>
  readonly around: Defined | null
}

function runtimeSchema(schema: unknown, place: Place): object {
  if (!isRecord(schema) || place.depth > MOST_DEPTH) throw unsupported(place.path)
  count(1, place)
  for (const key of Object.keys(schema)) if (!KNOWN.has(key)) throw unsupported(`${place.path}.${key.slice(0, 64)}`)
  const { $schema, title, description, $defs = {}, ...said } = schema
  if (!isRecord($defs)) throw unsupported(`${place.path}.$defs`)
  const within = { ...place, defined: { here: $defs, around: place.defined } }
  const definitions = each($defs, below(within, '$defs'))
  return { ...oneValue(said, within), ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }) }
}

/** What a schema says of a value. Of several kinds of sayings the runtime heeds one alone. */
function oneValue(said: Record<string, unknown>, place: Place): object {
  const { $ref, anyOf, oneOf = anyOf, type } = said
  const keys = Object.keys(said)
  if ($ref !== undefined || oneOf !== undefined) {
    if (keys.length > 1)
      throw unsupported(`${place.path}.${keys.find((key) => !/^(\$ref|anyOf|oneOf)$/.test(key)) ?? keys[1]}`)
    return $ref === undefined ? { oneOf: variants(oneOf, place) } : { $ref: reference($ref, place) }
  }
  if (Array.isArray(type) && type.length > MOST_TYPES) throw unsupported(`${place.path}.type`)
  const literals = said.enum ?? (said.const === undefined ? undefined : [said.const])
  if (literals !== undefined) {
    if (!Array.isArray(literals) || literals.length === 0 || !literals.every(isLiteral)) throw unsupported(place.path)
    count(literals.length, place)
    const kinds = type === undefined ? null : [type].flat()
    const fits = (value: unknown) => kinds === null || kinds.some((kind) => isOfKind(value, kind))
    if (!literals.every(fits)) throw unsupported(`${place.path}.type`)
    return { enum: literals }
  }
  if (Array.isArray(type) && type.length > 0) return { oneOf: type.map((one) => typed({ ...said, type: one }, place)) }
  return typed(said, place)
}

function typed(said: Record<string, unknown>, place: Place): object {
  const { type, required, properties, items, additionalProperties, minItems, maxItems, minLength, maxLength } = said
  guardLimits({ minLength, maxLength, minItems, maxItems }, place)
  if (type === 'string') return { type, ...given({ minLength, maxLength }) }
  if (type === 'array') {
    const of = items === undefined ? undefined : runtimeSchema(items, below(place, 'items'))
    return { type, ...given({ minItems, maxItems, items: of }) }
  }
  if (type !== 'object') {
    if (!SCALARS.has(type)) throw unsupported(`${place.path}.type`)
    return { type }
  }
  requireAll(properties, required, place)
  return {
    type,
    ...given({
      properties: properties === undefined ? undefined : each(properties, below(place, 'properties')),
      additionalProperties:
        additionalProperties === undefined || typeof additionalProperties === 'boolean'
          ? additionalProperties
          : runtimeSchema(additionalProperties, below(place, 'additionalProperties')),
    }),
  }
}

/** More than an answer can have, in characters as well. */
const LARGEST_LIMIT = 100_000

/** Limits that are none, or that nothing keeps: the runtime would pass over them, or fail in the middle. */
function guardLimits(
  limits: Readonly<Record<'minLength' | 'maxLength' | 'minItems' | 'maxItems', unknown>>,
  { path }: Place,
) {
  for (const [name, limit] of Object.entries(limits)) {
    const fits = limit === undefined || (Number.isSafeInteger(limit) && Number(limit) >= 0)
    if (!fits || Number(limit) > LARGEST_LIMIT) throw unsupported(`${path}.${name}`)
  }
  const { minLength, maxLength, minItems, maxItems } = limits
  if (Number(minLength) > Number(maxLength)) throw unsupported(`${path}.maxLength`)
  if (Number(minItems) > Number(maxItems)) throw unsupported(`${path}.maxItems`)
}

function given(members: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function variants(given: unknown, place: Place): object[] {
  if (!Array.isArray(given) || given.length === 0) throw unsupported(place.path)
  return given.map((one, at) => runtimeSchema(one, below(place, `oneOf[${at}]`)))
}

function reference(given: unknown, { path, defined }: Place): string {
  const name = String(given).startsWith(DEFINED) ? String(given).slice(DEFINED.length) : null
  if (name === null || !isDefined(name, defined)) throw unsupported(`${path}.$ref`)
  return String(given)
}

function isDefined(name: string, defined: Defined | null): boolean {
  for (let one = defined; one; one = one.around) if (Object.hasOwn(one.here, name)) return true
  return false
}

function each(given: unknown, place: Place): Record<string, object> {
  if (!isRecord(given)) throw unsupported(place.path)
  return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, runtimeSchema(one, below(place, name))]))
}

function below(place: Place, key: string): Place {
  return { ...place, path: `${place.path}.${key.slice(0, 64)}`, depth: place.depth + 1 }
}

function isOfKind(value: unknown, kind: unknown): boolean {
  if (kind === 'null') return value === null
  return kind === 'integer' ? Number.isInteger(value) : typeof value === kind
}

function isLiteral(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** The runtime writes every property, which is good for those that may be left out as well; one that it does not know of it never writes. */
function requireAll(properties: unknown, required: unknown, place: Place): void {
  if (required === undefined) return
  if (Array.isArray(required)) count(required.length, place)
  const known = isRecord(properties) ? properties : {}
  const missing = !Array.isArray(required) || required.some((name) => !Object.hasOwn(known, String(name)))
  if (missing) throw unsupported(`${place.path}.required`)
}

function unsupported(param: string): ProviderError {
  return new ProviderError('unsupported', 'Local models cannot be made to keep to this part of the schema.', { param })
}

/** @throws ProviderError `unsupported` where there are too many together */
function count(parts: number, { left }: Place): void {
  left.parts -= parts
  if (left.parts >= 0) return
  const text = `Local models cannot be made to keep to a schema of more than ${MOST_PARTS.toLocaleString('en')} parts.`
  throw new ProviderError('unsupported', text, { param: `${PARAM}.json_schema.schema` })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
