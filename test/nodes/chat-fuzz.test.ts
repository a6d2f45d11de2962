// Nodes that use models, with random values for each property: each firing ends with outputs, or with a proper error.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { compileGraph, isRunnable } from '../../src/engine/compile/compiler.ts'
import type { NodeServices } from '../../src/engine/node-api/node-services.ts'
import type { NodeProperty } from '../../src/engine/node-api/node-type.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node, start } from '../engine/kit.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { scaled } from '../helpers/scale.ts'
import { openStore } from '../helpers/store.ts'
import { vectorsOf } from '../vectors/kit.ts'
import { services } from './chat-kit.ts'

const TYPES = builtinRegistry.all().filter(({ node_type }) => /^(chat|prompt|vector)\./.test(node_type))

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom(
    '',
    'i',
    '__proto__',
    '{{#a}}x{{/a}}',
    '{{.}}',
    'asset://a',
    'data:image/png;base64,iVBORw0KGgo=',
    '\ud800',
  ),
)
const json = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text) as fc.Arbitrary<unknown>
const schema = fc.constantFrom<object>(
  { type: 'object' },
  { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  { type: 'array' },
  { properties: { a: true } },
  { type: 'object', $ref: '#' },
)
const dict = fc.oneof(fc.dictionary(text, json, { maxKeys: 3 }), schema, fc.constant({ role: 'user', content: 'x' }))
const count = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 500, max: 600 }))

const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  str: text,
  int: count,
  float: fc.double({ min: 0, max: 1, noNaN: true }),
  bool: fc.boolean(),
  dict,
  any: json,
}

/** Values that random generation hardly ever finds. */
const NAMED: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  model: fc.constantFrom('priced/small', 'builtin/echo', 'small', '', 'none/at-all'),
  schema,
  fields: fc.oneof(fc.constant({ a: 'str', b: { type: 'int', description: 'x' } }), dict),
  labels: fc.oneof(fc.constant(['i', 'j']), fc.array(text, { maxLength: 4 })),
}

function arbitraryOf({ name, type }: Pick<NodeProperty, 'name' | 'type'>): fc.Arbitrary<unknown> {
  if (Object.hasOwn(NAMED, name)) return NAMED[name]!
  const [item] = type.type_args
  if (type.type !== 'list') return VALUES[type.type] ?? json
  return fc.array(arbitraryOf({ name: '', type: item! }), { maxLength: 4 })
}

/** Some properties of a type, each with a value of its type. */
function dataOf(properties: readonly NodeProperty[]): fc.Arbitrary<Record<string, unknown>> {
  const all = Object.fromEntries(properties.map((property) => [property.name, arbitraryOf(property)]))
  const requiredKeys = properties.filter(({ required }) => required).map(({ name }) => name)
  return fc.record(all, { requiredKeys }) as fc.Arbitrary<Record<string, unknown>>
}

async function ending(type: string, data: Record<string, unknown>, lent: NodeServices): Promise<string | null> {
  const of = graph([node('n', type, data)], [])
  if (!isRunnable(compileGraph(of, builtinRegistry))) return null
  const { execution, observer } = start(of, builtinRegistry, { services: lent })
  const outcome = await execution.done
  // Unexpected errors have this type.
  const isFault = outcome.status === 'failed' && outcome.error.type === 'node_failed'
  assert.equal(isFault, false, `${JSON.stringify([type, data])} ${observer.faults}`)
  return outcome.status
}

describe('any values that fit the properties', () => {
  for (const { node_type, properties } of TYPES) {
    test(`lead ${node_type} to outputs or to a proper error`, async () => {
      await using opened = await openStore()
      const answer = fc.sample(fc.constantFrom('{"a": "x"}', 'i', '[]', ''), 50)
      const provider = pricedProvider({
        answer: (_, at) => ({ pieces: [answer[at % 50]!] }),
        embed: (given) => [given.length, 1],
      })
      const lent = services([provider], { vectors: vectorsOf(opened.store) })
      const seen = new Set<string | null>()
      const property = fc.asyncProperty(dataOf(properties), async (data) => {
        seen.add(await ending(node_type, data, lent))
      })
      await fc.assert(property, { numRuns: scaled(20) })
      // Among a few random graphs there may be none that runs.
      for (const data of fc.sample(dataOf(properties), 500)) {
        if (seen.has('completed') || seen.has('failed')) break
        seen.add(await ending(node_type, data, lent))
      }
      assert.ok(seen.has('completed') || seen.has('failed'), [...seen].join())
    })
  }
})
