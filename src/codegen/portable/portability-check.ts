// Finds parts of published documents that client generators do not support
// (`portable-document.ts`). Every such part of the contract has a portable form.

import { mapSchemas } from '../../contract/schema-mapping.ts'
import type { ContractProblem } from '../documents/contract-problems.ts'
import {
  appendToPointer,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  resolveToMap,
  textOf,
} from '../documents/json-pointer.ts'
import { walkSchema } from '../documents/schema-walk.ts'
import { hasOwnType } from './portable-document.ts'

/** Keywords that no generator implements. */
const UNSUPPORTED_KEYWORDS = ['allOf', 'if', 'then', 'else', 'not']
const OUTERMOST_POINTER = /^\/components\/schemas\/\w+$/
const NAME_PATTERN = /^[A-Z][A-Za-z0-9]+$/

/** Reports the parts of all published schemas that a generator does not support. */
export function checkPortability(document: JsonMap, file: string, problems: ContractProblem[]): void {
  const places = new Map<string, string>()
  const isOfSockets = document.asyncapi !== undefined
  mapSchemas(document, (outer, path) => {
    walkSchema(outer, path.reduce(appendToPointer, ''), (schema, pointer) => {
      if (!isMap(schema)) return
      const say = (message: string) => problems.push({ file, pointer, message })
      checkTypes(schema, pointer, say)
      checkUnion(document, schema, say)
      if (isOfSockets) checkAsyncapiSchema(schema, pointer, say)
      for (const name of listNames(schema)) {
        if (!NAME_PATTERN.test(name)) say(`has the name ${name}, which is invalid in some languages`)
        if (places.has(name)) say(`has the name ${name}, which ${places.get(name)} has too`)
        places.set(name, pointer)
      }
    })
    return outer
  })
}

/** Returns the names that generators derive from an inline schema, and from the values that it enumerates. */
function listNames(schema: JsonMap): string[] {
  const title = schema.title === undefined ? [] : [schema.title]
  return [...listOf(schema['x-enum-varnames']), ...title].map(textOf)
}

function checkTypes(schema: JsonMap, pointer: string, say: (message: string) => void): void {
  const types = listOf(schema.type).filter((one) => one !== 'null')
  if (types.length > 1) say('has several types')
  for (const key of UNSUPPORTED_KEYWORDS) if (key in schema) say(`has ${key}`)
  if (listOf(schema.enum).includes(null)) say('enumerates null')
  if (typeof schema.const === 'boolean') say('is a boolean constant')
  if (schema.format === 'binary' && ('minLength' in schema || 'maxLength' in schema)) say('bounds the length of a file')
  if (schema.type === 'null' && !/\/(?:anyOf|oneOf)\/\d+$/.test(pointer)) say('allows only null')
}

/** Generators for AsyncAPI name an untitled schema by a number. In Python they write a string constant without its quotes. */
function checkAsyncapiSchema(schema: JsonMap, pointer: string, say: (message: string) => void): void {
  const isOutermost = OUTERMOST_POINTER.test(pointer)
  if (!isOutermost && hasOwnType(schema) && schema.title === undefined) say('makes a type without a name')
  if (typeof schema.const === 'string') say('is a string constant instead of an enum')
}

function checkUnion(document: JsonMap, schema: JsonMap, say: (message: string) => void): void {
  const [any, one] = [listOf(schema.anyOf), listOf(schema.oneOf)]
  if (any.length > 0 && !(any.length === 2 && mapOf(any[1]).type === 'null'))
    say('has an anyOf that is not one schema or null')
  for (const variant of [...any, ...one].map(mapOf))
    if (variant.type === 'object' && variant.title === undefined) say('has an object without a name among its variants')
  const variants = one.map((variant) => resolveToMap(document, variant))
  if (variants.some(({ oneOf }) => oneOf !== undefined && listOf(oneOf).every(isReference)))
    say('is a union that contains a union')
  const types = variants.map(({ type }) => textOf(type)).filter((type) => type !== 'object')
  if (new Set(types).size < types.length) say('has two variants of one type')
  const objects = variants.filter(({ type }) => type === 'object')
  const isTold = objects.every((some, at) =>
    objects.slice(at + 1).every((other) => areToldApart(document, some, other)),
  )
  if (!isTold) say('has two objects that no property distinguishes')
}

function isReference(schema: Json): boolean {
  return mapOf(schema).$ref !== undefined
}

function areToldApart(document: JsonMap, one: JsonMap, other: JsonMap): boolean {
  const texts = ({ properties }: JsonMap, name: string): Json[] =>
    listOf(resolveToMap(document, mapOf(properties)[name]).enum)
  return Object.keys(mapOf(one.properties)).some((name) => {
    const [own, others] = [texts(one, name), texts(other, name)]
    return own.length > 0 && others.length > 0 && !own.some((text) => others.includes(text))
  })
}
