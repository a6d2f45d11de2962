// Converts documents into the form that client generators support. A schema has one type, or one type and null. Unions have distinguishable
// variants. `allOf` and conditions are removed. Names of enumerated values are unique. The meaning stays: where the form is looser,
// `x-svc-rule` holds the exact schema. `restoreExactSchemas` of `contract/` restores the document.
import { ADDED_SCHEMA_KEY, EXACT_SCHEMA_KEY, WIDE_INTEGER_FORMAT } from '../../contract/exact-schemas.ts'
import { mapSchemas } from '../../contract/schema-mapping.ts'
import {
  createSchemaReference,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readSchemaName,
  resolveToMap,
  textOf,
} from '../documents/json-pointer.ts'
import { listOperations } from '../documents/operations.ts'
import { createVariantName, findSchemaName, toTypeName } from './schema-names.ts'
import { listEnumeratedTexts, listEnumeratedValues, mergeUnion, toPortableUnion } from './unions.ts'

const FORM_MEDIA_TYPE = 'application/x-www-form-urlencoded'
const NULL: JsonMap = { type: 'null' }
const LARGEST_INT32 = 2 ** 31 - 1
/** JSON has this many types besides null. */
const ALL_TYPES = 5

/** Returns the portable form of a document. */
export function toPortableDocument(document: JsonMap): JsonMap {
  const forms = new PortableForms(document)
  const formed = mapSchemas(document, (schema, path) => {
    const name = findSchemaName(document, path)
    return path[0] === 'components' && path[1] === 'schemas'
      ? forms.toPortable(schema, name)
      : forms.toPortableInline(schema, name)
  })
  const components = mapOf(formed.components)
  return { ...formed, components: { ...components, schemas: { ...mapOf(components.schemas), ...forms.added } } }
}

class PortableForms {
  readonly #document: JsonMap
  readonly #schemas: JsonMap
  /** Whether it is an AsyncAPI document, whose generators need more changes. */
  readonly #isOfSockets: boolean
  readonly #siblings: ReadonlyMap<string, readonly string[]>
  /** The names of all variants of unions found so far, and of all named schemas. */
  readonly #variants: Set<string>
  /** The names of schemas whose properties are form fields. */
  readonly #formBodies: ReadonlySet<string>
  /** Schemas that exist only in this form of the document, by name. */
  readonly added: Record<string, Json> = {}

  constructor(document: JsonMap) {
    this.#document = document
    this.#isOfSockets = document.asyncapi !== undefined
    this.#schemas = mapOf(mapOf(document.components).schemas)
    this.#siblings = indexSiblingVariants(this.#schemas)
    this.#formBodies = listFormBodySchemas(document)
    this.#variants = new Set(this.#siblings.keys())
  }

