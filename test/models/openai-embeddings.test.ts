// Vectors of servers that speak OpenAI's protocol: as numbers or as bytes, and no more of them than are read in one go.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddingsOf } from '../../src/models/openai-embeddings.ts'

const MOST = 8_388_608
const LONGEST = 262_144
const listOf = (...embeddings: unknown[]) => ({ data: embeddings.map((embedding, index) => ({ index, embedding })) })

test('vectors are numbers, however they are written', async () => {
  const bytes = Buffer.alloc(9)
  bytes.writeFloatLE(0.5, 0)
  bytes.writeFloatLE(-2, 4)
  const read = await embeddingsOf(listOf([0.5, -2], bytes.toString('base64')))
  assert.deepEqual(read?.vectors, [
    [0.5, -2],
    [0.5, -2],
  ])
})

test('vectors together have no more numbers than are taken', async () => {
  const long = Array<number>(LONGEST).fill(0)
  const most = Array.from({ length: MOST / LONGEST }, () => long)
  assert.equal((await embeddingsOf(listOf(...most)))?.vectors.length, most.length)
  for (const more of [[0], 'AAAAAAAA']) await assert.rejects(embeddingsOf(listOf(...most, more)), { name: 'Malformed' })
})

test('no vector has more numbers than are read in one go', async () => {
  const bytes = Buffer.alloc(4 * (LONGEST + 1))
  for (const long of [Array<number>(LONGEST + 1).fill(0), bytes.toString('base64')])
    await assert.rejects(embeddingsOf(listOf([0], long)), /a vector of more than 262144 numbers/)
})
