// Very many long vectors of a provider with another protocol are encoded in turns with other work.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EmbeddingList } from '../../generated/types.ts'
import { createEmbeddings } from '../../src/completions/embeddings.ts'
import { TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { longestTurn } from '../helpers/loop.ts'

const COUNT = 2048
const DIMENSIONS = 1024
/** In milliseconds; far less than encoding all of them takes. The text is joined at once. */
const LONGEST_TURN = 60

const vectors = Array.from({ length: COUNT }, (_, at) => Array.from({ length: DIMENSIONS }, (_, of) => (at - of) / 3))
const slices = new TimeSliceScheduler()

for (const encoding_format of ['float', 'base64'] as const)
  test(`very many vectors are encoded as ${encoding_format} in turns with other work`, async () => {
    const body = { model: 'm/n', input: ['x'], encoding_format }
    const asked = { owner: { user_id: '1', workspace_id: null }, body, raw: null }
    const wanted = { asked, found: { provider: { name: 'm' } }, slices }
    let text = ''
    const held = await longestTurn(async () => {
      const given = await createEmbeddings({ embed: async () => vectors } as never, wanted as never)
      text = given.body as string
    })
    assert.ok(held < LONGEST_TURN, `held for ${Math.round(held)} ms`)
    const { data } = JSON.parse(text) as EmbeddingList
    assert.deepEqual(
      data.map(({ index }) => index),
      vectors.map((_, at) => at),
    )
    const last = data.at(-1)!.embedding
    if (typeof last !== 'string') return assert.deepEqual(last, vectors.at(-1))
    assert.deepEqual(Buffer.from(last, 'base64'), Buffer.from(Float32Array.from(vectors.at(-1)!).buffer))
  })