  /** Returns the portable form of the schema `name`, with the exact schema where the form is looser. */
  toPortable(schema: JsonMap, name: string): JsonMap {
    if (schema.$ref !== undefined) return schema
    const form = this.#toForm(schema, name)
    const written = withWidth(withValueNames(this.#withPortableParts(form, name), name))
    return form === schema ? written : { ...written, [EXACT_SCHEMA_KEY]: schema }
  }

  /** Returns the portable form of an inline schema. AsyncAPI generators name its type by the title, or else by a number. */
  toPortableInline(schema: JsonMap, name: string): JsonMap {
    const form = this.toPortable(schema, name)
    return this.#isOfSockets && hasOwnType(form) ? { title: name, ...form } : form
  }

  /** Returns the schema itself where only its parts may change. */
  #toForm(schema: JsonMap, name: string): JsonMap {
    const single = withSingleType(withoutBooleanConst(withoutFileBounds(withoutConditions(this.#flattenAllOf(schema)))))
    const flat = this.#isOfSockets ? withoutMembers(withoutTextConst(single)) : single
    const form = this.#formBodies.has(name)
      ? mergeUnion(flat, this.#resolveVariant)
      : toPortableUnion(flat, this.#resolveVariant)
    return this.#withTypedNulls(form, name)
  }

  #withPortableParts(schema: JsonMap, name: string): JsonMap {
    const part = (one: Json, own: string) => (isMap(one) ? this.toPortableInline(one, own) : one)
    const parts: JsonMap = {}
    for (const [key, member] of Object.entries(schema)) {
      if (key === 'properties') {
        const entries = Object.entries(mapOf(member))
        const isVariant = this.#variants.has(name)
        const property = (one: JsonMap, own: string) =>
          isVariant ? this.#toPortableVariantProperty(one, own) : this.toPortableInline(one, own)
        parts[key] = Object.fromEntries(entries.map(([of, one]) => [of, property(mapOf(one), name + toTypeName(of))]))
      } else if (key === 'items') parts[key] = part(member, `${name}Item`)
      else if (key === 'additionalProperties') parts[key] = part(member, `${name}Value`)
      else if (key === 'anyOf' || key === 'oneOf')
        parts[key] = listOf(member).map((one, at) => this.#toPortableVariant(mapOf(one), name, at))
      else parts[key] = member
    }
    return parts
  }

  #toPortableVariant(schema: JsonMap, name: string, at: number): JsonMap {
    if (schema.$ref !== undefined || schema.type === 'null') return schema
    const title = name + createVariantName(schema, at)
    this.#variants.add(title)
    const form = this.toPortable(schema, title)
    return form.oneOf === undefined && form.anyOf === undefined ? { title, ...form } : form
  }

  /**
   * Converts a property of a union's variant. Enumerated texts get a schema of their own: some languages would otherwise accept any text,
   * and take the first variant.
   */
  #toPortableVariantProperty(schema: JsonMap, name: string): JsonMap {
    const texts = listEnumeratedTexts(schema)
    if (texts === null) return this.toPortableInline(schema, name)
    this.added[name] = { ...withValueNames({ type: 'string', enum: texts }, name), [ADDED_SCHEMA_KEY]: true }
    return { ...createSchemaReference(name), ...pickDescription(schema), [EXACT_SCHEMA_KEY]: schema }
  }

  readonly #resolveVariant = (variant: Json) => this.#flattenAllOf(resolveToMap(this.#document, variant))

  /** Merges `allOf` into one schema. A reference with only documentation beside it stays a reference. */
  #flattenAllOf(schema: JsonMap): JsonMap {
    const { allOf, ...own } = schema
    if (!Array.isArray(allOf)) return schema
    const parts = allOf.map((part) => this.#flattenAllOf(resolveToMap(this.#document, part)))
    const isNamed = allOf.length === 1 && Object.keys(own).every((key) => key === 'description')
    if (isNamed && parts[0]!.type === 'object') return { ...mapOf(allOf[0]), ...own }
    const all = [...parts, own]
    const properties = Object.assign({}, ...all.map((part) => mapOf(part.properties)))
    const required = [...new Set(all.flatMap((part) => listOf(part.required)))]
    return {
      ...Object.assign({}, ...all),
      ...(required.length > 0 ? { required } : {}),
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
    }
  }

  /** A property that is always null in this variant gets the type that it has in other variants, or null. */
  #withTypedNulls(schema: JsonMap, name: string): JsonMap {
    const properties = mapOf(schema.properties)
    const nulls = Object.entries(properties).filter(([, one]) => mapOf(one).type === 'null')
    if (nulls.length === 0) return schema
    const typed = nulls.map(([property, one]) => [
      property,
      this.#findTypeInSiblings(property, name, pickDescription(mapOf(one))),
    ])
    return { ...schema, properties: { ...properties, ...Object.fromEntries(typed) } }
  }

  #findTypeInSiblings(property: string, name: string, words: JsonMap): JsonMap {
    for (const sibling of this.#siblings.get(name) ?? []) {
      const found = mapOf(mapOf(this.#flattenAllOf(mapOf(this.#schemas[sibling])).properties)[property])
      if (Object.keys(found).length > 0 && found.type !== 'null') return { ...toNullable(found), ...words }
    }
    return words
  }
}

/** Returns the other variants of a schema's unions, by the schema's name. */
function indexSiblingVariants(schemas: JsonMap): Map<string, string[]> {
  const siblings = new Map<string, string[]>()
  for (const { oneOf, anyOf } of Object.values(schemas).map(mapOf)) {
    const names = listOf(oneOf ?? anyOf).flatMap((one) => readSchemaName(one) ?? [])
    for (const name of names)
      siblings.set(name, [...(siblings.get(name) ?? []), ...names.filter((one) => one !== name)])
  }
  return siblings
}

/** Returns the names of the schemas of form bodies. */
function listFormBodySchemas(document: JsonMap): Set<string> {
  const bodies = listOperations(document).map(({ node }) => mapOf(mapOf(node.requestBody).content)[FORM_MEDIA_TYPE])
  return new Set(bodies.flatMap((body) => readSchemaName(mapOf(body).schema) ?? []))
}

/** Whether languages need a named type for a schema: an object, an enumeration or a union. */
export function hasOwnType({ $ref, enum: values, properties, anyOf, oneOf }: JsonMap): boolean {
  return $ref === undefined && (values ?? properties ?? anyOf ?? oneOf) !== undefined
}

function pickDescription({ description }: JsonMap): JsonMap {
  return description === undefined ? {} : { description }
}

function toNullable(schema: JsonMap): JsonMap {
  const isUnion = listOf(schema.oneOf ?? schema.anyOf).some((one) => mapOf(one).type === 'null')
  if (isUnion || listOf(schema.type).includes('null')) return schema
  const isPlain = typeof schema.type === 'string' && schema.enum === undefined && schema.const === undefined
  return isPlain ? { ...schema, type: [schema.type!, 'null'] } : { anyOf: [schema, NULL] }
}

/** Adds names to the values of an enumeration. Some languages keep all such names in one namespace. */
function withValueNames(schema: JsonMap, name: string): JsonMap {
  const values = listEnumeratedValues(schema)
  if (values.length === 0) return schema
  return { ...schema, 'x-enum-varnames': values.map((value) => name + toTypeName(String(value))) }
}

/** Marks integers of more than 32 bits. Languages with several integer types would otherwise use 32 bits, and fail for larger numbers. */
function withWidth(schema: JsonMap): JsonMap {
  const { minimum = -Infinity, maximum = Infinity } = schema as { minimum?: number; maximum?: number }
  const isWide = minimum < -LARGEST_INT32 || maximum > LARGEST_INT32
  const isInteger = [schema.type, ...listOf(schema.type)].includes('integer')
  return isInteger && isWide && schema.const === undefined ? { ...schema, format: WIDE_INTEGER_FORMAT } : schema
}

function withoutConditions(schema: JsonMap): JsonMap {
  if (schema.if === undefined && schema.not === undefined) return schema
  const { if: _if, then: _then, else: _else, not: _not, ...rest } = schema
  return rest
}

/** Removes length bounds of files. Go would apply them to a string and fail to compile. */
function withoutFileBounds(schema: JsonMap): JsonMap {
  if (schema.format !== 'binary') return schema
  const { minLength, maxLength, ...rest } = schema
  return minLength === undefined && maxLength === undefined ? schema : rest
}

function withoutBooleanConst(schema: JsonMap): JsonMap {
  if (typeof schema.const !== 'boolean') return schema
  const { const: _, ...rest } = schema
  return { ...rest, type: 'boolean' }
}

/** Replaces string constants by enumerations. AsyncAPI generators write some constants without their quotes. */
function withoutTextConst(schema: JsonMap): JsonMap {
  if (typeof schema.const !== 'string') return schema
  const { const: value, ...rest } = schema
  return { ...rest, type: 'string', enum: [value!] }
}

/**
 * Handles an object without members. Generators would write an empty class,
 * which is invalid in Python, or a map where no member is allowed.
 */
function withoutMembers(schema: JsonMap): JsonMap {
  if (schema.additionalProperties !== false || schema.properties !== undefined) return schema
  const { additionalProperties: _, ...rest } = schema
  return { ...rest, maxProperties: 0 }
}

/** Turns several types into a union, and all types into no type. An enumeration with null becomes a union of the enumeration and null. */
function withSingleType(schema: JsonMap): JsonMap {
  const { type, enum: values, description: _, ...rest } = schema
  const types = listOf(type).filter((one) => one !== 'null')
  const isNullable = listOf(type).includes('null') || listOf(values).includes(null)
  const orNull = isNullable ? [NULL] : []
  if (types.length === ALL_TYPES) return pickDescription(schema)
  if (types.length > 1)
    return { ...pickDescription(schema), anyOf: [...types.map((one) => ({ type: one })), ...orNull] }
  if (!listOf(values).includes(null)) return schema
  const others = listOf(values).filter((value) => value !== null)
  return { ...pickDescription(schema), anyOf: [{ ...rest, type: types[0] ?? textOf(type), enum: others }, NULL] }
}
