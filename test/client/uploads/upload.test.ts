// Uploads against a server that refuses them: what can be read again is sent again, what is gone is not, and no name breaks out of its quotes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apiError, caught, fastClient, json, type Script, startScripted } from '../kit.ts'

const UPLOAD = '/api/sdk/v1/assets/temporary'
const stored = {
  version: 1,
  uri: '/api/storage/temp/1/x',
  name: 'x',
  content_type: 'text/plain',
  size: 1,
  expires_at: '',
}

function uploads(answer: (response: Parameters<NonNullable<Script['http']>>[1], count: number) => unknown): Script {
  return {
    http({ path }, response, count) {
      if (path !== UPLOAD) return undefined
      answer(response, count)
      return true
    },
  }
}

async function* stream() {
  yield new Uint8Array([65])
}

describe('an upload', () => {
  test('whose answer breaks off half-way is NETWORK_ERROR, and a refusal all the same', async () => {
    for (const [status, code] of [
      [201, 'NETWORK_ERROR'],
      [413, 'REQUEST_TOO_LARGE'],
    ] as const) {
      await using server = await startScripted(
        uploads((response) => {
          response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': '100' })
          response.write('{"uri":', () => setImmediate(() => response.destroy()))
        }),
      )
      await using client = fastClient(server)
      const error = await caught(client.upload(new Blob(['A'])))
      assert.deepEqual([error.code, error.retryable], [code, code === 'NETWORK_ERROR'])
      assert.equal(server.calls.length, 1)
    }
  })

  test('that a limit refuses is sent again where the bytes are still there', async () => {
    await using server = await startScripted(
      uploads((response, count) =>
        count === 1 ? apiError(429, 'rate_limited')(response) : json(response, 201, stored),
      ),
    )
    await using client = fastClient(server)
    assert.deepEqual(await client.upload(new Blob(['A'])), stored)
    assert.equal(server.calls.length, 2)
    const bodies = server.calls.map(({ body }) => body.replaceAll(/svc-[0-9a-f-]+/g, 'boundary'))
    assert.equal(bodies[0], bodies[1])
  })

  test('of a stream is sent once', async () => {
    await using server = await startScripted(uploads(apiError(429, 'rate_limited')))
    await using client = fastClient(server)
    assert.equal((await caught(client.upload(stream()))).code, 'RATE_LIMITED')
    assert.equal(server.calls.length, 1)
  })

  test('that may have arrived is not sent again', async () => {
    for (const answer of [
      apiError(503, 'service_unavailable'),
      (response: { destroy(): unknown }) => response.destroy(),
    ]) {
      await using server = await startScripted(uploads(answer))
      await using client = fastClient(server)
      assert.ok((await caught(client.upload(new Blob(['A'])))).retryable)
      assert.equal(server.calls.length, 1)
    }
  })

  test('that is refused its credential asks for another one, once', async () => {
    const seen: unknown[] = []
    await using server = await startScripted({
      http({ headers }, response) {
        seen.push(headers.authorization)
        if (headers.authorization === 'Bearer token-2') json(response, 201, stored)
        else json(response, 401, { error: 'Unauthorized' })
      },
    })
    let asked = 0
    await using client = fastClient(server, { token: () => `token-${++asked}` })
    assert.deepEqual(await client.upload(new Blob(['A'])), stored)
    assert.deepEqual(seen, ['Bearer token-1', 'Bearer token-2'])
    await using stubborn = fastClient(server, { token: () => `wrong-${++asked}` })
    assert.equal((await caught(stubborn.upload(new Blob(['A'])))).code, 'AUTHENTICATION_REQUIRED')
    assert.equal(seen.length, 4)
  })

  test('keeps names and types in their places', async () => {
    await using server = await startScripted(uploads((response) => json(response, 201, stored)))
    await using client = fastClient(server)
    await client.upload(new Blob(['A']), { name: 'a"; x="b\r\nEvil: 1', content_type: 'text/plain\r\nEvil: 2' })
    const [head, ...rest] = server.calls[0]!.body.split('\r\n\r\n')
    const lines = head!.split('\r\n')
    assert.equal(lines[1], 'Content-Disposition: form-data; name="file"; filename="a%22; x=%22b%0D%0AEvil: 1"')
    assert.deepEqual([lines.length, rest.length], [3, 1])
  })

  test('that the caller’s own stream or callback breaks off is its own error', async () => {
    const own = new RangeError('mine')
    await using server = await startScripted(uploads((response) => json(response, 201, stored)))
    await using client = fastClient(server)
    async function* broken() {
      yield new Uint8Array([65])
      throw own
    }
    const stream = new ReadableStream({ pull: (controller) => controller.error(own) })
    const onProgress = () => {
      throw own
    }
    await assert.rejects(client.upload(broken()), own)
    await assert.rejects(client.upload(stream), own)
    await assert.rejects(client.upload(new Blob(['A']), { onProgress }), own)
    await assert.rejects(client.upload(broken(), { onProgress }), own)
  })

  test('takes bytes, and nothing else', async () => {
    await using server = await startScripted(uploads((response) => json(response, 201, stored)))
    await using client = fastClient(server)
    async function* words() {
      yield 'text'
    }
    for (const source of ['text', 7, null, { a: 1 }, words()])
      assert.equal((await caught(client.upload(source as never))).code, 'INVALID_ARGUMENT')
    assert.deepEqual(await client.upload(new Blob(['A']).stream()), stored)
  })

  test('ends with the client', async () => {
    await using server = await startScripted(uploads(() => {}))
    const client = fastClient(server)
    const sent = client.upload(new Blob(['A']))
    setImmediate(() => client.close())
    assert.equal((await caught(sent)).code, 'CLIENT_CLOSED')
  })
})
