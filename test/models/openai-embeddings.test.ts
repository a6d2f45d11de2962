// Vectors of servers that speak OpenAI's protocol: as numbers or as bytes, and no more of them than are read in one go.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddingsOf } from '../../src/models/openai-embeddings.ts'

const MOST = 8_388_608
const listOf = (...embeddings: unknown[]) => ({ data: embeddings.map((embedding, index) => ({ index, embedding })) })

test('vectors are numbers, however they are written', () => {
  const bytes = Buffer.alloc(9)
  bytes.writeFloatLE(0.5, 0)
  bytes.writeFloatLE(-2, 4)
  assert.deepEqual(embeddingsOf(listOf([0.5, -2], bytes.toString('base64')))?.vectors, [
    [0.5, -2],
    [0.5, -2],
  ])
})

test('vectors together have no more numbers than are read in one go', () => {
  const half = Array<number>(MOST / 2).fill(0)
  assert.equal(embeddingsOf(listOf(half, half))?.vectors.length, 2)
  for (const more of [[0], 'AAAAAAAA'])
    assert.throws(() => embeddingsOf(listOf(half, half, more)), { name: 'Malformed' })
})
