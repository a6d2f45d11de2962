// JSON schemas of answers: which engine type a property is of, which handles of a node are its properties, and how models are told of it.
import { NodeError } from '../engine/node-error.ts'
import type { NodeContext, Outputs } from '../engine/node-type.ts'
import { ANY, fits, oneOf, type TypeMetadata, t, typeText } from '../engine/types.ts'
import { conforms } from '../engine/values.ts'
import { shown } from './limits.ts'

export type Schema = Readonly<Record<string, unknown>>

/** How many properties an error names. */
const LISTED = 20

const TYPES: Readonly<Record<string, TypeMetadata>> = {
  string: t('str'),
  integer: t('int'),
  number: t('float'),
  boolean: t('bool'),
  array: t('list'),
  object: t('dict'),
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function propertiesOf({ properties }: Schema): Schema {
  return isSchema(properties) ? properties : {}
}

/** The type of the values that a schema lets through, as far as that is plain; null among them counts for nothing. */
export function typeOf(schema: unknown): TypeMetadata {
  if (!isSchema(schema)) return ANY
  const { type, items } = schema
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
  const [only] = types
  if (types.length !== 1 || typeof only !== 'string' || !Object.hasOwn(TYPES, only)) return ANY
  if (only === 'array') return { ...t('list'), type_args: [typeOf(items)] }
  return wordsOf(schema) ?? TYPES[only]!
}

function wordsOf({ enum: values }: Schema): TypeMetadata | null {
  if (!Array.isArray(values) || values.length === 0) return null
  const texts = values.filter((one) => one !== null)
  return texts.every((one) => typeof one === 'string') ? oneOf(...texts) : null
}

/** The handles of a node that are no outputs of its type: each must be a property, and of a type that its values may have. @throws NodeError `bad_schema` */
export function handlesOf({ outputs }: NodeContext, own: readonly string[], properties: Schema): string[] {
  const names = [...outputs.keys()].filter((name) => !own.includes(name))
  for (const name of names) {
    if (!Object.hasOwn(properties, name)) {
      const known = Object.keys(properties)
      const more = known.length > LISTED ? ` and ${known.length - LISTED} more` : ''
      const listed = known.slice(0, LISTED).map(shown).join(', ') + more
      throw new NodeError(`The output "${shown(name)}" is none of the properties ${listed}.`, 'bad_schema')
    }
    const [given, declared] = [typeOf(properties[name]), outputs.get(name)!.type]
    if (fits(given, declared)) continue
    const text = `The output "${shown(name)}" is declared as ${shown(typeText(declared))}, and will be ${shown(typeText(given))}.`
    throw new NodeError(text, 'bad_schema')
  }
  return names
}

/** The value of each handle. One that is missing gives nothing, and so does null where its type has no null. */
export function spread(value: Schema, names: readonly string[], { outputs }: NodeContext): Outputs {
  const given = names.filter((name) => {
    if (!Object.hasOwn(value, name)) return false
    return value[name] !== null || conforms(null, outputs.get(name)!.type)
  })
  return Object.fromEntries(given.map((name) => [name, value[name]]))
}

/** All that those take who hold a model to a schema strictly: they refuse one that says more, such as bounds. */
const STRICT: readonly string[] = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$defs', '$ref'],
  ...['title', 'description'],
]

/** Whether a schema says of each object all that is in it, and nothing besides, as providers ask of those that they hold a model to. */
export function isStrict(schema: unknown): boolean {
  if (!isSchema(schema) || !Object.keys(schema).every((key) => STRICT.includes(key))) return false
  const { type, properties, required, additionalProperties, items, anyOf, $defs } = schema
  const names = Object.keys(propertiesOf(schema))
  const isClosed =
    additionalProperties === false && Array.isArray(required) && names.every((name) => required.includes(name))
  if ((type === 'object' || properties !== undefined) && !isClosed) return false
  const inner = [
    ...(items === undefined ? [] : [items]),
    ...(Array.isArray(anyOf) ? anyOf : []),
    ...Object.values(propertiesOf(schema)),
    ...(isSchema($defs) ? Object.values($defs) : []),
  ]
  return inner.every(isStrict)
}
