// Requests over HTTP: what is sent again and what never is, errors of one kind, and the door of servers without the lifecycle's own jobs.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { parseRetryAfterMs, parseServiceError } from '../../src/client/error-response.ts'
import { readServerSentEvents } from '../../src/client/jobs/server-sent-events.ts'
import { ServiceError } from '../../src/client/node.ts'
import {
  apiError,
  type Call,
  caught,
  fastClient,
  historyOf,
  json,
  sequences,
  snapshot,
  startScripted,
  statusEvent,
} from './kit.ts'

const RUN = '/api/workflows/greet/run'
const EVENTS = '/api/jobs/job_1/events'
const SNAPSHOT = '/api/jobs/job_1'
const accepted = { job_id: 'job_1', workflow_id: 'greet', status: 'accepted', outputs: {}, error: null }

/** Half an answer, and the end of the connection. */
function cut(response: ServerResponse, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': '100' })
  response.write('{"job_id":', () => setImmediate(() => response.destroy()))
}

/** Answers by path; the count is that of calls with the same path. */
function routes(table: Record<string, (response: ServerResponse, count: number, call: Call) => unknown>) {
  return (call: Call, response: ServerResponse, count: number) => table[call.path]?.(response, count, call)
}

function events(response: ServerResponse, list: readonly unknown[], end = true): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (const event of list)
    response.write(`id: ${(event as { sequence: number }).sequence}\ndata: ${JSON.stringify(event)}\n\n`)
  if (end) response.end()
}

