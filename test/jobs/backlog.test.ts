// A run that publishes faster than its history is written waits for the commit: one large commit would delay all requests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JobFeed } from '../../src/events/job-feed.ts'
import type { EventBody, JobFrame } from '../../src/events/types.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, history, outputs, submit } from './kit.ts'

const COUNT = 5_000
/** The most events that wait for a commit, plus those of one further turn of a node. */
const MOST_STAGED = 1_100

const numbers = graph(
  [node('numbers', 'control.Numbers', { from: 1, to: COUNT }), sink('out')],
  ['numbers.item->out.value'],
)

test('a run waits while too much of its history is unwritten, and then continues', async () => {
  await using server = await startServer()
  const { events } = server.context.runs
  const commit = events.commit.bind(events)
  const held: (() => void)[] = []
  events.commit = (...of) => void held.push(() => commit(...of))
  const { row, feed } = submit(server, { graph: numbers })
  await until('a full history', () => feed.sequence >= 1_000)
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  assert.ok(feed.sequence < MOST_STAGED, `${feed.sequence} events`)
  events.commit = commit
  for (const goOn of held) goOn()
  await ended(server, row.id)
  assert.equal((await history(server, row)).filter(({ type }) => type === 'output_update').length, COUNT)
})

test('a run also waits where few unwritten events have much text', async () => {
  await using server = await startServer()
  const { events } = server.context.runs
  const commit = events.commit.bind(events)
  const held: (() => void)[] = []
  events.commit = (...of) => void held.push(() => commit(...of))
  const list = Array.from({ length: 40 }, (_, at) => `${at} `.padEnd(100_000, '.'))
  const each = graph(
    [source('in', list), node('each', 'control.ForEach'), sink('out')],
    ['in.output->each.list', 'each.item->out.value'],
  )
  const { row, feed } = submit(server, { graph: each })
  await until('a full history', () => feed.staged_length >= 1_000_000)
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  assert.ok(feed.staged_length < 1_300_000, `${feed.staged_length} characters`)
  events.commit = commit
  for (const goOn of held) goOn()
  const { result } = await ended(server, row.id)
  assert.deepEqual(outputs({ result }), { out: list })
  assert.equal(feed.staged_length, 0)
})

test('the length of staged events counts until they are committed or truncated', () => {
  const feed = new JobFeed(1, 0, true)
  const append = (value: string) => feed.append({ type: 'output_update', value } as EventBody, null, '')
  append('a'.repeat(1_000))
  const first = feed.staged_length
  assert.ok(first > 1_000)
  feed.provisional({} as JobFrame, '')
  const { mark } = feed
  append('b')
  assert.ok(feed.staged_length > first)
  feed.truncate(mark)
  assert.equal(feed.staged_length, first)
  append('c'.repeat(2_000))
  feed.commit(mark.end)
  assert.ok(feed.staged_length > 2_000 && feed.staged_length < 2_000 + first - 900)
  feed.truncate()
  assert.equal(feed.staged_length, 0)
})

test('a run that waits for its history can be cancelled, and publishes no more', async () => {
  await using server = await startServer()
  const { events, jobs } = server.context.runs
  const commit = events.commit.bind(events)
  const held: (() => void)[] = []
  events.commit = (...of) => void held.push(() => commit(...of))
  const job = submit(server, { graph: numbers })
  await until('a full history', () => job.feed.sequence >= 1_000)
  const cancelled = jobs.cancel({ user_id: '1', workspace_id: null }, job.row.id)
  events.commit = commit
  for (const goOn of held) goOn()
  await cancelled
  const row = await ended(server, job.row.id)
  assert.equal(row.status, 'cancelled')
  const { length } = await history(server, row)
  assert.ok(length < COUNT, `${length} events`)
})
