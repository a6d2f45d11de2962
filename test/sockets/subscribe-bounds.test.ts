// Limits on subscriptions of a socket: a number of jobs, and unsent bytes up to the high-water mark and one frame, even if many jobs send at once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import WebSocket from 'ws'
import { MAX_SUBSCRIPTIONS } from '../../src/sockets/jobs/subscriptions.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { jobRow, putJob } from '../helpers/store.ts'
import { putEvents } from '../http/jobs-kit.ts'
import type { GatedServer } from '../jobs/kit.ts'
import { QUICK, startPreview } from '../lifecycle/jobs-kit.ts'

const HIGH_WATER_BYTES = 8 * 1024 * 1024
const AT = '2026-01-01T00:00:00.000Z'

/** Inserts suspended jobs with one event each into the server's database. Returns their keys. */
async function suspended({ context }: GatedServer, count: number): Promise<number[]> {
  const keys = Array.from({ length: count }, (_, at) => 80_001 + at)
  const waits = { firing: 'a', node_id: 'a', kind: 'value', name: 'x', message: null, schema: null, until: null }
  await context.store.write((tx) => {
    for (const key of keys) {
      const waiting = JSON.stringify([waits])
      putJob(tx, jobRow(key, { status: 'paused', last_sequence: 1, waiting, options: '{"event_detail":"full"}' }))
      putEvents(tx, key, 1)
    }
  })
  return keys
}

const idOf = (key: number) => `job_${key}`

/** Publishes `each` outputs of `size` characters of every job. Resolves when all are stored, in any number of commits. */
async function tell(
  {
    context: {
      runs: { events },
    },
  }: GatedServer,
  keys: readonly number[],
  each: number,
  size: number,
) {
  const value = 'x'.repeat(size)
  const of = {
    node_id: 'out',
    node_name: 'Out',
    output_name: 'out',
    output_type: 'str',
    disposition: 'append',
  } as const
  const commits = keys.map((key) => {
    const feed = events.open(key, 1)
    const frame = { type: 'output_update', job_id: idOf(key), workflow_id: 'wf', value, ...of } as const
    for (let at = 0; at < each; at++) feed.append({ type: 'output_update', output_name: 'out', value }, frame, AT)
    return new Promise<void>((resolve, reject) =>
      events.commit(
        feed,
        () => feed.mark,
        (error) => (error ? reject(error) : resolve()),
      ),
    )
  })
  await Promise.all(commits)
}

/** Unsent bytes of sockets at each send. The sockets are real, and only observed. */
class Buffers implements Disposable {
  readonly before: number[] = []
  readonly #send = WebSocket.prototype.send

  constructor() {
    const [{ before }, send] = [this, this.#send]
    WebSocket.prototype.send = function (this: WebSocket, data: Uint8Array, ...rest: unknown[]) {
      if (data.length > 100_000) before.push(this.bufferedAmount)
      return Reflect.apply(send, this, [data, ...rest])
    } as typeof send
  }

  [Symbol.dispose](): void {
    WebSocket.prototype.send = this.#send
  }
}

/** Makes all answers to subscriptions fail. */
class BrokenAnswers implements Disposable {
  readonly #send = WebSocket.prototype.send

  constructor() {
    const send = this.#send
    WebSocket.prototype.send = function (this: WebSocket, data: Uint8Array, ...rest: unknown[]) {
      if (Buffer.from(data).includes('replay_to_sequence')) throw new Error('the answer is broken')
      return Reflect.apply(send, this, [data, ...rest])
    } as typeof send
  }

