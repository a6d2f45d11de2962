// The list of a model server in the whole service: its prices, and its invalid entries.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderModelList } from '../../generated/types.ts'
import { asking, post } from '../completions/kit.ts'
import { call } from '../helpers/http.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer } from '../helpers/server.ts'
import { startUpstream } from '../helpers/upstream.ts'

const list = (data: unknown) => ({ listing: () => ({ body: JSON.stringify({ object: 'list', data }) }) })

test('a spending limit counts calls to a gateway on this machine that lists prices', async () => {
  const pricing = { prompt: '0.01', completion: '0.01' }
  await using upstream = await startUpstream({
    ...list([{ id: 'sold', pricing }, { id: 'given' }]),
    answer: () => ({ status: 200, text: 'hello', usage: { prompt_tokens: 100, completion_tokens: 100 } }),
  })
  const environment = { SVC_MODEL_SERVERS: `mine=${upstream.base_url}`, SVC_MAX_COST_PER_USER_PER_DAY: '2.00' }
  await using server = await startServer({ environment })
  const ask = (model: string) => post(server, asking({ model }))
  assert.equal((await ask('mine/sold')).status, 200)
  const { status, text } = await ask('mine/sold')
  assert.deepEqual([status, JSON.parse(text).error.type], [429, 'budget_exceeded'])
  assert.equal(upstream.posts.length, 1)
  const { models } = (await call<ProviderModelList>(server, 'GET', '/api/models?provider=mine')).body
  assert.deepEqual(
    models.map(({ id, price }) => [id, price?.input_per_million]),
    [
      ['mine/given', undefined],
      ['mine/sold', 10_000],
    ],
  )
})

test('unreadable entries of a list are skipped, and the log says so once', async () => {
  await using upstream = await startUpstream(list([{ id: 'a' }, {}, { id: 7 }]))
  const { log, lines } = keptLog()
  await using server = await startServer({ log, environment: { SVC_MODEL_SERVERS: `mine=${upstream.base_url}` } })
  for (const path of ['/api/models?provider=mine', '/api/models?provider=mine', '/v1/models'])
    assert.equal((await call(server, 'GET', path)).status, 200)
  const { body } = await call<ProviderModelList>(server, 'GET', '/api/models?provider=mine')
  assert.deepEqual(
    body.models.map(({ id }) => id),
    ['mine/a'],
  )
  assert.equal(body.providers.find(({ provider }) => provider === 'mine')?.available, true)
  const told = lines.filter((line) => line.includes('unreadable entries')).map((line) => JSON.parse(line))
  assert.deepEqual(
    told.map(({ level, provider, left_out }) => [level, provider, left_out]),
    [[40, 'mine', 2]],
  )
})