describe('a request', () => {
  test('that is safe is sent again as long as it may help, and not before Retry-After', async () => {
    const times: number[] = []
    await using server = await startScripted({
      http: routes({
        '/api/jobs': (response, count) => {
          times.push(performance.now())
          if (count === 1) return apiError(429, 'rate_limited', { 'Retry-After': '1' })(response)
          if (count === 2) return apiError(503, 'service_unavailable')(response)
          if (count === 3) return response.destroy()
          return json(response, 200, [])
        },
      }),
    })
    await using client = fastClient(server)
    const { data, response } = await client.http.GET('/api/jobs')
    assert.deepEqual([data, response.status, times.length], [[], 200, 4])
    assert.ok(times[1]! - times[0]! >= 990)
  })

  test('is sent no more often than the settings allow', async () => {
    await using server = await startScripted({ http: routes({ '/api/jobs': apiError(503, 'service_unavailable') }) })
    await using client = fastClient(server, { backoff: { attempts: 3 } })
    assert.equal((await client.http.GET('/api/jobs')).response.status, 503)
    assert.equal(server.calls.length, 3)
  })

  test('is not held back by a Retry-After that is too long', async () => {
    await using server = await startScripted({
      http: routes({ [SNAPSHOT]: apiError(429, 'rate_limited', { 'Retry-After': '3600' }) }),
      jobs: 'disabled',
    })
    await using client = fastClient(server)
    const { code, status, retryable, retry_after_ms } = await caught(client.job('job_1').snapshot())
    assert.deepEqual([code, status, retryable, retry_after_ms], ['RATE_LIMITED', 429, true, 3_600_000])
    assert.equal(server.calls.filter(({ path }) => path === SNAPSHOT).length, 1)
  })

  test('to run is sent again after a limit refused it, and never after it may have arrived', async () => {
    const answers: ((response: ServerResponse) => unknown)[] = [
      (response) => response.destroy(),
      apiError(503, 'service_unavailable'),
      apiError(500, 'internal_error'),
    ]
    for (const answer of answers) {
      await using server = await startScripted({ jobs: 'disabled', http: routes({ [RUN]: answer }) })
      await using client = fastClient(server)
      const error = await caught(client.submit('greet', {}))
      assert.ok(error instanceof ServiceError && error.retryable, String(error))
      assert.equal(server.calls.filter(({ path }) => path === RUN).length, 1)
    }
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [RUN]: (response, count) =>
          count === 1 ? apiError(429, 'queue_full')(response) : json(response, 202, accepted),
      }),
    })
    await using client = fastClient(server)
    assert.equal((await client.submit('greet', { name: 'Ada' })).job_id, 'job_1')
    const bodies = server.calls.filter(({ path }) => path === RUN).map(({ body }) => JSON.parse(body))
    assert.deepEqual(bodies, Array(2).fill({ params: { name: 'Ada' }, background: true }))
  })

  test('whose answer breaks off half-way is sent again where that is safe', async () => {
    for (const jobs of ['available', 'disabled'] as const) {
      await using server = await startScripted({
        jobs,
        http: (_call, response, count) => (count === 1 ? cut(response) : undefined),
        commands: { subscribe_job: (peer, command) => peer.subscribe(command, snapshot('completed', 2), historyOf(2)) },
      })
      await using client = fastClient(server)
      assert.equal((await client.capabilities()).profiles.jobs, jobs)
      assert.equal((await client.http.GET('/api/jobs')).response.status, 404)
      assert.deepEqual(
        server.calls.map(({ path }) => path.split('/').at(-1)),
        ['capabilities', 'capabilities', 'jobs', 'jobs'],
      )
      if (jobs === 'available') {
        assert.equal((await client.submit('greet', {})).job_id, 'job_1')
        continue
      }
      const lost = await caught(client.submit('greet', {}))
      assert.deepEqual([lost.code, lost.retryable, lost.status], ['NETWORK_ERROR', true, null])
      assert.equal(server.calls.filter(({ path }) => path === RUN).length, 1)
    }
  })

  test('whose answers all break off is NETWORK_ERROR, also for those who read the answers themselves', async () => {
    for (const status of [200, 503]) {
      await using server = await startScripted({ http: (_call, response) => cut(response, status) })
      await using client = fastClient(server)
      for (const ask of [() => client.capabilities(), () => client.http.GET('/api/jobs')]) {
        const error = await caught(ask())
        assert.deepEqual([error.code, error.retryable], ['NETWORK_ERROR', true])
      }
      assert.equal(server.calls.length, 8)
    }
  })

  test('that is answered with no JSON object says so', async () => {
    for (const body of [[], null, 'text']) {
      await using server = await startScripted({ http: (_call, response) => json(response, 200, body) })
      await using client = fastClient(server)
      const { code, message } = await caught(client.capabilities())
      assert.deepEqual([code, message], ['INVALID_ANSWER', 'The answer 200 is not a JSON object.'])
    }
  })

  test('goes to a url that is given as an object too', async () => {
    await using server = await startScripted({})
    await using client = fastClient(server, { url: new URL(server.url) })
    assert.equal((await client.capabilities()).profiles.jobs, 'available')
  })

  test('that never left is sent again, whatever it is', async () => {
    const listening = createServer()
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
    await new Promise((resolve) => listening.close(resolve))
    let sent = 0
    const counted = (request: Request) => {
      sent++
      return fetch(request)
    }
    await using client = fastClient({ url }, { fetch: counted })
    const error = await caught(client.http.POST('/api/workflows/{id}/run', { params: { path: { id: 'x' } }, body: {} }))
    assert.deepEqual([error.code, error.retryable, error.status, sent], ['NETWORK_ERROR', true, null, 4])
  })

  test('that is refused a credential asks for another one, once', async () => {
    let asked = 0
    await using server = await startScripted({
      http: ({ headers }, response) =>
        headers.authorization === 'Bearer token-2'
          ? json(response, 200, [])
          : json(response, 401, { error: 'Unauthorized' }),
    })
    await using client = fastClient(server, { token: async () => `token-${++asked}` })
    assert.deepEqual((await client.http.GET('/api/jobs')).data, [])
    assert.deepEqual((await client.http.GET('/api/jobs')).data, [])
    assert.deepEqual([asked, server.calls.length], [2, 3])

    await using stubborn = fastClient(server, { token: () => `wrong-${++asked}` })
    const error = await caught(stubborn.capabilities())
    assert.deepEqual([error.code, error.status, error.retryable], ['AUTHENTICATION_REQUIRED', 401, false])
    assert.equal(server.calls.length, 5)
  })

  test('is given up by its signal', async () => {
    await using server = await startScripted({ http: () => true })
    await using client = fastClient(server)
    const reason = new Error('no longer wanted')
    for (const ask of [
      (signal: AbortSignal) => client.capabilities({ signal }),
      (signal: AbortSignal) => client.submit('greet', {}, { signal }),
      (signal: AbortSignal) => client.http.GET('/api/jobs', { signal }),
    ]) {
      const controller = new AbortController()
      const asked = ask(controller.signal)
      controller.abort(reason)
      await assert.rejects(asked, reason)
    }
    await assert.rejects(client.capabilities({ signal: AbortSignal.abort(reason) }), reason)
  })

  test('is given up by its signal and its time also where the token does not come', async () => {
    await using server = await startScripted({})
    const token = () => new Promise<string>(() => {})
    await using client = fastClient(server, { token, times: { request_ms: 30 } })
    const aborted = () => AbortSignal.timeout(20)
    await assert.rejects(client.http.GET('/api/jobs', { signal: aborted() }), { name: 'TimeoutError' })
    await assert.rejects(client.upload(new Uint8Array(1), { signal: aborted() }), { name: 'TimeoutError' })
    assert.equal((await caught(client.capabilities())).code, 'TIMEOUT')
  })

  test('never goes to a url with a password, which no message repeats', () => {
    for (const url of ['http://user:geheim@127.0.0.1:1', 'ftp://user:geheim@127.0.0.1:1'])
      assert.throws(
        () => fastClient({ url }),
        (error) => error instanceof TypeError && !error.message.includes('geheim'),
      )
  })

  test('has its time', async () => {
    await using server = await startScripted({ http: () => true })
    await using client = fastClient(server, { times: { request_ms: 30 } })
    const error = await caught(client.capabilities())
    assert.deepEqual([error.code, error.retryable], ['TIMEOUT', true])
  })
})

