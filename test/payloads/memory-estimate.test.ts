// Tests the estimate from the bytes of a payload: how much memory its value takes, and which object has too many keys.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { encode } from '@msgpack/msgpack'
import { estimateJsonMemory, estimatePayloadMemory } from '../../src/payloads/memory-estimate.ts'
import { MAX_OBJECT_KEYS } from '../../src/shared/value-limits.ts'

const dict = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))

/** Returns the pointer to the object with too many keys, in JSON and in MessagePack. */
function crowdedIn(value: unknown): (string | null)[] {
  return [
    estimatePayloadMemory(Buffer.from(JSON.stringify(value)), false),
    estimatePayloadMemory(encode(value), true),
  ].map(({ crowded_at }) => crowded_at)
}

describe('an object of a payload', () => {
  test('may have 100,000 keys and no more', () => {
    assert.deepEqual(crowdedIn(dict(MAX_OBJECT_KEYS)), [null, null])
    assert.deepEqual(crowdedIn(dict(MAX_OBJECT_KEYS + 1)), ['', ''])
    assert.deepEqual(crowdedIn([dict(60_000), dict(60_000)]), [null, null])
  })

  test('with too many keys is named by a JSON pointer', () => {
    const many = dict(MAX_OBJECT_KEYS + 1)
    const inside = { 'a/b~c': [1, [], { x: {} }, { y: [many] }], z: 1 }
    assert.deepEqual(crowdedIn(inside), ['/a~1b~0c/3/y/0', '/a~1b~0c/3/y/0'])
    assert.deepEqual(crowdedIn({ a: { b: 1, ü: many } }), ['/a/ü', '/a/ü'])
  })

  test('has no keys in text that only looks like it', () => {
    const text = `{"a":"${':,{"'.replaceAll('"', '\\"').repeat(MAX_OBJECT_KEYS + 1)}"}`
    assert.equal(estimateJsonMemory(Buffer.from(text)).crowded_at, null)
  })
})

describe('the memory of a payload', () => {
  const parsed: Readonly<Record<string, () => string>> = {
    'empty objects': () => `[${'{},'.repeat(100_000)}{}]`,
    'empty lists': () => `[${'[],'.repeat(100_000)}[]]`,
    integers: () => `[${'1,'.repeat(300_000)}1]`,
    texts: () => JSON.stringify(Array.from({ length: 50_000 }, (_, at) => `text ${at}`)),
    'wide texts': () => JSON.stringify(Array.from({ length: 20_000 }, (_, at) => `${'あ'.repeat(50)}${at}`)),
    'rows of a table': () =>
      JSON.stringify(Array.from({ length: 50_000 }, (_, at) => ({ id: at, name: `n${at}`, ok: true }))),
    'keys of one object': () => JSON.stringify(dict(MAX_OBJECT_KEYS)),
    'objects of different keys': () => JSON.stringify(Array.from({ length: 50_000 }, (_, at) => ({ [`k${at}`]: at }))),
  }
  for (const [name, textOf] of Object.entries(parsed))
    test(`of ${name} is estimated within a factor of two`, () => {
      const text = textOf()
      const taken = memoryTaken(text)
      for (const told of [
        estimateJsonMemory(Buffer.from(text)).memory_bytes,
        estimatePayloadMemory(encode(JSON.parse(text)), true).memory_bytes,
      ])
        assert.ok(told > taken / 2 && told < taken * 2.5, `${told} told, ${taken} taken`)
    })
})

/** Makes the engine collect garbage. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

/** Returns what the parsed text takes on the heap. */
function memoryTaken(text: string): number {
  const collect = collector()
  collect()
  const before = process.memoryUsage().heapUsed
  const value: unknown = JSON.parse(text)
  collect()
  const taken = process.memoryUsage().heapUsed - before
  assert.ok(value)
  return taken
}
