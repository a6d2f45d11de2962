// The history of a job over HTTP, as a stream and as an array: its beginning, content, end, and slow readers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobEvent } from '../../generated/types.ts'
import { streamJobEventArray, streamJobEvents } from '../../src/http/handlers/job-event-stream.ts'
import { memoryLog } from '../db/kit.ts'
import { graph, sink, source } from '../engine/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { collect } from '../helpers/loop.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { jobRow } from '../helpers/store.ts'
import { gated, plain, startGated, submit, valid } from '../jobs/kit.ts'
import { EventClient } from './events-kit.ts'
import { put, putEnd, putEvents } from './jobs-kit.ts'

const JSON_ONLY = { Accept: 'application/json' }

async function array(server: TestServer, path: string): Promise<JobEvent[]> {
  const { body, status, text } = await call<JobEvent[]>(server, 'GET', path, { headers: JSON_ONLY })
  assert.equal(status, 200, text)
  return body
}

const sequences = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

/**
 * A job that has ended, with this many events of `size` characters, the first `gone` of which are past their retention. With `told` the last of them
 * is its end.
 */
async function ended(
  server: TestServer,
  key: number,
  events: number,
  gone = 0,
  size = 0,
  told = false,
): Promise<string> {
  const error = JSON.stringify({ message: 'It failed.', type: 'node_error', node_id: null, retryable: false })
  const at = '2026-01-01T00:00:00.000Z'
  const of = { status: 'failed', error, started_at: at, finished_at: at, last_sequence: events } as const
  await put(server, jobRow(key, of))
  await server.context.store.write((tx) => {
    putEvents(tx, key, told ? events - 1 : events, gone, size)
    if (told) putEnd(tx, key, events)
  })
  return `/api/jobs/job_${key}/events`
}

