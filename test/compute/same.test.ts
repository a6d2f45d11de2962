// A firing gives the same result on the main thread and in a compute thread, for every built-in type that may run there.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import { NodeError, NonRetryableError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { TypeMetadata } from '../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { scaled } from '../helpers/scale.ts'
import { context } from '../nodes/context.ts'
import { compute, task } from './kit.ts'

after(() => compute[Symbol.asyncDispose]())

const WORDS = [
  'a',
  'b',
  'text',
  '1.5',
  '2026-03-01',
  'a,b\n1,2',
  '{"a":1}',
  '# Title\n\n*b*',
  '<p>x</p>',
  'é\ud800',
  '',
]
const text = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string(),
  fc.nat(400).map((count) => 'word é '.repeat(count)),
)
const number = fc.oneof(fc.nat(100), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const row = fc.record({ a: number, b: text, c: fc.constantFrom('x', 'y') })
const anything = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.constant(null),
  fc.array(number),
  fc.array(row),
  fc.jsonValue(),
)

function lists(type: TypeMetadata | undefined): fc.Arbitrary<unknown> {
  const item = type === undefined || type.type === 'any' ? fc.oneof(anything, number, text) : valuesOf(type)
  return fc.oneof(
    fc.array(item, { maxLength: 20 }),
    fc.array(row),
    fc.tuple(row, fc.nat(300)).map(([one, count]) => Array(count).fill(one)),
  )
}

const BY_TYPE: Readonly<Record<string, (type: TypeMetadata) => fc.Arbitrary<unknown>>> = {
  str: () => text,
  int: () => fc.nat(50),
  float: () => number,
  bool: () => fc.boolean(),
  list: (type) => lists(type.type_args[0]),
  dict: (type) =>
    fc.dictionary(
      fc.constantFrom('a', 'b', '__proto__', 'k'),
      type.type_args[1] ? valuesOf(type.type_args[1]) : anything,
    ),
  enum: (type) => fc.constantFrom(...type.values),
}

function valuesOf(type: TypeMetadata): fc.Arbitrary<unknown> {
  return BY_TYPE[type.type]?.(type) ?? anything
}

/** Properties whose values are files. */
const FILES = ['file', 'document']

/** Inputs of the right types; properties with a default mostly have it. */
function inputsFor(type: NodeType): fc.Arbitrary<Record<string, unknown>> {
  const properties = type.properties.map((property) => {
    const given = FILES.includes(property.name) ? text.map((content) => Buffer.from(content)) : valuesOf(property.type)
    const own = fc.constant(property.default ?? null)
    return [property.name, property.required ? given : fc.oneof({ weight: 3, arbitrary: own }, given)] as const
  })
  const dynamic = type.supports_dynamic_inputs ? { a: anything, b: anything } : {}
  return fc.record({ ...Object.fromEntries(properties), ...dynamic })
}

type Came = { outputs: unknown } | { error: unknown }

async function came(run: () => unknown): Promise<Came> {
  try {
    return { outputs: await run() }
  } catch (error) {
    const { message } = error as Error
    return { error: error instanceof NodeError ? [error.type, message, error instanceof NonRetryableError] : message }
  }
}

const NO_CONTEXT = undefined as unknown as NodeContext
const types = builtinRegistry.all().filter((type) => compute.takes(type))

test('most built-in types may run in a thread', () => {
  assert.ok(types.length > 90, `only ${types.length}`)
  for (const name of ['random.Float', 'date.Now', 'human.Approval', 'control.Fail', 'control.Numbers', 'http.Pages'])
    assert.equal(compute.takes(builtinRegistry.get(name)!), false, name)
})

for (const type of types) {
  test(`${type.node_type} gives the same apart`, async () => {
    await fc.assert(
      fc.asyncProperty(inputsFor(type), async (inputs) => {
        const prepared = await came(async () => (type.prepare ? type.prepare(inputs, context) : inputs))
        if ('error' in prepared) return
        const given = prepared.outputs as Record<string, unknown>
        const here = await came(() => type.run!(structuredClone(given), NO_CONTEXT))
        const apart = await came(() => compute.run({ ...task(type.node_type, {}), inputs: given }))
        assert.deepStrictEqual(apart, here)
      }),
      { numRuns: scaled(15), endOnFailure: true },
    )
  })
}
