// The client for servers of models: what it repeats, how long it waits, how it lets go, and that it holds no more than somebody reads.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { UpstreamClient, type UpstreamTimeouts } from '../../../src/net/upstream/client.ts'
import type { UpstreamResponse } from '../../../src/net/upstream/exchange.ts'
import { UpstreamFailure, type UpstreamFault } from '../../../src/net/upstream/failure.ts'
import { readWholeBody } from '../../../src/net/upstream/response-body.ts'
import { countListeners } from '../../helpers/listeners.ts'
import { belowInSome, withMoreTime } from '../../helpers/patience.ts'
import { until } from '../../helpers/server.ts'
import { type Script, startUpstream, type Upstream, type UpstreamOptions } from '../../helpers/upstream.ts'
import { CERTIFICATE, KEY } from '../tls-files.ts'

const BODY = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
const QUICK: Partial<UpstreamTimeouts> = { retry_delay_ms: 1 }

const scripts = (...all: readonly Script[]): UpstreamOptions => ({
  answer: (_, n) => all[Math.min(n, all.length - 1)]!,
})

interface More {
  signal?: AbortSignal
  shouldRetry?: boolean
  method?: 'GET' | 'POST'
}

/** A list, which costs nothing however often it is asked for. */
const LIST = { method: 'GET', path: '/v1/models', body: undefined } as const
const listings = (...all: readonly Script[]): UpstreamOptions => ({
  listing: (_, n) => all[Math.min(n, all.length - 1)]!,
})

function ask(client: UpstreamClient, { origin }: Pick<Upstream, 'origin'>, more: More = {}): Promise<UpstreamResponse> {
  const headers = { 'content-type': 'application/json' }
  const call = { method: 'POST', path: '/v1/chat/completions', origin, headers, body: BODY } as const
  return client.send({ ...call, signal: more.signal ?? new AbortController().signal, ...more })
}

const textOf = async ({ body }: UpstreamResponse) => String(await readWholeBody(body, 1_000_000))

function failsWith(fault: UpstreamFault): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof UpstreamFailure, String(error))
    assert.equal(error.fault, fault)
    return true
  }
}

