// Chunks of a stream, joined to one completion.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChunkAggregator } from '../../../src/completions/upstream/chunk-aggregator.ts'
import { runToCompletion as atOnce } from '../../../src/shared/time-slices.ts'

const chunk = (z: unknown) => ({ id: 'a', choices: [{ index: 0, delta: { content: 'x', z } }] })
const record = (from: number, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, at]))

test('lists and records are extended by the next chunk, in steps if there is much', () => {
  const chunks = new ChunkAggregator()
  atOnce(chunks.add(chunk({ list: [0], of: { a: record(0, 3) } })))
  const steps = chunks.add(
    chunk({ list: Array.from({ length: 100_000 }, (_, at) => at), of: { a: record(3, 100_000) } }),
  )
  let count = 0
  while (!steps.next().done) count++
  assert.ok(count > 700, `${count} steps`)
  const [choice] = chunks.completion().choices as { message: { content: string; z: { list: unknown[]; of: object } } }[]
  const { content, z } = choice!.message
  assert.deepEqual([content, z.list.length, z.of], ['xx', 100_001, { a: { ...record(0, 3), ...record(3, 100_000) } }])
})

test('chunks with too many names are refused', () => {
  for (const chunkOf of [
    (names: object) => ({ ...names, choices: [] }),
    (names: object) => ({ choices: [{ index: 0, ...names, delta: {} }] }),
    (names: object) => ({ choices: [{ index: 0, delta: names }] }),
    (names: object) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: names }] } }] }),
  ]) {
    const chunks = new ChunkAggregator()
    const addMany = () => {
      for (let piece = 0; piece < 1_300; piece++) {
        const names = Array.from({ length: 100 }, (_, at) => [`n${piece}_${at}`, 'a'])
        atOnce(chunks.add(chunkOf(Object.fromEntries(names))))
      }
    }
    assert.throws(addMany, /an answer of more than 120000 names/)
  }
})