describe('followJobEvents as a stream', () => {
  test('followJobEvents: sends a running job from its first event to its end', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    await job.accepted()
    await using client = await EventClient.open(server, `/api/jobs/${job.row.id}/events`)
    const { statusCode, headers } = client.response
    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], 'text/event-stream')
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['x-accel-buffering'], 'no')
    const held = await until('the gate to be reached', () => server.gate.waiting[0])
    await until('the first events', () => client.events.length >= 2)
    held.open()
    const events = await client.end()
    for (const event of events) valid('JobEvent', event)
    assert.deepEqual(client.sequences, sequences(1, events.length))
    for (const { id, event, data } of client.events) assert.deepEqual([id, event], [String(data.sequence), data.type])
    assert.equal(events.at(-1)?.type, 'job_terminal')
    assert.equal(client.retry, 2_000)
    assert.deepEqual(await array(server, `/api/jobs/${job.row.id}/events`), events)
  })

  test('followJobEvents: begins after Last-Event-ID, which precedes after_sequence; 204 after the last event', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: plain })
    await job.settled()
    const path = `/api/jobs/${job.row.id}/events`
    const last = job.row.last_sequence
    const from = async (search: string, headers = {}) => {
      await using client = await EventClient.open(server, `${path}${search}`, headers)
      await client.end()
      return client.sequences
    }
    assert.deepEqual(await from(''), sequences(1, last))
    assert.deepEqual(await from('?after_sequence=2'), sequences(3, last))
    assert.deepEqual(await from('?after_sequence=1', { 'Last-Event-ID': '3' }), sequences(4, last))
    for (const options of [{ headers: { 'Last-Event-ID': String(last) } }, {}]) {
      const answer = await call(server, 'GET', `${path}?after_sequence=${last}`, options)
      assert.equal(answer.status, 204)
      assert.equal(answer.headers.vary, 'Origin, Accept')
    }
  })

  test('SEQUENCE_AHEAD, REPLAY_EXPIRED: a sequence beyond the end, and one before the remaining events', async () => {
    await using server = await startServer()
    const path = await ended(server, 1, 10, 4)
    const at = (after: number, headers = {}) => [`${path}?after_sequence=${after}`, { headers }] as const
    for (const headers of [{}, JSON_ONLY]) {
      await refused(server, 'GET', ...at(11, headers), [422, 'sequence_ahead'])
      await refused(server, 'GET', ...at(3, headers), [410, 'replay_expired'])
      await refused(server, 'GET', ...at(0, { ...headers, 'Last-Event-ID': '12' }), [422, 'sequence_ahead'])
    }
    assert.deepEqual(
      (await array(server, at(4)[0])).map(({ sequence }) => sequence),
      sequences(5, 10),
    )
    const emptied = await ended(server, 2, 3, 3)
    await refused(server, 'GET', emptied, {}, [410, 'replay_expired'])
    assert.equal((await call(server, 'GET', `${emptied}?after_sequence=3`)).status, 204)
  })

  test('followJobEvents: refuses an invalid sequence', async () => {
    await using server = await startServer()
    const path = await ended(server, 1, 1)
    for (const value of ['-1', '1.5', 'x', '9007199254740992', '0x1', '+1', '1e0', '1.0', '0b1']) {
      const options = { headers: { 'Last-Event-ID': value } }
      const query = `after_sequence=${encodeURIComponent(value)}`
      const found = await refused(server, 'GET', `${path}?${query}`, options, [400, 'invalid_request'])
      assert.deepEqual(found, ['/headers/last-event-id', '/query/after_sequence'])
    }
  })

  test('followJobEvents: waits for a slow reader, which misses nothing', async () => {
    await using server = await startServer()
    const count = 8_000
    const path = await ended(server, 1, count, 0, 4_000)
    const { store } = server.context
    const before = store.statements
    await using client = await EventClient.open(server, path)
    client.pause()
    const looks: number[] = []
    await until('the stream to be held back', () => {
      looks.push(store.statements)
      return looks.length > 20 && looks.at(-20) === looks.at(-1)
    })
    const held = store.statements - before
    client.resume()
    await client.end(30_000)
    const all = store.statements - before
    assert.ok(held < all / 2, `${held} of ${all} reads before the reader went on`)
    assert.deepEqual(client.sequences, sequences(1, count))
  })

  test('followJobEvents: stops following when the client disconnects', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    await job.accepted()
    const client = await EventClient.open(server, `/api/jobs/${job.row.id}/events`)
    await until('the follower', () => server.context.runs.events.followers === 1)
    client.leave()
    await until('no follower', () => server.context.runs.events.followers === 0)
  })

  test('followJobEvents: HEAD answers only with the headers, and follows nothing', async () => {
    await using server = await startGated()
    // Its history so far is longer than the first part of an array, which is made before the answer begins.
    const large = graph([source('large', 'x'.repeat(200_000)), sink('told')], ['large.output->told.value'])
    const job = submit(server, {
      graph: { nodes: [...gated.nodes, ...large.nodes], edges: [...gated.edges, ...large.edges] },
    })
    await until('the output', () => job.row.last_sequence > 4)
    await job.flushed()
    for (const headers of [{}, JSON_ONLY]) {
      const answer = await call(server, 'HEAD', `/api/jobs/${job.row.id}/events`, { headers })
      assert.equal(answer.status, 200)
    }
    await until('the followers to leave', () => server.context.runs.events.followers === 0)
  })

  test('followJobEvents: a server that stops ends its streams', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    await job.accepted()
    await using client = await EventClient.open(server, `/api/jobs/${job.row.id}/events`)
    await until('the follower', () => server.context.runs.events.followers === 1)
    await server.close(0)
    await until('the end', () => client.ended)
    assert.equal(client.broken, false)
    assert.deepEqual(client.sequences, sequences(1, client.events.length))
  })
})

describe('a job that is removed while it is read', () => {
  for (const [form, headers] of [
    ['stream', {}],
    ['array', JSON_ONLY],
  ] as const) {
    test(`followJobEvents: its ${form} ends before the removed events, and no fault is logged`, async () => {
      const { log, lines } = memoryLog()
      await using server = await startServer({ log })
      const path = await ended(server, 1, 200, 0, 100_000, true)
      await using client = await EventClient.open(server, path, headers)
      client.pause()
      assert.equal((await call(server, 'DELETE', '/api/jobs/job_1')).status, 204)
      client.resume()
      await until('the end', () => client.ended || client.broken)
      assert.equal(client.broken, form === 'array')
      assert.ok(client.events.every(({ data }) => data.type !== 'job_terminal'))
      assert.deepEqual(
        lines.filter(({ level }) => level > 30),
        [],
      )
    })
  }
})

