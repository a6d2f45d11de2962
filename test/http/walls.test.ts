// Requests that are refused before a handler sees them.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { call, type ErrorBody, refused } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { greeting } from './kit.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

async function exchangeRaw(server: TestServer, text: string): Promise<string> {
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.end(text)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function chunkedHead(path: string): string {
  const headers = [
    'Host: localhost',
    'Connection: close',
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  ]
  return `POST ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`
}

describe('bodies', () => {
  test('INVALID_REQUEST: malformed JSON gives 400 with the path of the body', async () => {
    await using server = await startServer()
    for (const path of ['/api/workflows', '/api/workflows/greeting/run']) {
      for (const raw of ['{', '{"a":}', 'tru', '{"name":"a"} {}', "{'name':1}", '\u0000', '{"a":1,}', 'NaN']) {
        const paths = await refused(server, 'POST', path, { raw, headers: JSON_TYPE }, [400, 'invalid_request'])
        assert.deepEqual(paths, ['/body'], raw)
      }
    }
  })

  test('INVALID_REQUEST: an absent, an empty and a non-object body give 400', async () => {
    await using server = await startServer()
    for (const path of ['/api/workflows', '/api/workflows/greeting/run']) {
      const bodies = [{}, { raw: '', headers: JSON_TYPE }, { body: null }, { body: [] }, { body: 'text' }, { body: 7 }]
      for (const options of bodies) {
        const paths = await refused(server, 'POST', path, options, [400, 'invalid_request'])
        assert.deepEqual(paths, ['/body'], JSON.stringify(options))
      }
      assert.match(await exchangeRaw(server, `${chunkedHead(path)}0\r\n\r\n`), /^HTTP\/1\.1 400 /)
    }
  })

  test('INVALID_REQUEST: a body that is nested too deeply gives 400, for any depth', async () => {
    await using server = await startServer()
    for (const depth of [64, 1_000, 200_000]) {
      const value = `${'['.repeat(depth)}${']'.repeat(depth)}`
      const raw = `{"params":{"name":${value}}}`
      await refused(server, 'POST', '/api/workflows/greeting/run', { raw, headers: JSON_TYPE }, [
        400,
        'invalid_request',
      ])
    }
  })

  test('UNSUPPORTED_MEDIA_TYPE: any type but JSON gives 415', async () => {
    await using server = await startServer()
    const raw = JSON.stringify(greeting())
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/ld+json',
      'json',
      'application/json; charset=latin1',
    ]
    for (const path of ['/api/workflows', '/api/workflows/greeting/run']) {
      for (const type of types) {
        await refused(server, 'POST', path, { raw, headers: { 'Content-Type': type } }, [415, 'unsupported_media_type'])
      }
      await refused(server, 'POST', path, { raw }, [415, 'unsupported_media_type'])
      const odd = { raw, headers: { ...JSON_TYPE, 'Content-Encoding': 'snappy' } }
      await refused(server, 'POST', path, odd, [415, 'unsupported_media_type'])
    }
  })

  test('bytes that are not UTF-8 are not JSON, on any path', async () => {
    await using server = await startServer()
    const [head, tail] = ['{"params": {"name": "a', '"}}'].map((text) => Buffer.from(text))
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const raw = Buffer.concat([head!, Buffer.from(bytes), tail!])
      for (const path of ['/api/workflows', '/api/workflows/greeting/run', '/api/sdk/v1/preflight'])
        assert.deepEqual(await refused(server, 'POST', path, { raw, headers: JSON_TYPE }, [400, 'invalid_request']), [
          '/body',
        ])
    }
    const raw = Buffer.concat([head!, Buffer.from('é漢😀'), tail!])
    assert.equal((await call(server, 'POST', '/api/workflows/greeting/run', { raw, headers: JSON_TYPE })).status, 200)
  })

  test('an error lists all allowed values, including null', async () => {
    await using server = await startServer()
    const body = { workflow_id: 'greeting', level: 'all', interface_version: 2 }
    const answer = await call<ErrorBody>(server, 'POST', '/api/sdk/v1/preflight', { body })
    const messages = Object.fromEntries(answer.body.error.problems!.map(({ path, message }) => [path, message]))
    assert.equal(messages['/body/level'], 'must be one of static, availability, execution, null')
    assert.equal(messages['/body/interface_version'], 'must be one of 1, null')
  })

  test('JSON is accepted with other spellings of its type', async () => {
    await using server = await startServer()
    const raw = JSON.stringify({ params: { name: 'Ada' } })
    for (const type of ['application/json;charset=UTF-8', 'Application/JSON', 'application/json ; charset="utf-8"']) {
      const run = await call(server, 'POST', '/api/workflows/greeting/run', { raw, headers: { 'Content-Type': type } })
      assert.equal(run.status, 200, type)
      const made = { raw: JSON.stringify(greeting()), headers: { 'Content-Type': type } }
      assert.equal((await call(server, 'POST', '/api/workflows', made)).status, 201, type)
    }
  })

  test('REQUEST_TOO_LARGE: an oversized body gives 413 by its length, and by its bytes if it is chunked', async () => {
    await using server = await startServer({ environment: { SVC_MAX_BODY_BYTES: '2048' } })
    const path = '/api/workflows/greeting/run'
    const fits = { body: { params: { name: 'x'.repeat(1900) } } }
    assert.equal((await call(server, 'POST', path, fits)).status, 200)
    const raw = JSON.stringify({ params: { name: 'x'.repeat(4000) } })
    await refused(server, 'POST', path, { raw, headers: JSON_TYPE }, [413, 'request_too_large'])
    await refused(server, 'POST', '/api/workflows', { raw, headers: JSON_TYPE }, [413, 'request_too_large'])
    const answer = await exchangeRaw(server, `${chunkedHead(path)}${raw.length.toString(16)}\r\n${raw}\r\n0\r\n\r\n`)
    assert.match(answer, /^HTTP\/1\.1 413 /)
    assert.match(answer, /"type":"request_too_large"/)
  })

  test('a body is ignored by an operation without one', async () => {
    await using server = await startServer()
    assert.equal((await call(server, 'GET', '/api/workflows', { raw: '{', headers: JSON_TYPE })).status, 200)
  })
})