describe('a request to a server of models', () => {
  test('brings its answer, over a connection that is kept', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient()
    for (let times = 0; times < 3; times++) {
      const reply = await ask(client, upstream)
      assert.equal(reply.status, 200)
      assert.equal(reply.header('x-request-id'), 'req_7d1f')
      assert.match(await textOf(reply), /Hello from upstream/)
    }
    // The library looks for a free one in the turn after that in which an answer ends.
    assert.ok(upstream.connections <= 2)
    assert.equal(upstream.posts.length, 3)
    assert.equal(upstream.posts[0]!.raw.toString(), BODY)
    assert.equal(upstream.posts[0]!.gone_at, null)
  })

  test('sends bytes as they are', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient()
    const whole = Buffer.from(`    ${BODY}    `)
    const body = new Uint8Array(whole.buffer, whole.byteOffset + 4, whole.length - 8)
    const signal = new AbortController().signal
    await client.send({ method: 'POST', path: '/v1/embeddings', origin: upstream.origin, headers: {}, body, signal })
    assert.equal(upstream.posts[0]!.raw.toString(), BODY)
  })

  for (const status of [408, 429, 500, 502, 503, 504, 529]) {
    test(`is repeated twice after ${status} where it costs nothing`, async () => {
      await using upstream = await startUpstream(listings({ status, body: 'no' }, { status, body: 'no' }, {}))
      await using client = new UpstreamClient(QUICK)
      assert.equal((await ask(client, upstream, LIST)).status, 200)
      assert.equal(upstream.requests.length, 3)
    })
  }

  for (const status of [429, 503, 529]) {
    test(`is repeated twice after ${status}`, async () => {
      await using upstream = await startUpstream(scripts({ status, body: 'no' }, { status, body: 'no' }, {}))
      await using client = new UpstreamClient(QUICK)
      assert.equal((await ask(client, upstream)).status, 200)
      assert.equal(upstream.posts.length, 3)
    })
  }

  for (const status of [400, 401, 403, 404, 408, 413, 422, 500, 501, 502, 504, 302]) {
    test(`is not repeated after ${status}, nor sent elsewhere`, async () => {
      await using other = await startUpstream()
      const headers = { location: `${other.base_url}/chat/completions` }
      await using upstream = await startUpstream(scripts({ status, body: 'no', headers }, {}))
      await using client = new UpstreamClient(QUICK)
      assert.equal((await ask(client, upstream)).status, status)
      assert.deepEqual([upstream.posts.length, other.requests.length], [1, 0])
    })
  }

  test('is given up after the third time', async () => {
    await using upstream = await startUpstream(scripts({ status: 503, body: 'no' }))
    await using client = new UpstreamClient(QUICK)
    assert.equal((await ask(client, upstream)).status, 503)
    assert.equal(upstream.posts.length, 3)
  })

  test('is not repeated where the server wants a long pause, and is where it wants a short one', async () => {
    await using upstream = await startUpstream(
      scripts({ status: 429, retry_after: '30', body: 'no' }, { status: 429, retry_after: '0', body: 'no' }, {}),
    )
    await using client = new UpstreamClient(QUICK)
    const limited = await ask(client, upstream)
    assert.deepEqual([limited.status, limited.header('retry-after'), upstream.posts.length], [429, '30', 1])
    limited.body.destroy()
    assert.equal((await ask(client, upstream)).status, 200)
    assert.equal(upstream.posts.length, 3)
  })

  test('is repeated where the connection breaks before anything was answered, if it costs nothing', async () => {
    const cuts = { cuts: 'head' } as const
    await using upstream = await startUpstream({ ...scripts(cuts, {}), ...listings(cuts, cuts, {}) })
    await using client = new UpstreamClient(QUICK)
    assert.match(await textOf(await ask(client, upstream, LIST)), /gpt-4o/)
    assert.equal(upstream.requests.length, 3)
    await using another = new UpstreamClient(QUICK)
    await assert.rejects(ask(another, upstream), failsWith('reset'))
    assert.equal(upstream.posts.length, 1)
  })

  test('is not repeated where a kept connection breaks while it is worked on', async (t) => {
    const now = performance.now.bind(performance)
    const worked = (): Script => {
      t.mock.method(performance, 'now', () => now() + 1_001)
      return { cuts: 'head' }
    }
    await using upstream = await startUpstream({ answer: (_, n) => (n === 0 ? {} : worked()) })
    await using client = new UpstreamClient(QUICK)
    await textOf(await ask(client, upstream))
    await until('the connection to be kept', () => upstream.open === 1)
    await assert.rejects(ask(client, upstream), failsWith('reset'))
    assert.equal(upstream.posts.length, 2)
  })

  test('is not repeated where it breaks later', async () => {
    await using upstream = await startUpstream(scripts({ events: ['{"a":1}', '{"b":2}'], cuts: 1 }, {}))
    await using client = new UpstreamClient(QUICK)
    const reply = await ask(client, upstream)
    const first = await reply.body.next()
    assert.equal(String(Buffer.from(first.value!)), 'data: {"a":1}\n\n')
    await assert.rejects(reply.body.next(), failsWith('reset'))
    await assert.rejects(reply.body.next(), failsWith('reset'))
    assert.equal(upstream.posts.length, 1)
  })

  test('is repeated over a new connection where the kept one was closed', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient({ retry_delay_ms: 60_000 })
    await textOf(await ask(client, upstream))
    upstream.cut()
    assert.match(await textOf(await ask(client, upstream)), /Hello/)
    assert.equal(upstream.connections, 2)
  })

  test('says that nobody listens', async () => {
    const upstream = await startUpstream()
    await upstream[Symbol.asyncDispose]()
    await using client = new UpstreamClient(QUICK)
    await assert.rejects(ask(client, upstream), failsWith('refused'))
    const impatient = new UpstreamClient({ retry_delay_ms: 60_000 })
    await assert.rejects(ask(impatient, upstream, { shouldRetry: false }), failsWith('refused'))
  })

  test('says that a name is not known', async () => {
    await using client = new UpstreamClient(QUICK)
    await assert.rejects(ask(client, { origin: 'http://name.invalid' }), failsWith('unknown_name'))
  })

  test('trusts no certificate that nobody vouches for, and speaks no TLS to what has none', async () => {
    const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (_, response) => response.end()).listen(
      0,
      '127.0.0.1',
    )
    await once(server, 'listening')
    await using plain = await startUpstream()
    await using client = new UpstreamClient(QUICK)
    const { port } = server.address() as AddressInfo
    await assert.rejects(ask(client, { origin: `https://127.0.0.1:${port}` }), failsWith('insecure'))
    await assert.rejects(ask(client, { origin: plain.origin.replace('http:', 'https:') }), failsWith('insecure'))
    server.close()
  })

  for (const [what, bytes, fault] of [
    ['no HTTP', 'I am no server of the web\r\n\r\n', 'broken'],
    ['a head without an end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`, 'too_large'],
    ['a chunk that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 'broken'],
  ] as const) {
    test(`says that the answer is ${what}`, async () => {
      const server = createServer((socket) => {
        socket.on('error', () => {}).once('data', () => socket.write(bytes))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as { port: number }
      await using client = new UpstreamClient(QUICK)
      const asked = ask(client, { origin: `http://127.0.0.1:${port}` })
      await assert.rejects(asked.then(textOf), failsWith(fault))
      server.close()
    })
  }

  for (const [place, time, calls] of [
    ['head', 'head_ms', 1],
    ['body', 'idle_timeout_ms', 1],
    [1, 'idle_timeout_ms', 1],
  ] as const) {
    test(`is given up where the server falls silent: ${place}`, async () => {
      await withMoreTime(40, async (ms) => {
        await using upstream = await startUpstream(scripts({ events: ['{"a":1}', '{"b":2}'], hangs: place }))
        await using client = new UpstreamClient({ ...QUICK, [time]: ms })
        await assert.rejects(ask(client, upstream).then(textOf), failsWith('silent'))
        // It has come before the time is over.
        await upstream.posts[0]!.gone
        assert.equal(upstream.posts.length, calls)
      })
    })
  }
})

describe('a request that is aborted', () => {
  for (const place of ['head', 'body', 1] as const) {
    test(`ends at once and breaks the connection: ${place}`, async () => {
      await belowInSome(1_000, async () => {
        await using upstream = await startUpstream(scripts({ events: ['{"a":1}', '{"b":2}'], hangs: place }))
        await using client = new UpstreamClient()
        const stop = new AbortController()
        const listeners = countListeners(stop.signal)
        const asked = ask(client, upstream, { signal: stop.signal })
        if (place === 1) await (await asked).body.next()
        await until('the request', () => upstream.posts.length > 0)
        const read = place === 'head' ? null : (await asked).body.next()
        const reason = new Error('enough')
        const before = performance.now()
        stop.abort(reason)
        if (place === 'head') await assert.rejects(asked, reason)
        else await assert.rejects(read!, reason)
        await upstream.posts[0]!.gone
        assert.equal(listeners(), 0)
        assert.equal(upstream.posts.length, 1)
        return upstream.posts[0]!.gone_at! - before
      })
    })
  }

  test('is not repeated, and does not wait for its pause', async () => {
    await using upstream = await startUpstream(scripts({ status: 503, body: 'no' }))
    await using client = new UpstreamClient({ retry_delay_ms: 60_000 })
    const stop = new AbortController()
    const asked = ask(client, upstream, { signal: stop.signal })
    await until('the request', () => upstream.posts.length > 0)
    const reason = new Error('enough')
    stop.abort(reason)
    await assert.rejects(asked, reason)
    assert.equal(upstream.posts.length, 1)
  })

  test('was never sent where the signal had aborted', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient()
    await assert.rejects(ask(client, upstream, { signal: AbortSignal.abort(new Error('before')) }), /before/)
    assert.equal(upstream.requests.length, 0)
  })

  test('leaves no listener behind where it ends by itself', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient()
    const stop = new AbortController()
    const listeners = countListeners(stop.signal)
    await textOf(await ask(client, upstream, { signal: stop.signal }))
    const reply = await ask(client, upstream, { signal: stop.signal })
    reply.body.destroy()
    assert.equal(listeners(), 0)
  })
})

