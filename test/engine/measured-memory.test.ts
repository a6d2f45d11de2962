// The estimated memory of values, compared with their use of the heap.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { estimateMemory, makeMeasuredSteps, measureValue } from '../../src/engine/node-api/values/measure.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { putIntoWeakMaps } from '../helpers/weak-maps.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const COUNT = 100_000
const list = <T>(item: (at: number) => T, count = COUNT) => Array.from({ length: count }, (_, at) => item(at))
const parsed = (item: string) => () => JSON.parse(`[${`${item},`.repeat(COUNT)}${item}]`) as object

const VALUES: Readonly<Record<string, () => object>> = {
  'empty objects': parsed('{}'),
  'empty lists': parsed('[]'),
  'objects with one member': parsed('{"a":1}'),
  'objects with some members': () => list((at) => ({ at, name: `row ${at}`, tags: [at % 7] })),
  'objects with ten members': () => list((at) => Object.fromEntries(list((key) => [`key ${key}`, at], 10)), 10_000),
  'objects of fractions': () => list((at) => ({ x: at + 0.5, y: at + 0.1 })),
  integers: () => list((at) => at),
  fractions: () => list((at) => at + 0.5),
  'fractions among others': () => list((at) => (at % 2 === 0 ? at + 0.5 : null)),
  'short texts': () => list((at) => `s${at}`),
  'lists of numbers': () => list(() => list((at) => at, 10), 10_000),
  'an object with very many members': () => Object.fromEntries(list((at) => [`key ${at}`, at])),
}

/** Bytes of the heap that a value uses. */
function taken(make: () => object): number {
  collect()
  collect()
  const before = process.memoryUsage().heapUsed
  const value = make()
  collect()
  collect()
  const bytes = process.memoryUsage().heapUsed - before
  // Keeps the value alive until here.
  assert.equal(typeof value, 'object')
  return bytes
}

for (const [name, make] of Object.entries(VALUES))
  test(`${name}: the estimate is about what they take`, () => {
    const value = make()
    const found: number[] = []
    // Garbage of earlier values may be collected during the measurement.
    do found.push(estimateMemory(value) / taken(make))
    while ((found.at(-1)! < 1 / 1.6 || found.at(-1)! > 1.6) && found.length < 5)
    assert.ok(found.at(-1)! > 1 / 1.6 && found.at(-1)! < 1.6, `of what is taken ${found.join(', ')} is estimated`)
    // Measured at once or in steps.
    const again = make()
    runToCompletion(makeMeasuredSteps(steps(again)))
    assert.deepEqual(measureValue(again), measureValue(value))
  })

// biome-ignore lint/correctness/useYield: it has one step
function* steps<T>(value: T): Generator<undefined, T, undefined> {
  return value
}

// The collector visits all cached entries while all other work waits.
test('of a list of small values only the measure of the list is cached', async () => {
  const type = () => ({ type: 'str', optional: false, values: null, type_args: [] })
  const inputs = list((at) => ({ name: `in${at}`, label: '', type: type(), required: false, default: '', limits: [] }))
  const put = await putIntoWeakMaps(() => {
    measureValue(inputs)
    measureValue(inputs)
  })
  assert.equal(put, 1)
})