describe('methods', () => {
  const cases: [string, string, string][] = [
    ['PATCH', '/api/workflows', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '/api/workflows/', 'GET, HEAD, OPTIONS, POST'],
    ['POST', '/api/workflows/greeting', 'DELETE, GET, HEAD, OPTIONS, PUT'],
    ['GET', '/api/workflows/greeting/run', 'OPTIONS, POST'],
    ['HEAD', '/api/workflows/greeting/run', 'OPTIONS, POST'],
    ['DELETE', '/api/workflows/public', 'GET, HEAD, OPTIONS'],
    ['PUT', '/api/workflows/examples', 'GET, HEAD, OPTIONS'],
    ['POST', '/api/workflows/examples/run', 'GET, HEAD, OPTIONS'],
    ['POST', '/api/workflows/x/interface', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/workflows/x/share', 'DELETE, OPTIONS, POST'],
    ['DELETE', '/health', 'GET, HEAD, OPTIONS'],
    ['POST', '/openapi.json', 'GET, HEAD, OPTIONS'],
    ['TRACE', '/api/config', 'GET, HEAD, OPTIONS'],
  ]

  test('METHOD_NOT_ALLOWED: a method that the path does not support gives 405 with Allow', async () => {
    await using server = await startServer()
    for (const [method, path, allow] of cases) {
      const answer = await call(server, method, path)
      assert.equal(answer.status, 405, `${method} ${path}`)
      assert.equal(answer.headers.allow, allow, `${method} ${path}`)
    }
  })

  test('OPTIONS returns the methods', async () => {
    await using server = await startServer()
    for (const [, path, allow] of cases) {
      const answer = await call(server, 'OPTIONS', path)
      assert.equal(answer.status, 204)
      assert.equal(answer.headers.allow, allow, path)
    }
    assert.equal((await call(server, 'OPTIONS', '/nowhere')).status, 404)
  })

  test('HEAD is GET without the body', async () => {
    await using server = await startServer()
    for (const path of [
      '/health',
      '/api/workflows',
      '/api/config',
      '/openapi.json',
      '/api/workflows/examples/greeting',
      '/api/nodes/metadata?namespace=text',
      '/docs',
    ]) {
      const head = await call(server, 'HEAD', path)
      const get = await call(server, 'GET', path)
      assert.equal(head.status, 200, path)
      assert.equal(head.headers['content-type'], get.headers['content-type'], path)
      if (path !== '/health') assert.equal(head.headers['content-length'], get.headers['content-length'], path)
    }
    assert.equal((await call(server, 'HEAD', '/api/workflows/nope')).status, 404)
    assert.equal((await call(server, 'HEAD', '/api/workflows?limit=0')).status, 400)
  })
})

describe('paths', () => {
  test('NOT_FOUND: an unknown path gives 404 in the error format of its prefix', async () => {
    await using server = await startServer()
    const paths = [
      '/nowhere',
      '/api',
      '/api/nowhere',
      '/api/workflows/a/b/c',
      '/api/workflows/greeting/',
      '/API/workflows',
      '/health/',
      '/admin',
      '/admin/nowhere',
      '/mcp',
      '/trpc/x',
      '/ws',
      '//api/workflows',
      '/api//workflows',
    ]
    for (const path of paths) await refused(server, 'GET', path, {}, [404, 'not_found'])
    for (const path of ['/v1/responses', '/v1/nowhere']) {
      const { body } = await call<{ error: object }>(server, 'GET', path)
      assert.deepEqual(Object.keys(body.error), ['message', 'type', 'param', 'code'], path)
    }
    for (const path of ['/api/sdk/v1/jobs/any', '/api/sdk/v1/nowhere']) {
      const { body } = await call<{ code: string; retryable: boolean }>(server, 'GET', path)
      assert.equal(body.code, 'NOT_FOUND', path)
      assert.equal(body.retryable, false, path)
    }
  })

  test('dot segments and encoded slashes lead nowhere', async () => {
    await using server = await startServer()
    const unknown = [
      '/api/workflows/../config',
      '/api/./config',
      '/api/workflows/public/../greeting',
      '/..',
      '/docs/../openapi.json',
    ]
    for (const path of unknown) assert.equal((await call(server, 'GET', path)).status, 404, path)
    const ids = ['..', '%2e%2e', 'a%2Fb', '..%2f..%2fetc%2fpasswd', '%00', '%F0%9F%92%A9', '__proto__', 'constructor']
    for (const id of ids) {
      await refused(server, 'GET', `/api/workflows/${id}`, {}, [404, 'workflow_not_found'])
      await refused(server, 'GET', `/api/workflows/public/${id}`, {}, [404, 'workflow_not_found'])
      await refused(server, 'GET', `/api/workflows/examples/${id}`, {}, [404, 'workflow_not_found'])
      await refused(server, 'GET', `/docs/${id}`, {}, [404, 'not_found'])
    }
    for (const name of ['a/../greeting', 'versions', 'interface', 'run', 'share']) {
      await refused(server, 'GET', `/api/workflows/examples/${name}`, {}, [404, 'workflow_not_found'])
    }
  })

  test('INVALID_REQUEST: malformed percent-encoding and ids that are too long give 400', async () => {
    await using server = await startServer()
    for (const path of [
      '/api/workflows/%zz',
      '/api/workflows/%E0%A4%A',
      '/api/workflows/%ff/interface',
      '/api/workflows/public/%',
    ]) {
      await refused(server, 'GET', path, {}, [400, 'invalid_request'])
    }
    const long = 'x'.repeat(513)
    const paths = await refused(server, 'GET', `/api/workflows/${long}`, {}, [400, 'invalid_request'])
    assert.deepEqual(paths, ['/path/id'])
    const run = await refused(server, 'POST', `/api/workflows/${long}/run`, { body: {} }, [400, 'invalid_request'])
    assert.deepEqual(run, ['/path/id'])
  })

  test('INVALID_REQUEST: unknown, repeated and empty query parameters give 400, all at once', async () => {
    await using server = await startServer()
    const list = await refused(server, 'GET', '/api/workflows?limit=x&nope=1&also=2', {}, [400, 'invalid_request'])
    assert.deepEqual(list, ['/query/also', '/query/limit', '/query/nope'])
    for (const query of [
      'limit=1&limit=2',
      'limit=0',
      'limit=501',
      'limit=1.5',
      'limit=',
      'q=',
      'tag=',
      'cursor=',
      '__proto__=1',
      'toString=1',
    ]) {
      await refused(server, 'GET', `/api/workflows?${query}`, {}, [400, 'invalid_request'])
    }
    const run = await refused(server, 'POST', '/api/workflows/greeting/run?x=1', { body: { y: 1 } }, [
      400,
      'invalid_request',
    ])
    assert.deepEqual(run, ['/body/y', '/query/x'])
  })
})

describe('X-Request-Id', () => {
  test('is echoed if it is visible ASCII of at most 128 characters', async () => {
    await using server = await startServer()
    for (const id of ['a', 'my-id/1:2', '~'.repeat(128)]) {
      for (const path of ['/health', '/nowhere', '/api/workflows?limit=0']) {
        const { headers } = await call(server, 'GET', path, { headers: { 'X-Request-Id': id } })
        assert.equal(headers['x-request-id'], id, path)
      }
    }
  })

  test('is replaced otherwise', async () => {
    await using server = await startServer()
    for (const id of ['', ' ', 'a b', 'x'.repeat(129), 'caf\u00e9', ['a', 'b'], 'tab\there']) {
      const { headers } = await call(server, 'GET', '/health', { headers: { 'X-Request-Id': id } })
      assert.match(String(headers['x-request-id']), /^req_[0-9a-f]{32}$/, String(id))
    }
  })

  test('differs from request to request', async () => {
    await using server = await startServer()
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await call(server, 'GET', '/ready')).headers))
    assert.equal(new Set(ids.map((headers) => headers['x-request-id'])).size, 20)
  })
})

test('a malformed request does not affect the next one', async () => {
  await using server = await startServer()
  for (const text of [
    '\r\n\r\n',
    'GET\r\n\r\n',
    'GET / HTTP/9\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
  ]) {
    await exchangeRaw(server, text)
  }
  const { body, status } = await call<ErrorBody>(server, 'GET', '/health')
  assert.equal(status, 200, JSON.stringify(body))
})
