// `subscribe_job`: the answer, then every later event in order and once, replayed and live in one stream, until the end of the job. This holds for
// repeated subscriptions and slow readers.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { JobEvent, SubscribeJobResponse } from '../../generated/types.ts'
import { findJobByKey } from '../../src/db/jobs/rows.ts'
import { insertTombstone } from '../../src/db/jobs/tombstones.ts'
import { parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { MAX_SUBSCRIPTIONS } from '../../src/sockets/jobs/subscriptions.ts'
import { graph, node, sink, source, testType } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { jobRow, putJob } from '../helpers/store.ts'
import { putEnd, putEvents } from '../http/jobs-kit.ts'
import { ended, type GatedServer, OWNER, Saboteur, submit } from '../jobs/kit.ts'
import { GATED, QUICK, startPreview, streaming, submissionOf, submitted, workflow } from '../lifecycle/jobs-kit.ts'

let server: GatedServer
before(async () => {
  server = await startPreview()
})
after(() => server[Symbol.asyncDispose]())

/** More than the history in memory and the buffers of a socket hold. */
const burst = testType('test.Flood', {
  outputs: [{ name: 'item', type: parseType('str'), stream: true }],
  async *run() {
    for (let at = 0; at < 4_400; at++) {
      yield { item: `${at}:`.padEnd(8_000, 'x') }
      if (at % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  },
})

interface Told {
  readonly error?: { code: string; message: string; retryable: boolean }
  readonly result: SubscribeJobResponse
}

async function subscribe(client: Client, job_id: string, after_sequence?: number): Promise<Told> {
  return (await client.ask('subscribe_job', {
    job_id,
    ...(after_sequence === undefined ? {} : { after_sequence }),
  })) as never
}

/** The events of a job that came after the frame at `from`. */
function events(client: Client, job_id: string, from = 0): JobEvent[] {
  return client.frames
    .slice(from)
    .filter((frame) => frame.type === 'job_event' && frame.job_id === job_id)
    .map(({ event }) => event as JobEvent)
}

const isEnd = (job_id: string) => (frame: Frame) =>
  frame.type === 'job_event' && frame.job_id === job_id && (frame.event as JobEvent).type === 'job_terminal'

async function toEnd(client: Client, job_id: string): Promise<void> {
  await client.next(isEnd(job_id))
}

function sequences(of: readonly JobEvent[]): number[] {
  return of.map(({ sequence }) => sequence)
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

const textOf = (event: JobEvent) => JSON.stringify(event)

/** The history over HTTP. */
async function history(of: TestServer, job_id: string, after = 0): Promise<JobEvent[]> {
  const headers = { Accept: 'application/json' }
  const path = `/api/jobs/${job_id}/events?after_sequence=${after}`
  return (await call<JobEvent[]>(of, 'GET', path, { headers })).body
}

async function open(of: GatedServer = server): Promise<void> {
  const waiting = await until('the gate', () => of.gate.waiting[0])
  waiting.open()
}

const ITEMS = numbers(1, 30)

/** A job that has sent its items and waits at its gate. */
async function held(of: GatedServer = server, items: readonly unknown[] = ITEMS): Promise<string> {
  const { row } = submit(of, { graph: streaming(items) })
  await until('its items', () => {
    const stored = of.context.store.read((tx) => findJobByKey(tx, row.key))
    return stored && stored.last_sequence > items.length
  })
  await until('the gate', () => of.gate.waiting[0])
  return row.id
}

describe('subscribe_job', () => {
  for (const mode of ['binary', 'text'] as const) {
    test(`sends all events of a job, as over HTTP (${mode})`, async () => {
      const job_id = await held()
      await using client = await connect(server, { mode })
      const { result } = await subscribe(client, job_id)
      const { last_sequence } = result.snapshot
      assert.deepEqual(
        [result.job_id, result.requested_after_sequence, result.replay_from_sequence, result.replay_to_sequence],
        [job_id, 0, 1, last_sequence],
      )
      assert.equal(result.snapshot.status, 'running')
      const reply = client.frames.findIndex(
        ({ type, command }) => type === 'rpc_response' && command === 'subscribe_job',
      )
      assert.ok(client.frames.findIndex(({ type }) => type === 'job_event') > reply, 'the answer comes first')
      await open()
      await toEnd(client, job_id)
      // Compared as text: live and stored events have the same order of keys.
      assert.deepEqual(events(client, job_id).map(textOf), (await history(server, job_id)).map(textOf))
      await client.settled()
      assert.equal(events(client, job_id).at(-1)?.type, 'job_terminal')
    })
  }

  test('begins after any requested sequence', async () => {
    const job_id = await held()
    await using client = await connect(server)
    const { result } = await subscribe(client, job_id, 7)
    assert.deepEqual([result.requested_after_sequence, result.replay_from_sequence], [7, 8])
    await using other = await connect(server)
    const last = result.replay_to_sequence
    const present = await subscribe(other, job_id, last)
    assert.deepEqual([present.result.replay_from_sequence, present.result.replay_to_sequence], [null, last])
    await open()
    for (const [one, asked] of [
      [client, 7],
      [other, last],
    ] as const) {
      await toEnd(one, job_id)
      assert.deepEqual(events(one, job_id), await history(server, job_id, asked))
    }
  })

  test('of a job that has ended sends its terminal snapshot and the stored events, then nothing', async () => {
    const { job_id } = await submitted(server, submissionOf(await workflow(server, QUICK), { inputs: { in: 1 } }))
    const { last_sequence } = await ended(server, job_id)
    await using client = await connect(server)
    for (const asked of [0, 2, last_sequence]) {
      const from = client.frames.length
      const { result } = await subscribe(client, job_id, asked)
      assert.equal(result.snapshot.status, 'completed')
      assert.equal(result.snapshot.last_sequence, last_sequence)
      if (asked < last_sequence) await toEnd(client, job_id)
      await client.settled()
      assert.deepEqual(sequences(events(client, job_id, from)), numbers(asked + 1, last_sequence))
    }
  })

  test('after a future sequence is refused, and keeps an earlier subscription', async () => {
    const job_id = await held()
    await using client = await connect(server)
    const { result } = await subscribe(client, job_id)
    const refused = await subscribe(client, job_id, result.replay_to_sequence + 1)
    assert.deepEqual([refused.error?.code, refused.error?.retryable], ['SEQUENCE_AHEAD', false])
    await open()
    await toEnd(client, job_id)
    assert.deepEqual(events(client, job_id), await history(server, job_id))
  })

  test('of an unknown or expired job is refused', async () => {
    await using client = await connect(server)
    assert.equal((await subscribe(client, 'job_none')).error?.code, 'JOB_NOT_FOUND')
    await server.context.store.write((tx) =>
      insertTombstone(tx, { user_id: '1', workspace_id: null, id: 'job_old' }, '2026-01-01T00:00:00.000Z'),
    )
    assert.equal((await subscribe(client, 'job_old')).error?.code, 'JOB_EXPIRED')
  })

  test('again moves the subscription: events after the second answer come once', async () => {
    const job_id = await held()
    await using client = await connect(server)
    const first = await subscribe(client, job_id)
    const last = first.result.replay_to_sequence
    await client.settledFor(job_id)
    for (let at = 0; at < 20; at++) client.command('subscribe_job', { job_id, after_sequence: at % 5 }, `again-${at}`)
    await client.next({ request_id: 'again-19' })
    const from = client.frames.findIndex(({ request_id }) => request_id === 'again-19')
    await open()
    await toEnd(client, job_id)
    await client.settled()
    assert.deepEqual(events(client, job_id, from), await history(server, job_id, 4))
    assert.ok(last > 4)
  })

  test('continues while a job is queued, and while it waits for a person', async () => {
    const asking = graph(
      [source('in', 1), node('ask', 'human.Approval', { message: 'Go on?' }), sink('out')],
      ['in.output->ask.value', 'ask.approved->out.value'],
    )
    const of = await workflow(server, asking)
    const first = await submitted(server, submissionOf(of))
    const behind = await submitted(server, submissionOf(await workflow(server, GATED), { inputs: { in: 1 } }))
    await using client = await connect(server)
    await subscribe(client, first.job_id)
    await subscribe(client, behind.job_id)
    await client.next(
      (frame) => frame.type === 'job_event' && (frame.event as { status?: string }).status === 'suspended',
    )
    await using later = await connect(server)
    assert.equal((await subscribe(later, first.job_id, 1)).result.snapshot.status, 'suspended')
    await call(server, 'POST', `/api/jobs/${first.job_id}/resume`, { body: { value: true } })
    await open()
    await Promise.all([first, behind].map(({ job_id }) => toEnd(client, job_id)))
    await toEnd(later, first.job_id)
    for (const { job_id } of [first, behind]) assert.deepEqual(events(client, job_id), await history(server, job_id))
    assert.deepEqual(events(later, first.job_id), await history(server, first.job_id, 1))
  })

  test('by many sockets at once sends all events to each, and does not change the frames of runs', async () => {
    const job_id = await held()
    const clients = await Promise.all(
      ITEMS.slice(0, 12).map((at) => connect(server, { mode: at % 2 ? 'text' : 'binary' })),
    )
    await Promise.all(clients.map((client, at) => subscribe(client, job_id, at)))
    await using plain = await connect(server)
    plain.command('reconnect_job', { job_id })
    await plain.settledFor(job_id)
    await open()
    const whole = await Promise.all(clients.map((client) => toEnd(client, job_id)))
    assert.equal(whole.length, clients.length)
    const stored = await history(server, job_id)
    for (const [at, client] of clients.entries()) assert.deepEqual(events(client, job_id), stored.slice(at))
    await plain.collect(job_id)
    assert.deepEqual(events(plain, job_id), [])
    for (const client of clients) await client[Symbol.asyncDispose]()
  })

  test('sends no events of other jobs to a socket that runs jobs itself', async () => {
    await using client = await connect(server)
    const job_id = 'run-and-subscribed'
    client.command('run_job', { job_id, graph: GATED, params: { in: 1 } })
    await client.next({ type: 'job_update', status: 'running' })
    const { result } = await subscribe(client, job_id)
    assert.equal(result.replay_from_sequence, 1)
    await open()
    await client.collect(job_id)
    if (!client.frames.some(isEnd(job_id))) await toEnd(client, job_id)
    assert.deepEqual(events(client, job_id), await history(server, job_id))
  })
})

describe('a history whose beginning was removed', () => {
  const KEPT = 10

  test('of a running job gives the snapshot, no past events, then live events', async () => {
    await using small = await startPreview({ max_job_events: KEPT })
    const job_id = await held(small)
    await using client = await connect(small)
    const { result } = await subscribe(client, job_id, 3)
    const { replay_from_sequence, replay_to_sequence, snapshot } = result
    assert.deepEqual([replay_from_sequence, replay_to_sequence], [null, snapshot.last_sequence])
    await client.settledFor(job_id)
    assert.deepEqual(events(client, job_id), [])
    await using other = await connect(small)
    const kept = await subscribe(other, job_id, replay_to_sequence - KEPT)
    assert.equal(kept.result.replay_from_sequence, replay_to_sequence - KEPT + 1)
    await open(small)
    for (const [one, asked] of [
      [client, replay_to_sequence],
      [other, replay_to_sequence - KEPT],
    ] as const) {
      await toEnd(one, job_id)
      const told = sequences(events(one, job_id))
      assert.deepEqual(told, numbers(asked + 1, told.at(-1)!))
    }
  })

  test('while a socket lags behind gives the remaining events in order, with a visible gap', {
    timeout: 60_000,
  }, async () => {
    const config = { max_concurrent_jobs: 1 }
    await using small = await startPreview({ max_job_events: KEPT, types: [burst], config })
    const flood = graph([node('many', 'test.Flood'), sink('out')], ['many.item->out.value'])
    submit(small, { graph: GATED, params: { in: 1 } })
    const { row } = submit(small, { graph: flood })
    await using slow = await connect(small)
    const { result } = await subscribe(slow, row.id)
    assert.deepEqual([result.snapshot.status, result.replay_to_sequence], ['queued', 2])
    await until('both', () => events(slow, row.id).length === 2)
    slow.ws.pause()
    await open(small)
    const { last_sequence } = await ended(small, row.id)
    slow.ws.resume()
    await toEnd(slow, row.id)
    const told = sequences(events(slow, row.id))
    assert.ok(
      told.every((sequence, at) => at === 0 || sequence > told[at - 1]!),
      'in order, each once',
    )
    assert.ok(told.length < last_sequence, 'some are gone')
    assert.deepEqual(events(slow, row.id).slice(-KEPT), await history(small, row.id, last_sequence - KEPT))
  })

  test('of a job that has ended gives only the snapshot', async () => {
    await server.context.store.write((tx) => {
      const error = JSON.stringify({ message: 'It failed.', type: 'node_error', node_id: null, retryable: false })
      const at = '2026-01-01T00:00:00.000Z'
      const of = { status: 'failed', error, started_at: at, finished_at: at } as const
      putJob(tx, jobRow(90_001, { ...of, last_sequence: 5 }), jobRow(90_002, { ...of, last_sequence: 5 }))
      putEvents(tx, 90_002, 4, 2)
      putEnd(tx, 90_002, 5)
    })
    await using client = await connect(server)
    for (const [job_id, asked, told] of [
      ['job_90001', 0, []],
      ['job_90001', 5, []],
      ['job_90002', 1, []],
      ['job_90002', 2, [3, 4, 5]],
    ] as const) {
      const from = client.frames.length
      const { result } = await subscribe(client, job_id, asked)
      assert.equal(result.snapshot.status, 'failed')
      assert.equal(result.replay_from_sequence, told[0] ?? null)
      assert.equal(result.replay_to_sequence, 5)
      if (told.length > 0) await toEnd(client, job_id)
      await client.settled()
      assert.deepEqual(sequences(events(client, job_id, from)), told)
    }
  })
})

describe('a subscription', () => {
  test('loses nothing if its socket reads slowly, and does not block others', { timeout: 60_000 }, async () => {
    const size = 256 * 1024
    const items = numbers(1, 70).map((at) => `${at}:`.padEnd(size, 'x'))
    const job_id = await held(server, items)
    await using slow = await connect(server)
    await using quick = await connect(server)
    await subscribe(slow, job_id, 0)
    slow.ws.pause()
    await subscribe(quick, job_id, 0)
    await open()
    await toEnd(quick, job_id)
    await ended(server, job_id)
    slow.ws.resume()
    await toEnd(slow, job_id)
    assert.deepEqual(sequences(events(slow, job_id)), sequences(events(quick, job_id)))
    assert.deepEqual(sequences(events(slow, job_id)), numbers(1, events(quick, job_id).at(-1)!.sequence))
  })

  test('continues after the history could not be written for a while', { timeout: 30_000 }, async () => {
    await using own = await startPreview()
    const job_id = await held(own)
    await using client = await connect(own)
    await subscribe(client, job_id)
    using saboteur = new Saboteur(own)
    saboteur.break()
    await open(own)
    await until('the loss', () => own.context.runs.jobs.living(OWNER, job_id) === null)
    saboteur.mend()
    await open(own)
    await toEnd(client, job_id)
    assert.deepEqual(events(client, job_id), await history(own, job_id))
  })

  test('beyond the limit of a socket is refused until another one ends', {
    timeout: 60_000,
  }, async () => {
    await using own = await startPreview()
    await own.context.store.write((tx) => {
      const waits = { firing: 'a', node_id: 'a', kind: 'value', name: 'x', message: null, schema: null, until: null }
      const waiting = JSON.stringify([waits])
      for (let key = 1; key <= MAX_SUBSCRIPTIONS + 1; key++) {
        putJob(tx, jobRow(80_000 + key, { status: 'paused', last_sequence: 1, waiting }))
        putEvents(tx, 80_000 + key, 1)
      }
    })
    const job_id = await held(own)
    await using client = await connect(own)
    await subscribe(client, job_id)
    const all = numbers(1, MAX_SUBSCRIPTIONS - 1)
    for (const key of all) client.command('subscribe_job', { job_id: `job_${80_000 + key}` }, `s-${key}`)
    await until(
      'all answers',
      () => client.frames.filter(({ type }) => type === 'rpc_response').length === all.length + 1,
      30_000,
    )
    assert.ok(client.frames.every(({ type, error }) => type !== 'rpc_response' || error === undefined))
    const beyond = `job_${80_000 + MAX_SUBSCRIPTIONS}`
    const { error } = await subscribe(client, beyond)
    assert.deepEqual([error?.code, error?.retryable], ['RATE_LIMITED', true])
    assert.equal((await subscribe(client, `job_${80_001}`)).error, undefined, 'moving takes no place')
    await open(own)
    await toEnd(client, job_id)
    assert.equal((await subscribe(client, beyond)).error, undefined)
  })

  test('ends when its socket closes', async () => {
    const job_id = await held()
    const { events: log } = server.context.runs
    const before = log.followers
    const client = await connect(server)
    await subscribe(client, job_id)
    assert.equal(log.followers, before + 1)
    await client[Symbol.asyncDispose]()
    await until('the end of the subscription', () => log.followers === before)
    await open()
    await ended(server, job_id)
  })

  test('gets the last events before the close of a server that stops, and continues at the next server', async () => {
    const data_dir = temporaryFolder()
    try {
      const first = await startPreview({ data_dir })
      const job_id = await held(first)
      const client = await connect(first)
      const { result } = await subscribe(client, job_id)
      await first.close(0)
      assert.equal((await client.closed()).code, 1012)
      const told = sequences(events(client, job_id))
      assert.deepEqual(told, numbers(1, result.replay_to_sequence))
      await using second = await startPreview({ data_dir })
      await using again = await connect(second)
      await subscribe(again, job_id, told.at(-1)!)
      await open(second)
      await toEnd(again, job_id)
      assert.deepEqual([...events(client, job_id), ...events(again, job_id)], await history(second, job_id))
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})
