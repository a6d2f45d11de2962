// The published documents are what generators of clients take, and say all that the contract says.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { config } from '../../codegen.config.ts'
import { readContract } from '../../src/codegen/contract.ts'
import { portable } from '../../src/codegen/portable.ts'
import { walkSchema } from '../../src/codegen/schema-walk.ts'
import { resolved } from '../../src/codegen/tree.ts'
import { exact, RULE } from '../../src/contract/exact.ts'
import { isMap, type Json, type JsonMap, listOf, mapOf } from '../../src/contract/json.ts'
import { mapSchemas } from '../../src/contract/map-schemas.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const { contract } = readContract(ROOT, config)

/** Visits every schema of a document as it is published. */
function eachSchema(document: JsonMap, visit: (schema: JsonMap, place: string) => void): void {
  mapSchemas(document, (schema, path) => {
    walkSchema(schema, path.join('/'), (one, place) => {
      if (isMap(one)) visit(one, place)
    })
    return schema
  })
}

function isOneOrNull(variants: readonly Json[]): boolean {
  return variants.length === 2 && mapOf(variants[1]).type === 'null'
}

/** The objects that a union is made of, those of unions in it too. */
function objectsOf(document: JsonMap, variants: readonly Json[]): JsonMap[] {
  const schemas = variants.map((one) => resolved(document, one))
  return schemas.flatMap((one) => (one.oneOf === undefined ? [one] : objectsOf(document, listOf(one.oneOf))))
}

/** Why a value of one variant could be taken for one of another: they are told apart by their type, objects by the texts of a property. */
function mistaken(document: JsonMap, variants: readonly Json[]): string[] {
  const all = objectsOf(document, variants)
  const types = all.map((one) => String(one.type)).filter((type) => type !== 'object')
  const twice = types.filter((type, at) => types.indexOf(type) !== at)
  const objects = all.filter((one) => one.type === 'object')
  const texts = (one: JsonMap, name: string) => listOf(resolved(document, mapOf(one.properties)[name]).enum)
  const tells = (one: JsonMap, other: JsonMap, name: string) =>
    texts(one, name).length > 0 &&
    texts(other, name).length > 0 &&
    !texts(one, name).some((text) => texts(other, name).includes(text))
  const pairs = objects.flatMap((one, at) => objects.slice(at + 1).map((other) => [one, other] as const))
  const alike = pairs.filter(
    ([one, other]) => !Object.keys(mapOf(one.properties)).some((name) => tells(one, other, name)),
  )
  return [...twice.map((type) => `two variants are ${type}`), ...alike.map(() => 'no property tells two objects apart')]
}

for (const name of ['openapi', 'asyncapi'] as const) {
  describe(`${name}.json as it is published`, () => {
    const document = portable(contract[name])

    test('gives the contract back, schema by schema', () => {
      assert.deepEqual(exact(document), contract[name])
      const published = JSON.parse(readFileSync(`${ROOT}/generated/${name}.json`, 'utf8'))
      delete published['x-svc-generated']
      assert.deepEqual(published, document)
    })

    test('has nothing that generators stumble over', () => {
      const found: string[] = []
      eachSchema(document, (schema, place) => {
        const types = Array.isArray(schema.type) ? schema.type.filter((one) => one !== 'null') : [schema.type]
        if (types.length > 1) found.push(`${place} has several types`)
        for (const key of ['allOf', 'if', 'then', 'else', 'not']) if (key in schema) found.push(`${place} has ${key}`)
        if (schema.anyOf !== undefined && !isOneOrNull(listOf(schema.anyOf)))
          found.push(`${place} has anyOf for something else than one or null`)
        if (schema.oneOf !== undefined)
          found.push(...mistaken(document, listOf(schema.oneOf)).map((one) => `${place}: ${one}`))
        if (listOf(schema.enum).includes(null)) found.push(`${place} enumerates null`)
        if (typeof schema.const === 'boolean') found.push(`${place} is one boolean`)
        if (schema.type === 'null' && !/(anyOf|oneOf)\/\d+$/.test(place)) found.push(`${place} is null alone`)
        for (const [at, one] of listOf(schema.oneOf ?? schema.anyOf)
          .map(mapOf)
          .entries())
          if (one.type === 'object' && one.title === undefined)
            found.push(`${place} has at ${at} an object without a name`)
      })
      assert.deepEqual(found, [])
    })

    test('has each name of an enumerated value, and of a variant, once', () => {
      const places = new Map<string, string>()
      eachSchema(document, (schema, place) => {
        const names = [...listOf(schema['x-enum-varnames']), ...(schema.title === undefined ? [] : [schema.title])]
        for (const one of names.map(String)) {
          assert.match(one, /^[A-Z][A-Za-z0-9]+$/, place)
          assert.ok(!places.has(one), `${one} stands at ${places.get(one)} and at ${place}`)
          places.set(one, place)
        }
      })
      assert.ok(places.size > 100)
    })

    test('keeps the exact schema wherever it says less', () => {
      let rules = 0
      eachSchema(document, (schema) => {
        if (RULE in schema) rules++
      })
      assert.ok(rules > 20, `${rules} rules`)
    })
  })
}
