// Values as bytes: reading returns the written value, whether it was written whole or in segments.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deserializeValue, serializeParts } from '../../src/shared/value-serialization.ts'
import { belowInSome } from '../helpers/patience.ts'

const again = (value: unknown) => deserializeValue(Buffer.concat([...serializeParts(value)]))
const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ at, name: `row ${at}`, bytes: Buffer.of(at) }))
const record = (count: number, value: (at: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key ${at}`, value(at)]))

const odd = {
  when: new Date(5),
  sparse: [undefined, null, Number.NaN, -0],
  big: 5n,
  ['__proto__']: { own: true },
}
const shared = rows(2_000)

const VALUES: Readonly<Record<string, unknown>> = {
  'a small value': { a: [1, 'b', null, new Uint8Array([1, 2])] },
  'a long list': rows(20_000),
  'a long record': record(20_000, (at) => ({ at })),
  'a long record whose keys are special': { ...record(5_000, String), ['__proto__']: rows(5_000) },
  'large values in each other': { a: [rows(3_000), record(3_000, (at) => rows(at % 3))], b: 'x'.repeat(400_000) },
  'odd values': [...rows(5_000), odd],
  'one large value in two places': { first: shared, second: [shared, shared] },
  'large bytes': { file: Buffer.alloc(3_000_000, 7), numbers: new Float64Array([1, 2, 3]) },
}

for (const [name, value] of Object.entries(VALUES)) test(name, () => assert.deepEqual(again(value), value))

test('a value in two places is the same object again', () => {
  const { first, second } = again({ first: shared, second: [shared] }) as { first: object; second: object[] }
  assert.equal(first, second[0])
})

test('each part of a large value takes little time to make', async () => {
  await belowInSome(50, async () => {
    let longest = 0
    let before = process.threadCpuUsage()
    for (const _ of serializeParts(rows(100_000))) {
      const { user, system } = process.threadCpuUsage(before)
      longest = Math.max(longest, (user + system) / 1_000)
      before = process.threadCpuUsage()
    }
    return longest
  })
})