describe('an error', () => {
  const headers = new Headers({ 'X-Request-Id': 'req-7', 'Retry-After': '2' })

  test('is read from every body that the contract has', () => {
    const problems = [{ path: '/body/params/x', message: 'It is missing.' }]
    const nested = { message: 'No.', type: 'invalid_parameters', code: 422, problems }
    const flat = { error: nested, code: 'PREFLIGHT_FAILED', message: 'Not runnable.', detail: 'x', retryable: true }
    const facts = ({ code, message, retryable, problems, request_id, retry_after_ms }: ServiceError) => [
      code,
      message,
      retryable,
      problems.length,
      request_id,
      retry_after_ms,
    ]
    const read = (status: number, body: unknown) => facts(parseServiceError(status, body, headers))
    assert.deepEqual(read(422, flat), ['PREFLIGHT_FAILED', 'Not runnable.', true, 1, 'req-7', 2_000])
    assert.deepEqual(read(422, { error: nested }), ['INVALID_PARAMETERS', 'No.', false, 1, 'req-7', 2_000])
    assert.deepEqual(read(401, { error: 'Unauthorized' }).slice(0, 3), [
      'AUTHENTICATION_REQUIRED',
      'Unauthorized',
      false,
    ])
    assert.deepEqual(read(503, 'a proxy’s page').slice(0, 3), ['SERVICE_UNAVAILABLE', 'The server answered 503.', true])
    assert.equal(read(418, null)[0], 'HTTP_418')
  })

  test('knows both forms of Retry-After', () => {
    const now = Date.parse('2026-01-15T09:30:00Z')
    assert.equal(parseRetryAfterMs('7', now), 7_000)
    assert.equal(parseRetryAfterMs('Thu, 15 Jan 2026 09:30:05 GMT', now), 5_000)
    assert.equal(parseRetryAfterMs('Thu, 15 Jan 2026 09:29:00 GMT', now), 0)
    for (const value of [null, '', 'soon']) assert.equal(parseRetryAfterMs(value, now), null)
  })
})

describe('a stream of events', () => {
  test('is read however it is cut and whatever ends its lines', async () => {
    const text = ': hello\r\nretry: 30\r\n\r\nid: 1\r\nevent: x\ndata: {"a":\rdata:  "é"}\r\n\r\nid\ndata\n\ndata: lost'
    const bytes = new TextEncoder().encode(text)
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
          controller.close()
        },
      })
      const retries: number[] = []
      const found: unknown[] = []
      for await (const event of readServerSentEvents(body, 1_000, (ms) => retries.push(ms))) found.push(event)
      assert.deepEqual(
        [found, retries],
        [
          [
            { id: '1', data: '{"a":\n "é"}' },
            { id: '', data: '' },
          ],
          [30],
        ],
      )
    }
  })
})