describe('the body of an answer', () => {
  test('is read no faster than somebody wants it', async () => {
    await using upstream = await startUpstream(scripts({ events: ['x'.repeat(65_536)], floods: true }))
    await using client = new UpstreamClient()
    const reply = await ask(client, upstream)
    await reply.body.next()
    const [asked] = upstream.posts
    let before = -1
    // The server has written what sockets hold, and waits.
    await until('the flood to stand', async () => {
      const stands = asked!.sent === before
      before = asked!.sent
      await new Promise((resolve) => setTimeout(resolve, 30))
      return stands
    })
    assert.ok(asked!.sent < 32 * 1024 * 1024, `${asked!.sent} bytes were sent`)
    let read = 0
    while (read < 2 * before) read += (await reply.body.next()).value!.length
    assert.ok(asked!.sent > before)
    reply.body.destroy()
    await asked!.gone
  })

  test('is too large where it has more than was allowed', async () => {
    await using upstream = await startUpstream(scripts({ body: 'x'.repeat(1_000) }, { floods: 'line', body: 'x' }))
    await using client = new UpstreamClient()
    assert.equal((await readWholeBody((await ask(client, upstream)).body, 1_000)).length, 1_000)
    await assert.rejects(readWholeBody((await ask(client, upstream)).body, 999), failsWith('too_large'))
    await upstream.posts[1]!.gone
  })

  test('is decompressed', async () => {
    await using upstream = await startUpstream(scripts({ gzip: true, split: 'every' }))
    await using client = new UpstreamClient()
    const reply = await ask(client, upstream)
    assert.equal(reply.header('content-encoding'), 'gzip')
    assert.match(await textOf(reply), /"content": "Hello from upstream"/)
  })

  for (const [encoding, body] of [
    ['gzip', 'not compressed at all'],
    ['zstd', 'whatever'],
  ] as const) {
    test(`is broken where it is not what it says: ${encoding}`, async () => {
      await using upstream = await startUpstream(scripts({ body, headers: { 'content-encoding': encoding } }))
      await using client = new UpstreamClient(QUICK)
      await assert.rejects(ask(client, upstream).then(textOf), failsWith('broken'))
    })
  }

  test('that is let go of near its end leaves its connection in use', async () => {
    await using upstream = await startUpstream(scripts({ events: ['{"a":1}', '[DONE]'] }))
    await using client = new UpstreamClient()
    const reply = await ask(client, upstream)
    await reply.body.next()
    reply.body.release()
    assert.equal((await reply.body.next()).done, true)
    await until('the end', () => upstream.open === 1)
    await textOf(await ask(client, upstream))
    assert.equal(upstream.posts[0]!.gone_at, null)
  })

  test('that is let go of and does not end loses its connection', async () => {
    await using upstream = await startUpstream(scripts({ events: ['{"a":1}'], hangs: 1 }))
    await using client = new UpstreamClient()
    const reply = await ask(client, upstream)
    await reply.body.next()
    reply.body.release()
    await upstream.posts[0]!.gone
  })

  for (const [name, pieces] of [
    ['comes in small pieces', ['x'.repeat(1_000)]],
    ['comes at once', ['x'.repeat(60_000)]],
  ] as const)
    test(`that is let go of and goes on for ever loses its connection before it has read much: what ${name}`, async () => {
      await using upstream = await startUpstream(scripts({ events: pieces, floods: true }))
      await using client = new UpstreamClient()
      const reply = await ask(client, upstream)
      await reply.body.next()
      reply.body.release()
      const [asked] = upstream.posts
      await asked!.gone
      assert.ok(asked!.sent < 8_000_000, `${asked!.sent} bytes`)
    })

  test('breaks its connection where a loop over it is left', async () => {
    await using upstream = await startUpstream(scripts({ events: ['{"a":1}'], hangs: 1 }))
    await using client = new UpstreamClient()
    for await (const _ of (await ask(client, upstream)).body) break
    await upstream.posts[0]!.gone
  })

  test('goes on while others hang', async () => {
    await using upstream = await startUpstream({ answer: (_, n) => (n < 50 ? { hangs: 'body' } : {}) })
    await using client = new UpstreamClient()
    const hanging = await Promise.all(Array.from({ length: 50 }, () => ask(client, upstream)))
    assert.match(await textOf(await ask(client, upstream)), /Hello/)
    for (const { body } of hanging) body.destroy()
  })
})

test('a client that is disposed of ends what is under way, and asks nobody any more', async () => {
  await using upstream = await startUpstream(scripts({ hangs: 'body' }))
  const client = new UpstreamClient()
  const reply = await ask(client, upstream)
  const read = reply.body.next()
  await client[Symbol.asyncDispose]()
  await assert.rejects(read, failsWith('closed'))
  await assert.rejects(ask(client, upstream), failsWith('closed'))
  await upstream.posts[0]!.gone
})
