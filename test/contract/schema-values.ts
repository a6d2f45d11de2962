// Values around a JSON schema: some that fit it, some just beside its limits, some far from it.
import fc from 'fast-check'

export interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

type Values = fc.Arbitrary<unknown>
type Resolve = (schema: Schema) => Schema

/** Mostly values of the shape that `schema` has, with something wrong in every few of them. */
export function valuesAround(schema: Schema, resolve: Resolve, depth = 4): Values {
  const found = resolve(schema)
  if (depth === 0) return fc.jsonValue({ maxDepth: 1 })
  const near = fc.oneof(...shapes(found, resolve, depth))
  return fc.oneof({ weight: 12, arbitrary: near }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
}

function shapes(schema: Schema, resolve: Resolve, depth: number): Values[] {
  const variants = [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
  if (variants.length > 0) return variants.map((variant) => valuesAround(variant, resolve, depth - 1))
  if (schema.const !== undefined) return [fc.constant(schema.const)]
  if (schema.enum) return [fc.constantFrom(...schema.enum, 'another')]
  const types = [schema.type ?? []].flat()
  if (types.length === 0) return [fc.jsonValue()]
  return types.map((type) => BY_TYPE[type]!(schema, resolve, depth))
}

const BY_TYPE: Readonly<Record<string, (schema: Schema, resolve: Resolve, depth: number) => Values>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: (schema) => fc.oneof(edges(schema), fc.integer()),
  number: (schema) => fc.oneof(edges(schema), fc.double({ noNaN: true, noDefaultInfinity: true })),
  string: ({ minLength = 0, maxLength = 20 }) =>
    fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('x'.repeat(minLength), 'x'.repeat(maxLength), '🎈'.repeat(maxLength), 'x'.repeat(maxLength + 1)),
    ),
  array: ({ items, minItems = 0, maxItems = 5 }, resolve, depth) =>
    fc.array(valuesAround(items ?? {}, resolve, depth - 1), {
      minLength: minItems,
      maxLength: Math.min(maxItems, minItems + 3),
    }),
  object: objects,
}

function edges({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): Values {
  const limits = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter((limit) => limit !== undefined)
  const beside = limits.flatMap((limit) => [limit - 1, limit, limit + 1, limit + 0.5, limit - 0.5])
  return fc.constantFrom(0, -0, 5e-324, 1e308, 0.5, -1, ...beside)
}

const ODD_NAMES = ['extra', '', '__proto__', 'constructor', 'toString', 'a/b', 'a~b', 'ä']

/** Of so many optional members hardly ever all are right. */
const MOST_OPTIONAL = 6

function some(members: Record<string, Values>, required: readonly string[]): Values {
  const optional = Object.keys(members).filter((name) => !required.includes(name))
  if (optional.length <= MOST_OPTIONAL) return fc.record(members, { requiredKeys: [...required] })
  return fc.subarray(optional, { maxLength: 2 }).chain((chosen) => {
    const names = [...required, ...chosen].filter((name) => Object.hasOwn(members, name))
    return fc.record(Object.fromEntries(names.map((name) => [name, members[name]!])))
  })
}

function objects(
  { properties = {}, required = [], additionalProperties }: Schema,
  resolve: Resolve,
  depth: number,
): Values {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valuesAround(schema, resolve, depth - 1)]),
  )
  const declared = fc.oneof(
    { weight: 5, arbitrary: some(members, required) },
    { weight: 1, arbitrary: fc.record(members, { requiredKeys: [] }) },
  )
  const rest =
    typeof additionalProperties === 'object'
      ? valuesAround(additionalProperties, resolve, depth - 1)
      : fc.jsonValue({ maxDepth: 1 })
  const more = fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    fc.dictionary(fc.constantFrom(...ODD_NAMES), rest, { maxKeys: 2 }),
  )
  return fc.tuple(declared, more).map(([known, others]) => Object.assign({}, known, others))
}