  [Symbol.dispose](): void {
    WebSocket.prototype.send = this.#send
  }
}

const isOutput = ({ type, event }: Frame) =>
  type === 'output_update' || (type === 'job_event' && (event as Frame).type === 'output_update')

const answers = (client: Client) => client.frames.filter(({ type }) => type === 'rpc_response')

async function subscribeAll(client: Client, keys: readonly number[], after_sequence: number): Promise<void> {
  const known = answers(client).length
  for (const key of keys) client.command('subscribe_job', { job_id: idOf(key), after_sequence }, `s-${key}`)
  await until('all answers', () => answers(client).length === known + keys.length)
}

async function followAll(client: Client, keys: readonly number[]): Promise<void> {
  for (const key of keys) client.command('reconnect_job', { job_id: idOf(key) })
  for (const key of keys) await client.next({ type: 'job_update', status: 'suspended', job_id: idOf(key) })
}

describe('a socket that reads slowly', () => {
  for (const [how, follow] of [
    ['subscribes to', (client: Client, keys: readonly number[]) => subscribeAll(client, keys, 1)],
    ['comes back to', followAll],
  ] as const) {
    test(`has limited unsent bytes, even if all jobs that it ${how} send at once, and each job gets its turn`, {
      timeout: 60_000,
    }, async () => {
      await using own = await startPreview()
      const all = await suspended(own, 41)
      const [talker, ...keys] = all as [number, ...number[]]
      await using client = await connect(own)
      await follow(client, all)
      using buffers = new Buffers()
      client.ws.pause()
      await until('all that listen', () => own.context.runs.events.followers === all.length)
      // The system buffers some of the frames: the number that reaches the mark is unknown.
      await tell(own, [talker], 60, 500_000)
      await until('the mark', () => Math.max(0, ...buffers.before) > HIGH_WATER_BYTES - 1_000_000)
      // Until the system's buffers are full: the first job has more events, and sends no frame for a while.
      for (let sent = -1; sent !== buffers.before.length; ) {
        sent = buffers.before.length
        await pause(500)
      }
      assert.ok(buffers.before.length < 60, 'the first job has more to tell')
      // All of these wait, in whatever order they are stored.
      await tell(own, keys, 2, 500_000)
      client.ws.resume()
      await until('all events', () => client.frames.filter(isOutput).length === 60 + 2 * keys.length)
      const most = Math.max(...buffers.before)
      assert.ok(most <= HIGH_WATER_BYTES, `${most} bytes waited`)
      const told = client.frames
        .filter((frame) => isOutput(frame) && frame.job_id !== idOf(talker))
        .map(({ job_id }) => job_id)
      assert.equal(new Set(told.slice(0, keys.length)).size, keys.length, 'the first of each before the second of any')
    })
  }
})

describe('subscriptions', () => {
  test('that are requested all at once are accepted up to the limit', { timeout: 60_000 }, async () => {
    await using own = await startPreview()
    const keys = await suspended(own, MAX_SUBSCRIPTIONS + 40)
    await using client = await connect(own)
    await subscribeAll(client, keys, 1)
    const refused = answers(client).filter(({ error }) => error !== undefined)
    assert.deepEqual(
      refused.map(({ error }) => (error as { code: string }).code),
      new Array(40).fill('RATE_LIMITED'),
    )
    assert.equal(own.context.runs.events.followers, MAX_SUBSCRIPTIONS)
  })

  test('whose answer could not be sent release their place', { timeout: 60_000 }, async () => {
    await using own = await startPreview()
    const keys = await suspended(own, MAX_SUBSCRIPTIONS + 1)
    await using client = await connect(own)
    {
      using _ = new BrokenAnswers()
      await subscribeAll(client, keys.slice(1), 1)
      assert.ok(answers(client).every(({ error }) => (error as { code: string }).code === 'INTERNAL_ERROR'))
    }
    assert.equal(own.context.runs.events.followers, 0)
    const { error } = await client.ask('subscribe_job', { job_id: idOf(keys[0]!) })
    assert.equal(error, undefined)
  })
})

describe('all sockets together', () => {
  test('can follow a limited number of jobs, in any way, until one of them closes', async () => {
    await using own = await startPreview({ max_followed_jobs: 8 })
    const keys = await suspended(own, 8)
    const [first, second, third, fourth] = keys as [number, number, number, number]
    await using client = await connect(own)
    await using other = await connect(own)
    await subscribeAll(client, [first, second, third], 1)
    await followAll(other, [first, second, third])
    const { error } = await client.ask('subscribe_job', { job_id: idOf(fourth) })
    assert.equal((error as Frame).code, 'RATE_LIMITED')
    other.command('reconnect_job', { job_id: idOf(fourth) })
    const refused = await other.next({ error: 'unavailable', job_id: idOf(fourth) })
    assert.equal(refused.code, 'RATE_LIMITED')
    other.command('run_job', { job_id: 'another', graph: QUICK })
    await other.next({ type: 'job_update', status: 'failed', job_id: 'another' })
    // A job that is followed already needs no further place, and a refusal is not the end of a job.
    await followAll(other, [third])
    other.command('run_job', { job_id: idOf(first), graph: QUICK })
    await other.next({ error: 'unavailable', job_id: idOf(first) })
    client.close()
    await until('those of the other one alone', () => own.context.runs.events.followers === 3)
    await followAll(other, [fourth])
  })

  test('stop following jobs when they close', async () => {
    await using own = await startPreview({ max_followed_jobs: 8 })
    const keys = await suspended(own, 5)
    for (let round = 0; round < 3; round++) {
      await using client = await connect(own)
      await followAll(client, keys)
      client.close()
      await until('nobody to follow', () => own.context.runs.events.followers === 0)
    }
  })
})
