// The published documents are what generators of clients take, and say all that the contract says.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { config } from '../../codegen.config.ts'
import { readContract } from '../../src/codegen/documents/contract.ts'
import { type ContractProblem, formatProblem } from '../../src/codegen/documents/contract-problems.ts'
import { walkSchema } from '../../src/codegen/documents/schema-walk.ts'
import { checkPortability } from '../../src/codegen/portable/portability-check.ts'
import { toPortableDocument } from '../../src/codegen/portable/portable-document.ts'
import { EXACT_SCHEMA_KEY, restoreExactSchemas } from '../../src/contract/exact-schemas.ts'
import { isMap, type JsonMap, listOf } from '../../src/contract/json.ts'
import { mapSchemas } from '../../src/contract/schema-mapping.ts'

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

for (const name of ['openapi', 'asyncapi'] as const) {
  describe(`${name}.json as it is published`, () => {
    const document = toPortableDocument(contract[name])

    test('gives the contract back, schema by schema', () => {
      assert.deepEqual(restoreExactSchemas(document), contract[name])
      const published = JSON.parse(readFileSync(`${ROOT}/generated/${name}.json`, 'utf8'))
      delete published['x-svc-generated']
      assert.deepEqual(published, document)
    })

    test('has nothing that generators stumble over', () => {
      const problems: ContractProblem[] = []
      checkPortability(document, name, problems)
      assert.deepEqual(problems.map(formatProblem), [])
      let names = 0
      eachSchema(document, (schema) => {
        names += listOf(schema['x-enum-varnames']).length
      })
      assert.ok(names > 100, `${names} names of values were looked at`)
    })

    test('keeps the exact schema wherever it says less', () => {
      let rules = 0
      eachSchema(document, (schema) => {
        if (EXACT_SCHEMA_KEY in schema) rules++
      })
      assert.ok(rules > 20, `${rules} rules`)
    })
  })
}

describe('the rules of published documents find', () => {
  const object = (kind: string) => ({ type: 'object', title: kind, properties: { kind: { enum: [kind] } } })
  const faults: readonly [string, JsonMap, string][] = [
    ['several types', { type: ['string', 'integer'] }, 'has several types'],
    ['what is put together of parts', { allOf: [{ type: 'object' }] }, 'has allOf'],
    ['a condition', { if: {}, else: {} }, 'has if'],
    ['an enumerated null', { enum: ['a', null] }, 'enumerates null'],
    ['one boolean', { const: true }, 'is a boolean constant'],
    ['null alone', { type: 'null' }, 'allows only null'],
    ['a bound of a file', { type: 'string', format: 'binary', minLength: 1 }, 'bounds the length of a file'],
    [
      'anyOf of several',
      { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      'has an anyOf that is not one schema or null',
    ],
    ['variants of one type', { oneOf: [{ type: 'string' }, { type: 'string' }] }, 'has two variants of one type'],
    ['an object without a name', { oneOf: [{ type: 'object' }, { type: 'string' }] }, 'has an object without a name'],
    ['objects that are alike', { oneOf: [object('A'), { ...object('A'), title: 'B' }] }, 'has two objects that no'],
    ['a name that stands twice', { oneOf: [object('A'), { type: 'string', title: 'A' }] }, 'has the name A, which'],
    ['a name that is none', { title: 'a b' }, 'has the name a b, which'],
    [
      'a union in a union',
      { oneOf: [{ $ref: '#/components/schemas/Inner' }, { type: 'string' }] },
      'is a union that contains',
    ],
  ]
  const ofSockets: typeof faults = [
    ['an object without a name', { properties: { inner: { type: 'object', properties: {} } } }, 'makes a type without'],
    [
      'a text that is not enumerated',
      { properties: { kind: { const: 'a' } } },
      'is a string constant instead of an enum',
    ],
  ]
  const all = [
    ...faults.map((fault) => [...fault, {}] as const),
    ...ofSockets.map((fault) => [...fault, { asyncapi: '3.0.0' }] as const),
  ]
  for (const [what, schema, message, kind] of all) {
    test('asyncapi' in kind ? `${what}, in the document of sockets` : what, () => {
      const problems: ContractProblem[] = []
      const Inner = { oneOf: [{ $ref: '#/components/schemas/C' }] }
      const schemas = { Faulty: schema, Inner, C: object('C') }
      checkPortability({ ...kind, components: { schemas } }, 'a document', problems)
      const found = problems.map(formatProblem)
      assert.ok(
        found.some((one) => one.includes(message)),
        found.join('\n'),
      )
    })
  }
})
