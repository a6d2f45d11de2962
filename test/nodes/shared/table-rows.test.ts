// Tables with very many columns: the main thread reads them in steps, and a cost estimate reads few of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateSize } from '../../../src/engine/node-api/values/measure.ts'
import { isHeavyFiring } from '../../../src/engine/runtime/firings/cost.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { createRowsInSteps } from '../../../src/nodes/shared/table-files.ts'
import {
  guardColumnNamesInSteps,
  guardColumnsInSteps,
  listColumns,
  listColumnsInSteps,
  type TableRow,
} from '../../../src/nodes/shared/table-rows.ts'
import type { Steps } from '../../../src/shared/time-slices.ts'
import { context } from '../context.ts'

const COLUMNS = 50_000

/** Rows that each have columns of their own. */
const wide = (rows: number): TableRow[] =>
  Array.from({ length: rows }, (_, row) =>
    Object.fromEntries(Array.from({ length: COLUMNS }, (_, at) => [`c${row * COLUMNS + at}`, 1])),
  )

function counted<T>(steps: Steps<T>): { value: T; count: number } {
  for (let count = 1; ; count++) {
    const step = steps.next()
    if (step.done) return { value: step.value, count }
  }
}

test('columns are found in steps, the same as at once', () => {
  const rows = wide(3)
  const { value, count } = counted(listColumnsInSteps(rows))
  assert.deepEqual(value, listColumns(rows))
  assert.equal(value.length, 3 * COLUMNS)
  assert.ok(count > 30, `${count} steps`)
  const last = `c${3 * COLUMNS - 1}`
  assert.ok(counted(guardColumnsInSteps(rows, [last])).count > 30)
  assert.throws(() => counted(guardColumnsInSteps(rows, ['none'])), { type: 'unknown_column' })
  assert.ok(counted(guardColumnsInSteps(rows, value)).count > 60)
})

test('equal names are found in steps', () => {
  const names = listColumns(wide(3))
  const { count } = counted(guardColumnNamesInSteps(names))
  assert.ok(count > 30, `${count} steps`)
  assert.throws(() => counted(guardColumnNamesInSteps([...names, 'c0'])), { type: 'duplicate_column' })
})

test('rows are made of cells in steps, however wide they are', () => {
  const columns = listColumns(wide(1)).slice(0, 5_000)
  const cells = Array.from({ length: 200 }, () => Array(columns.length).fill(1))
  const { value, count } = counted(createRowsInSteps({ columns, cells }))
  assert.equal(value.length, 200)
  // One step to make each row, and one to measure it.
  assert.ok(count >= 2 * 200, `${count} steps`)
})

const TWICE = listColumns(wide(3)).concat('c0')

for (const [node_type, inputs, type] of [
  ['chart.Histogram', { x: 'none' }, 'unknown_column'],
  ['document.WriteXlsx', { columns: ['none'], sheet: 'Sheet1', header: true, name: 'table' }, 'unknown_column'],
  ['data.WriteParquet', { columns: TWICE, types: {}, name: 'table' }, 'duplicate_column'],
  ['data.ReadParquet', { file: new Uint8Array(), columns: TWICE }, 'duplicate_column'],
] as const)
  test(`${node_type} reads columns in the time slices of its run`, async () => {
    let taken = 0
    const inSlices = async <T>(steps: Steps<T>): Promise<T> => {
      for (;;) {
        const step = steps.next()
        if (step.done) return step.value
        taken++
      }
    }
    const run = builtinRegistry.get(node_type)!.run!({ rows: wide(3), ...inputs }, { ...context, inSlices })
    await assert.rejects(run as Promise<unknown>, { type })
    assert.ok(taken > 30, `${taken} steps`)
  })

test('document.WriteXlsx writes long cells in the time slices of its run', async () => {
  let taken = 0
  const inSlices = async <T>(steps: Steps<T>): Promise<T> => {
    const { value, count } = counted(steps)
    taken += count
    return value
  }
  const long = Array(10_000).fill([])
  const rows = [Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`c${at}`, long]))]
  const inputs = { rows, columns: [], sheet: 'Sheet1', header: true, name: 'table' }
  const run = builtinRegistry.get('document.WriteXlsx')!.run!(inputs, { ...context, inSlices })
  // No worker is available to write the file.
  await assert.rejects(run as Promise<unknown>, { type: 'unavailable' })
  assert.ok(taken >= 100, `${taken} steps`)
})

test('the cost estimate of data.Filter reads no columns of a large table', () => {
  let looks = 0
  const rows = wide(1)
  rows[0] = new Proxy(rows[0]!, {
    ownKeys(target) {
      looks++
      return Reflect.ownKeys(target)
    },
  })
  // The size is measured once, like that of everything that comes along an edge.
  assert.ok(estimateSize(rows) > COLUMNS)
  looks = 0
  assert.equal(isHeavyFiring(builtinRegistry.get('data.Filter')!, { rows }), true)
  assert.equal(looks, 0)
})
