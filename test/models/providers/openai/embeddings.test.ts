// Vectors of servers that speak OpenAI's protocol: as numbers or as bytes, and within the limits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEmbeddings } from '../../../../src/models/providers/openai/embeddings.ts'
import { leastProcessorMs } from '../../../helpers/processor.ts'

const MOST = 8_388_608
const LONGEST = 262_144
const listOf = (...embeddings: unknown[]) => ({ data: embeddings.map((embedding, index) => ({ index, embedding })) })

test('vectors become numbers from lists and from base64', async () => {
  const bytes = Buffer.alloc(9)
  bytes.writeFloatLE(0.5, 0)
  bytes.writeFloatLE(-2, 4)
  const read = await parseEmbeddings(listOf([0.5, -2], bytes.toString('base64')), 2)
  assert.deepEqual(read?.vectors, [
    [0.5, -2],
    [0.5, -2],
  ])
})

test('vectors with too many numbers together are refused', async () => {
  const long = Array<number>(LONGEST).fill(0)
  const most = Array.from({ length: MOST / LONGEST }, () => long)
  assert.equal((await parseEmbeddings(listOf(...most), most.length))?.vectors.length, most.length)
  for (const more of [[0], 'AAAAAAAA'])
    await assert.rejects(
      parseEmbeddings(listOf(...most, more), most.length + 1),
      /vectors of more than 8388608 numbers/,
    )
})

test('a vector with more numbers than are read in one go is refused', async () => {
  const bytes = Buffer.alloc(4 * (LONGEST + 1))
  for (const long of [Array<number>(LONGEST + 1).fill(0), bytes.toString('base64')])
    await assert.rejects(parseEmbeddings(listOf([0], long), 2), /a vector of more than 262144 numbers/)
})

test('a wrong number of vectors is refused, and millions of invalid entries are not processed', async () => {
  for (const given of [listOf(), listOf([0], [1], [2])])
    await assert.rejects(parseEmbeddings(given, 2), /another number of vectors/)
  const data = Array<number>(3_000_000).fill(0)
  const took = leastProcessorMs(
    100,
    () => void assert.rejects(parseEmbeddings({ data }, 2), /another number of vectors/),
  )
  assert.ok(took < 100, `${took} ms of the processor`)
})