describe('a job of a server without the lifecycle’s own', () => {
  test('is a run in the background, followed from where a stream was cut', async () => {
    const seen: unknown[] = []
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [RUN]: (response) => json(response, 202, accepted),
        [EVENTS]: (response, count, { headers }) => {
          const after = Number(headers['last-event-id'])
          seen.push([headers.accept, after])
          if (count === 1) return response.destroy()
          if (count === 2) return events(response, historyOf(5).slice(0, 2))
          return events(response, historyOf(5).slice(after - 1), false)
        },
      }),
    })
    await using client = fastClient(server)
    const job = await client.submit('greet', {})
    assert.deepEqual(await sequences(job), [1, 2, 3, 4, 5])
    assert.deepEqual((await job.result).outputs, { greeting: 'Hello, Ada!' })
    const accept = 'text/event-stream'
    // A lost request is one that may be sent again; so may a stream that ended.
    assert.deepEqual(seen, [
      [accept, 0],
      [accept, 0],
      [accept, 2],
    ])
    assert.equal(server.peers.length, 0)
  })

  test('is read from its snapshot where its events are past their retention', async () => {
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [EVENTS]: (response, _count, { headers }) =>
          headers['last-event-id'] === '4'
            ? events(response, historyOf(6).slice(4), false)
            : apiError(410, 'replay_expired')(response),
        [SNAPSHOT]: (response) => json(response, 200, snapshot('running', 4)),
      }),
    })
    await using client = fastClient(server)
    const job = client.job('job_1')
    assert.deepEqual([await sequences(job), job.missed], [[5, 6], [{ from: 1, to: 4 }]])
  })

  test('is read from its snapshot where nothing follows', async () => {
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [EVENTS]: (response) => response.writeHead(204).end(),
        [SNAPSHOT]: (response) => json(response, 200, snapshot('cancelled', 9)),
      }),
    })
    await using client = fastClient(server)
    const job = client.job('job_1', { after_sequence: 9 })
    assert.equal((await caught(job.result)).code, 'JOB_CANCELLED')
    assert.deepEqual([await sequences(job), job.missed], [[], []])
  })

  test('asks again for what is missing, and then does without it', async () => {
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [EVENTS]: (response, count) => {
          const rest = historyOf(5)
          if (count === 1) return events(response, [rest[0], rest[2]], false)
          if (count === 2) return events(response, [rest[2], rest[1]])
          return events(response, rest.slice(4), false)
        },
        [SNAPSHOT]: (response) => json(response, 200, snapshot('running', 4)),
      }),
    })
    await using client = fastClient(server)
    const job = client.job('job_1')
    assert.deepEqual(await sequences(job), [1, 2, 3, 5])
    assert.deepEqual(job.missed, [{ from: 4, to: 4 }])
  })

  test('comes back from a stream that has fallen silent', async () => {
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [EVENTS]: (response, count) =>
          count === 1 ? events(response, [statusEvent(1)], false) : events(response, historyOf(2).slice(1), false),
      }),
    })
    await using client = fastClient(server, { times: { silence_ms: 30 } })
    assert.deepEqual(await sequences(client.job('job_1')), [1, 2])
  })

  test('comes back from a stream that never begins, and gives it up in the end', async () => {
    let answers = 1
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({
        [EVENTS]: (response, count) => (count > answers ? events(response, historyOf(2), false) : 'no answer'),
      }),
    })
    await using client = fastClient(server, { times: { silence_ms: 30, give_up_ms: 200 } })
    assert.deepEqual(await sequences(client.job('job_1')), [1, 2])
    answers = Number.POSITIVE_INFINITY
    assert.equal((await caught(client.job('job_1').result)).code, 'NETWORK_ERROR')
  })

  test('that does not exist is an error, for every reader', async () => {
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({ [EVENTS]: apiError(404, 'job_not_found') }),
    })
    await using client = fastClient(server)
    const job = client.job('job_1')
    const errors = await Promise.all([caught(job.result), caught(sequences(job)), caught(job.wait())])
    assert.deepEqual(
      errors.map(({ code, status, retryable }) => [code, status, retryable]),
      Array(3).fill(['JOB_NOT_FOUND', 404, false]),
    )
  })

  test('of a server that never came back is given up in the end', async () => {
    await using server = await startScripted({
      jobs: 'disabled',
      http: routes({ [EVENTS]: apiError(503, 'service_unavailable') }),
    })
    await using client = fastClient(server, { times: { give_up_ms: 50 } })
    assert.equal((await caught(client.job('job_1').result)).code, 'SERVICE_UNAVAILABLE')
  })

  test('has an id of any characters', async () => {
    const id = 'a/b %✓'
    await using server = await startScripted({
      jobs: 'disabled',
      http: (call, response) => {
        if (call.path.startsWith('/api/jobs/')) json(response, 200, snapshot('running', 1))
      },
    })
    await using client = fastClient(server)
    await client.job(id).snapshot()
    assert.equal(server.calls.at(-1)?.path, `/api/jobs/${encodeURIComponent(id)}`)
  })
})