describe('a stream of events', () => {
  test('is kept alive by comments while there are no events', async () => {
    const stop = new AbortController()
    const silent = (async function* () {
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
    })()
    const parts: string[] = []
    for await (const part of streamJobEvents(jobRow(1), silent, 0, { keep_alive_ms: 2 })) {
      parts.push(part)
      if (parts.length === 4) stop.abort()
    }
    assert.equal(parts[0], 'retry: 2000\n\n')
    for (const part of parts.slice(1)) assert.equal(part, ': keep-alive\n\n')
  })

  test('ends at missing events', async () => {
    const event = { type: 'job_status', status: 'running', queue_position: null, message: null } as const
    const item = (sequence: number) => ({ sequence, event, frame: null, timestamp: '2026-01-01T00:00:00.000Z' })
    const items = (async function* () {
      yield* [item(3), item(4), item(9)]
    })()
    const parts = await collect(streamJobEvents(jobRow(1), items, 2))
    assert.deepEqual(parts.join('').match(/^id: \d+$/gm), ['id: 3', 'id: 4'])
  })

  test('sends a large event in parts, without cut characters, and shares the parts among readers', async () => {
    const value = `a${'\u{1f40c}'.repeat(200_000)}`
    const event = { type: 'output_update', output_name: 'out', value } as const
    const item = { sequence: 1, event, frame: null, timestamp: '2026-01-01T00:00:00.000Z' }
    const items = async function* () {
      yield item
    }
    const streamed = await collect(streamJobEvents(jobRow(1), items(), 0))
    const listed = await collect(streamJobEventArray(jobRow(1), items(), { after: 0, last: 1 }))
    for (const parts of [streamed, listed]) {
      assert.ok(parts.length > 6)
      for (const part of parts) {
        assert.ok(part.length < 140_000)
        assert.ok(part.isWellFormed())
      }
    }
    const [streamedEvent] = streamed.join('').match(/^data: .*$/m) ?? []
    const [found] = JSON.parse(listed.join('')) as JobEvent[]
    assert.deepEqual(JSON.parse(streamedEvent!.slice(6)), found)
    assert.equal(found?.type === 'output_update' && 'value' in found && found.value, value)
  })

  test('breaks off if the history does', async () => {
    const items = (async function* () {
      yield { sequence: null, event: null, frame: null, timestamp: '' }
      throw new Error('the disk is gone')
    })()
    await assert.rejects(collect(streamJobEvents(jobRow(1), items, 0)), /the disk is gone/)
  })
})

describe('followJobEvents as an array', () => {
  test('followJobEvents: has the present events and none after the last, also of a running job', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    await until('the gate to be reached', () => server.gate.waiting[0])
    await job.flushed()
    const path = `/api/jobs/${job.row.id}/events`
    const events = await array(server, path)
    for (const event of events) valid('JobEvent', event)
    assert.ok(events.length >= 2)
    assert.deepEqual(await array(server, `${path}?after_sequence=1`), events.slice(1))
    assert.deepEqual(await array(server, `${path}?after_sequence=${events.length}`), [])
  })

  test('NOT_ACCEPTABLE: uses the type that the client prefers, a stream by default', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: plain })
    await job.settled()
    const typeFor = async (Accept: string | null) => {
      const headers: Record<string, string> = Accept === null ? {} : { Accept }
      await using client = await EventClient.open(server, `/api/jobs/${job.row.id}/events`, headers)
      client.resume()
      assert.equal(client.response.headers.vary, 'Origin, Accept')
      return String(client.response.headers['content-type']).split(';')[0]
    }
    const [stream, json] = ['text/event-stream', 'application/json']
    for (const [accept, type] of [
      [null, stream],
      ['*/*', stream],
      ['text/*', stream],
      ['application/*', json],
      ['application/json;q=0.4, text/event-stream;q=0.5', stream],
      ['text/event-stream;q=0.4, application/json', json],
      ['text/event-stream;q=0, */*', json],
      ['text/html, application/json;q=0.1', json],
    ] as const) {
      assert.equal(await typeFor(accept), type, String(accept))
    }
    for (const Accept of ['text/html', 'application/xml, image/*', '*/*;q=0']) {
      const options = { headers: { Accept } }
      await refused(server, 'GET', `/api/jobs/${job.row.id}/events`, options, [406, 'not_acceptable'])
    }
  })
})
