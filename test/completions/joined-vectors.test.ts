// A list of embeddings of a hundred megabytes is joined in steps.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EmbeddingListReader } from '../../src/completions/upstream/embedding-list-reader.ts'
import { processorMs } from '../helpers/processor.ts'

const COUNT = 2048
const PIECE = 65_536
/** In milliseconds, of one step; far less than joining all of them takes. */
const LONGEST_STEP = 50

test('many long vectors are joined in steps, with their missing fields', () => {
  const vector = `{"embedding":[${Array(3072).fill('0.1234567890123456').join(',')}]}`
  const sent = Buffer.from(`{"data":[${Array(COUNT).fill(vector).join(',')}]}`)
  const reader = new EmbeddingListReader(COUNT)
  for (let at = 0; at < sent.length; at += PIECE) reader.take(sent.subarray(at, at + PIECE))
  const given = reader.end()
  const steps = reader.bytes(given, { ...given, object: 'list' })
  let made: Uint8Array | null = null
  let longest = 0
  while (made === null)
    longest = Math.max(
      longest,
      processorMs(() => {
        const step = steps.next()
        if (step.done) made = step.value
      }),
    )
  assert.ok(longest < LONGEST_STEP, `a step took ${Math.round(longest)} ms`)
  const { object, data } = JSON.parse(Buffer.from(made).toString())
  assert.equal(object, 'list')
  assert.deepEqual([data.length, data[7].index, data[7].object], [COUNT, 7, 'embedding'])
})
