// Many clients follow a job over every transport: each sees the same history, once, in the detail that the job was submitted with.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JobEvent } from '../../../generated/types.ts'
import { DerivedValueCache } from '../../../src/events/derived-value-cache.ts'
import { call } from '../../helpers/http.ts'
import { until } from '../../helpers/server.ts'
import { type Client, connect, type Frame, isEnding } from '../../helpers/socket.ts'
import { EventClient } from '../../http/events-kit.ts'
import { type Bench, gatedItems, graph, newId, node, startBench } from '../kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

/** Items that come one by one, a skipped branch, a person who is asked, and a second output at the end. */
const eventful = (key: string) => {
  const items = gatedItems(key)
  return graph(
    [
      ...items.nodes,
      node('ask', 'human.Approval', { message: 'Go on?', value: 'yes' }),
      node('yes', 'output.Output', { name: 'yes' }),
      node('no', 'output.Output', { name: 'no' }),
    ],
    [
      ...items.edges.map((edge) => `${edge.source}.${edge.sourceHandle}->${edge.target}.${edge.targetHandle}`),
      'ask.approved->yes.value',
      'ask.rejected->no.value',
    ],
  )
}

const SHOWN = ['queued', 'running', 'suspended']

/** An event in the form of `frameWord`; null for an event that sockets do not show. */
function eventWord(event: JobEvent): string | null {
  if (event.type === 'job_status') return SHOWN.includes(event.status) ? `job ${event.status}` : null
  if (event.type === 'node_status') return `node ${event.node_id} ${event.status === 'failed' ? 'error' : event.status}`
  if (event.type === 'output_update')
    return `output ${event.output_name} ${JSON.stringify('value' in event && event.value)}`
  return `job ${event.status}`
}

/** The frame of a stored event; null for other frames. */
function frameWord(frame: Frame): string | null {
  if (frame.type === 'job_update') return `job ${frame.status}`
  if (frame.type === 'node_update') return `node ${frame.node_id} ${frame.status}`
  if (frame.type === 'output_update') return `output ${frame.output_name} ${JSON.stringify(frame.value)}`
  return null
}

const present = (words: (string | null)[]) => words.filter((word) => word !== null)

/** Polls for new events until the job has ended. */
async function polled(path: string): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  await until('the end of the job', async () => {
    const options = { headers: { Accept: 'application/json' } }
    const { body } = await call<JobEvent[]>(bench.server, 'GET', `${path}?after_sequence=${events.length}`, options)
    events.push(...body)
    return events.at(-1)?.type === 'job_terminal'
  })
  return events
}

describe('a job with many followers', () => {
  test('has the same history over server-sent events, two sockets and polled JSON', async () => {
    const job_id = newId()
    await using first = await connect(bench.server)
    await using second = await connect(bench.server, { mode: 'text' })
    first.command('run_job', { job_id, graph: eventful(job_id), params: { list: ['a', 'b', 'c'] } })
    await first.next({ job_id, status: 'running' })
    second.command('reconnect_job', { job_id })
    await second.settledFor(job_id)
    const known = second.of(job_id).length
    const path = `/api/jobs/${job_id}/events`
    await using stream = await EventClient.open(bench.server, path)
    const polling = polled(path)
    for (let item = 0; item < 3; item++) await bench.gates.open(job_id)
    await first.next({ type: 'job_update', job_id, status: 'suspended' })
    await second.ask('resume_job', { job_id, node_id: 'ask', value: true })
    const [own, others] = await Promise.all([first.collect(job_id), second.collect(job_id)])

    const events = await stream.end()
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, at) => at + 1),
    )
    assert.deepEqual(await polling, events)
    const told = present(events.map(eventWord))
    assert.deepEqual(present(own.map(frameWord)), told)
    // A later follower gets the state first, and then all events.
    const later = present(others.slice(known).map(frameWord))
    assert.ok(later.length > 8, later.join('\n'))
    assert.deepEqual(later, told.slice(-later.length))
    assert.equal(told.at(-1), 'job completed')
    assert.ok(told.includes('output out "b"') && told.includes('node no skipped'))
  })

  test('ends once for each follower, whichever client cancels it, even if it is requested again', async () => {
    const job_id = newId()
    const clients = await Promise.all([connect(bench.server), connect(bench.server), connect(bench.server)])
    const [first, second, third] = clients as [Client, Client, Client]
    first.command('run_job', { job_id, graph: gatedItems(job_id), params: { list: [1] } })
    await bench.gates.at(job_id)
    for (const client of [second, third]) {
      client.command('reconnect_job', { job_id })
      await client.next({ type: 'job_resumed', job_id })
    }
    second.command('cancel_job', { job_id })
    third.command('cancel_job', { job_id })
    for (const client of clients) {
      await client.collect(job_id)
      await client.settledFor(job_id)
    }
    assert.deepEqual(
      clients.map((client) => client.of(job_id).filter(isEnding).length),
      [1, 1, 1],
    )
    first.command('reconnect_job', { job_id })
    await first.settledFor(job_id)
    assert.equal(first.of(job_id).filter(isEnding).length, 2)
    for (const client of clients) await client[Symbol.asyncDispose]()
  })

  for (const [event_detail, dropped] of [
    ['outputs', ['node_update', 'edge_update', 'node_progress']],
    ['terminal', ['node_update', 'edge_update', 'node_progress', 'output_update', 'chunk', 'log_update']],
  ] as const) {
    test(`sends only ${event_detail} to followers if it was submitted so, and the whole history on request`, async () => {
      const job_id = newId()
      await using first = await connect(bench.server)
      await using second = await connect(bench.server)
      const options = { execution_options: { event_detail } }
      first.command('run_job', { job_id, graph: gatedItems(job_id), params: { list: ['x'] }, ...options })
      await bench.gates.at(job_id)
      second.command('reconnect_job', { job_id })
      await second.next({ type: 'job_resumed', job_id })
      await bench.gates.open(job_id)
      for (const client of [first, second]) {
        const types = new Set((await client.collect(job_id)).map(({ type }) => type))
        for (const type of dropped) assert.ok(!types.has(type), type)
        assert.equal(types.has('output_update'), event_detail === 'outputs')
      }
      await using stream = await EventClient.open(bench.server, `/api/jobs/${job_id}/events`)
      const events = await stream.end()
      assert.deepEqual(new Set(events.map(({ type }) => type)).size, 4)
    })
  }
})

describe('a derived value that many use', () => {
  test('is computed at most twice, and cached only from the second use', () => {
    let made = 0
    const shared = new DerivedValueCache((item: { name: string }) => `${item.name} ${++made}`)
    const [one, other] = [{ name: 'one' }, { name: 'other' }]
    assert.deepEqual(
      [shared.get(one), shared.get(one), shared.get(one), shared.get(one)],
      ['one 1', 'one 2', 'one 2', 'one 2'],
    )
    assert.equal(shared.get(other), 'other 3')
  })

  test('is computed again after a failure', () => {
    const shared = new DerivedValueCache((_: object): string => {
      throw new Error('too large')
    })
    const item = {}
    for (let time = 0; time < 3; time++) assert.throws(() => shared.get(item), /too large/)
  })
})
