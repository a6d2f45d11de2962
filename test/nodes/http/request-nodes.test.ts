// http.*: requests, responses, secrets, and retries. The client itself is tested in test/net.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, test } from 'node:test'
import type { OutputValues } from '../../../src/engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../../src/engine/node-api/node-context.ts'
import { createNodeMetadata, isRetrySafe } from '../../../src/engine/node-api/node-metadata.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { graph, HandClock, node, until } from '../../engine/kit.ts'
import { bodyOf, httpServer, localHttp } from '../../net/servers.ts'
import { context as plainContext, runWith } from '../context.ts'
import { type HttpRun, runHttp } from '../http-run.ts'

/** Runs http.Request with these properties against a server. `url` is appended to the server's URL. */
async function send(handle: RequestListener, data: Record<string, unknown> = {}, path = '/'): Promise<HttpRun> {
  await using server = await httpServer(handle)
  return await runHttp({ nodes: [node('n', 'http.Request', { url: server.url + path, ...data })], edges: [] })
}

async function outputsOf(
  handle: RequestListener,
  data: Record<string, unknown> = {},
  path = '/',
): Promise<OutputValues> {
  const { outcome, result } = await send(handle, data, path)
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  return result
}

async function errorOf(handle: RequestListener, data: Record<string, unknown> = {}, path = '/') {
  const { outcome } = await send(handle, data, path)
  assert.ok(outcome.status === 'failed', JSON.stringify(outcome))
  assert.ok(outcome.error.message.length < 1000)
  return outcome.error
}

interface Echo {
  method: string
  url: string
  headers: Record<string, string>
  body: string
}

const echo: RequestListener = async (asked, response) => {
  const body = (await bodyOf(asked)).toString('latin1')
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.end(JSON.stringify({ method: asked.method, url: asked.url, headers: asked.headers, body }))
}

async function echoed(data: Record<string, unknown>, path = '/'): Promise<Echo> {
  return (await outputsOf(echo, data, path)).body as Echo
}

describe('http.Request', () => {
  test('gives status, headers and body', async () => {
    const result = await outputsOf((_asked, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'x-a': 'b' }).end('{"a":[1,null]}')
    })
    assert.deepEqual(Object.keys(result), ['status', 'headers', 'body'])
    assert.deepEqual([result.status, result.body], [201, { a: [1, null] }])
    assert.equal((result.headers as Record<string, string>)['x-a'], 'b')
  })

  test('adds its query to the URL', async () => {
    const query = { a: 'x y&', b: [1, true], c: null, ä: 0.5 }
    assert.equal((await echoed({ query })).url, '/?a=x+y%26&b=1&b=true&%C3%A4=0.5')
    assert.equal((await echoed({ query: { b: '2' } }, '/p?a=1#f')).url, '/p?a=1&b=2')
    const nested = await errorOf(echo, { query: { a: { b: 1 } } })
    assert.deepEqual([nested.type, nested.message.includes('"a" is dict')], ['bad_input', true])
  })

  /** Body type, body, received body, and its content type. */
  const BODIES: [string, unknown, string, string | undefined][] = [
    ['auto', null, '', undefined],
    ['auto', 'text ä', 'text Ã¤', 'text/plain; charset=utf-8'],
    ['auto', '', '', 'text/plain; charset=utf-8'],
    ['auto', { a: [1, 'x'] }, '{"a":[1,"x"]}', 'application/json'],
    ['auto', [], '[]', 'application/json'],
    ['auto', 5, '5', 'application/json'],
    ['json', 'x', '"x"', 'application/json'],
    ['text', { a: 1 }, '{"a":1}', 'text/plain; charset=utf-8'],
    ['form', { a: 'x y', b: [1, 2], c: null }, 'a=x+y&b=1&b=2', 'application/x-www-form-urlencoded'],
    ['base64', 'AP8 NCg==', '\u0000ÿ\r\n', 'application/octet-stream'],
    ['base64', '-_8', 'ûÿ', 'application/octet-stream'],
  ]
  for (const [body_type, body, arrives, type] of BODIES) {
    test(`writes ${JSON.stringify(body)} as ${body_type}`, async () => {
      const seen = await echoed({ method: 'POST', body, body_type })
      assert.deepEqual([seen.body, seen.headers['content-type']], [arrives, type])
    })
  }

  test('limits the numbers of fields and headers', async () => {
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`f${at}`, '1']))
    assert.equal((await errorOf(echo, { query: many })).type, 'too_large')
    assert.equal((await errorOf(echo, { method: 'POST', body: many, body_type: 'form' })).type, 'too_large')
    assert.equal((await errorOf(echo, { query: { list: Object.keys(many) } })).type, 'too_large')
    assert.equal((await errorOf(echo, { headers: many })).type, 'bad_header')
  })

  test('keeps a content type that is set', async () => {
    const headers = { 'Content-Type': 'application/vnd.api+json' }
    const seen = await echoed({ method: 'PATCH', body: { a: 1 }, headers })
    assert.deepEqual([seen.headers['content-type'], seen.method], ['application/vnd.api+json', 'PATCH'])
  })

  test('refuses a body that is not of its type', async () => {
    assert.equal((await errorOf(echo, { method: 'POST', body: 'x', body_type: 'form' })).type, 'bad_input')
    assert.equal((await errorOf(echo, { method: 'POST', body: { a: [[1]] }, body_type: 'form' })).type, 'bad_input')
    assert.equal((await errorOf(echo, { method: 'POST', body: 'ä', body_type: 'base64' })).type, 'bad_input')
    assert.equal((await errorOf(echo, { method: 'POST', body: 1, body_type: 'base64' })).type, 'bad_input')
  })

  /** Content type, bytes, response type, and the body. */
  const ANSWERS: [string | null, string | Buffer, string, unknown][] = [
    ['application/json', '[1]', 'auto', [1]],
    ['application/problem+json; charset=utf-8', '{}', 'auto', {}],
    ['application/json', '', 'auto', null],
    ['text/html', '<p>', 'auto', '<p>'],
    ['text/plain; charset=ISO-8859-1', Buffer.from([0xe4]), 'auto', 'ä'],
    ['text/plain; charset=unknown', Buffer.from('ä'), 'auto', 'ä'],
    ['text/plain', Buffer.from('\ufeffx'), 'auto', 'x'],
    ['image/svg+xml', '<svg>', 'auto', '<svg>'],
    ['application/x-ndjson', '1\n2', 'auto', '1\n2'],
    ['image/png', Buffer.from([0, 255]), 'auto', 'AP8='],
    [null, 'x', 'auto', 'eA=='],
    [null, '', 'auto', ''],
    ['image/png', '{"a":1}', 'json', { a: 1 }],
    ['application/json', '[1]', 'text', '[1]'],
    ['text/plain', 'x', 'base64', 'eA=='],
  ]
  for (const [type, bytes, response_type, body] of ANSWERS) {
    test(`reads ${JSON.stringify(bytes.toString())} of ${type} as ${response_type}`, async () => {
      const result = await outputsOf(
        (_asked, response) => {
          if (type !== null) response.setHeader('content-type', type)
          response.end(bytes)
        },
        { response_type },
      )
      assert.deepEqual(result.body, body)
    })
  }

  test('keeps the output limits of nodes', async () => {
    const big = (type: string, bytes: string) =>
      errorOf(
        (_asked, response) => {
          response.setHeader('content-type', type)
          response.end(bytes)
        },
        { max_bytes: 100_000_000 },
      )
    assert.equal((await big('text/plain', 'x'.repeat(10_000_001))).type, 'too_large')
    assert.equal((await big('image/png', 'x'.repeat(7_500_001))).type, 'too_large')
    assert.equal((await big('application/json', `["${'x'.repeat(10_000_001)}"]`)).type, 'too_large')
    assert.equal((await big('application/json', `[${'0,'.repeat(1_000_000)}0]`)).type, 'too_large')
    assert.equal((await big('application/json', `${'['.repeat(70)}${']'.repeat(70)}`)).type, 'too_deep')
    const broken = await big('application/json', '{"a":')
    assert.deepEqual([broken.type, /response_type/.test(broken.message)], ['not_json', true])
  })

  test('fails on an error status, with the beginning of the body', async () => {
    const failing: RequestListener = (_asked, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`no\n such\tthing ${'x'.repeat(500)}`)
    }
    const error = await errorOf(failing)
    assert.equal(error.type, 'http_status')
    assert.match(error.message, /^"127\.0\.0\.1:\d+" answered 404 Not Found: no such thing x{186}…$/)
    const binary = await errorOf((_asked, response) => response.writeHead(599).end('x'))
    assert.match(binary.message, /answered 599$/)
    const handed = await outputsOf(failing, { fail_on_error_status: false })
    assert.equal(handed.status, 404)
  })

  test('fails if the client refuses the request', async () => {
    const { outcome } = await runHttp(graph([node('n', 'http.Request', { url: 'http://10.0.0.1/' })], []))
    assert.ok(outcome.status === 'failed')
    assert.equal(outcome.error.type, 'address_refused')
    assert.equal((await errorOf(echo, { headers: { Host: 'x' } })).type, 'bad_header')
    assert.equal((await errorOf(echo, { max_bytes: 1 })).type, 'too_large')
    assert.equal((await errorOf(() => {}, { request_timeout_seconds: 0.02 })).type, 'http_timeout')
    assert.equal(
      (await errorOf((_a, response) => response.writeHead(302, { location: '/' }).end())).type,
      'too_many_redirects',
    )
  })

  test('ends with its run', async () => {
    await using server = await httpServer(() => {})
    const abort = new AbortController()
    const running = runHttp(graph([node('n', 'http.Request', { url: server.url })], []), { signal: abort.signal })
    await until(() => server.connections === 1, 'the request')
    abort.abort()
    assert.equal((await running).outcome.status, 'cancelled')
    await until(() => server.open === 0, 'the connection to close')
  })

  test('is retried after a crash only if its method is idempotent', () => {
    const type = builtinRegistry.get('http.Request')!
    assert.equal(createNodeMetadata(type).retry_safe, true)
    const safe = (method: string) => isRetrySafe(type, { method })
    assert.deepEqual(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].map(safe), [true, true, true, true, true])
    assert.deepEqual(['POST', 'PATCH'].map(safe), [false, false])
    assert.equal(isRetrySafe(builtinRegistry.get('text.Concat')!, {}), true)
  })
})

describe('JSON that would take long to read', () => {
  const unlike = `[${Array.from({ length: 800_000 }, (_, at) => `{"${at.toString(36)}":0}`).join()}]`
  const cases: [string, string][] = [
    ['many different keys', unlike],
    ['many empty lists', `[${'[],'.repeat(2_000_000)}[]]`],
    ['many bytes', `["${'x'.repeat(10_000_000)}"]`],
  ]
  for (const [what, text] of cases) {
    test(`is not read: ${what}`, async () => {
      const body = Buffer.from(text)
      const handle: RequestListener = (_asked, response) =>
        void response.setHeader('content-type', 'application/json').end(body)
      let longest = 0
      let last = performance.now()
      const ticking = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 1)
      const error = await errorOf(handle, { max_bytes: 100_000_000 }).finally(() => clearInterval(ticking))
      assert.equal(error.type, 'too_large')
      assert.ok(longest < 1500, `the server stood still for ${longest} ms`)
    })
  }
})

describe('secrets', () => {
  const secrets = { KEY: 'k/&"ey-12345', PATH: 'a b/c', SHORT: 'zq', IP: '10.9.8.7', 'a.b-c': 'dotted-value' }

  async function sendWith(data: Record<string, unknown>, handle: RequestListener = echo) {
    await using server = await httpServer(handle)
    const texts: string[] = []
    const url = String(data.url ?? '/').replace(/^\//, `${server.url}/`)
    const nodes = [node('n', 'http.Request', { ...data, url })]
    const run = await runHttp(graph(nodes, []), { secrets: { ...secrets, BASE: server.url } })
    texts.push(JSON.stringify(run.observer.calls), JSON.stringify(run.outcome), ...run.observer.faults.map(String))
    return { ...run, told: texts.join('\n') }
  }

  test('are inserted where they are named', async () => {
    const seen: Echo[] = []
    const handle: RequestListener = async (asked, response) => {
      const body = (await bodyOf(asked)).toString()
      seen.push({ method: asked.method!, url: asked.url!, headers: asked.headers as Record<string, string>, body })
      response.end()
    }
    const named = { method: 'POST', headers: { 'X-Key': 'Key {{secret:KEY}}', 'X-Dot': '{{ secret: a.b-c }}' } }
    const query = { q: '{{secret:PATH}}', list: ['{{secret:SHORT}}'] }
    await sendWith(
      { ...named, url: '/{{secret:PATH}}?k={{secret:KEY}}', query, body: 'b {{secret:KEY}} {{other}}' },
      handle,
    )
    await sendWith({ ...named, url: '{{secret:BASE}}/x', body: { a: ['{{secret:KEY}}'] } }, handle)
    await sendWith({ ...named, body: { a: '{{secret:KEY}}' }, body_type: 'form' }, handle)
    assert.equal(seen[0]!.url, '/a%20b%2Fc?k=k%2F%26%22ey-12345&q=a+b%2Fc&list=zq')
    assert.deepEqual([seen[0]!.headers['x-key'], seen[0]!.headers['x-dot']], ['Key k/&"ey-12345', 'dotted-value'])
    assert.equal(seen[0]!.body, 'b k/&"ey-12345 {{other}}')
    assert.deepEqual([seen[1]!.url, JSON.parse(seen[1]!.body)], ['/x', { a: ['k/&"ey-12345'] }])
    assert.equal(new URLSearchParams(seen[2]!.body).get('a'), secrets.KEY)
  })

  test('are masked in the response of a server', async () => {
    const data = {
      url: '/?k={{secret:KEY}}',
      headers: { 'X-Key': '{{secret:KEY}}' },
      method: 'POST',
      body: '{{secret:KEY}}',
    }
    const { result, told } = await sendWith(data)
    const seen = result.body as Echo
    assert.deepEqual([seen.url, seen.headers['x-key'], seen.body], ['/?k=***', '***', '***'])
    assert.ok(!told.includes('ey-12345'), told)
    const headers = await sendWith(data, (asked, response) =>
      response.setHeader('x-back', asked.headers['x-key']!).end(),
    )
    assert.equal((headers.result.headers as Record<string, string>)['x-back'], '***')
    assert.ok(!headers.told.includes('ey-12345'))
  })

  test('are masked in the name of a header, which is in lower case', async () => {
    const secrets = { TOKEN: 'Planted-Token-4711' }
    await using server = await httpServer((asked, response) =>
      response.setHeader(`x-${asked.headers['x-key']}`, '1').end(),
    )
    const data = { url: server.url, headers: { 'X-Key': '{{secret:TOKEN}}' } }
    const { result } = await runHttp(graph([node('n', 'http.Request', data)], []), { secrets })
    const names = Object.keys(result.headers as Record<string, string>)
    assert.ok(names.includes('x-***'), names.join())
    assert.ok(!names.join().includes('4711'), names.join())
  })

  test('are masked if their bytes are read in another charset', async () => {
    const wide = 'clÉ-ü-12345'
    await using server = await httpServer(async (asked, response) => {
      const bytes = await bodyOf(asked)
      response.setHeader('x-back', bytes.toString('latin1'))
      response.setHeader('content-type', 'text/plain; charset=iso-8859-1')
      response.writeHead(Number(asked.url!.slice(1))).end(bytes)
    })
    const answered = (status: number) => {
      const data = { url: `${server.url}/${status}`, method: 'POST', body: 'a {{secret:WIDE}} b' }
      return runHttp(graph([node('n', 'http.Request', data)], []), { secrets: { WIDE: wide } })
    }
    const { result } = await answered(200)
    assert.deepEqual([result.body, (result.headers as Record<string, string>)['x-back']], ['a *** b', 'a *** b'])
    const { outcome } = await answered(400)
    assert.ok(outcome.status === 'failed')
    assert.match(outcome.error.message, /answered 400 Bad Request: a \*\*\* b$/)
  })

  test('are masked in bytes, in credentials, and as numbers', async () => {
    const wide = 'clé/"k+12345'
    const texts: RequestListener = async (asked, response) => response.end(`\xff${(await bodyOf(asked)).toString()}`)
    const bytes: RequestListener = async (asked, response) => {
      response.setHeader('content-type', 'application/octet-stream')
      response.end(Buffer.concat([Buffer.from([0xff, 0]), await bodyOf(asked), Buffer.from([0xfe])]))
    }
    const known = { ...secrets, WIDE: wide, DIGITS: '1234567890', LONG: '12345678901234567890', ZERO: '00000000' }
    const answered = async (handle: RequestListener, data: Record<string, unknown>) => {
      await using server = await httpServer(handle)
      const url = String(data.url ?? 'http://HOST/').replace('HOST', new URL(server.url).host)
      const { result } = await runHttp(graph([node('n', 'http.Request', { ...data, url })], []), { secrets: known })
      return result.body
    }
    const body = 'a {{secret:WIDE}} b'
    const binary = await answered(bytes, { method: 'POST', body })
    assert.deepEqual(Buffer.from(String(binary), 'base64'), Buffer.from('\xff\0a *** b\xfe', 'latin1'))
    const asked = await answered(texts, { method: 'POST', body: [body], response_type: 'base64' })
    assert.equal(Buffer.from(String(asked), 'base64').toString(), '\xff["a *** b"]')
    for (const user of ['', 'u', 'us', 'user']) {
      const seen = (await answered(echo, { url: `http://${user}:{{secret:WIDE}}@HOST/` })) as Echo
      assert.match(seen.headers.authorization!, /^Basic .{0,8}\*\*\*.{0,4}$/)
    }
    const numbers: RequestListener = (_asked, response) =>
      response.setHeader('content-type', 'application/json').end('[1234567890, {"a": 12345678901234567890}, 0, 12345]')
    const headers = { a: '{{secret:DIGITS}}', b: '{{secret:LONG}}', c: '{{secret:ZERO}}' }
    assert.deepEqual(await answered(numbers, { headers }), ['***', { a: '***' }, 0, 12345])
  })

  test('in a body are not sent to another server after a redirect', async () => {
    const arrived: string[] = []
    await using other = await httpServer(async (asked, response) => {
      arrived.push((await bodyOf(asked)).toString())
      response.end()
    })
    for (const [body, body_type] of [
      [{ k: '{{secret:KEY}}' }, 'json'],
      [{ k: '{{secret:PATH}}' }, 'form'],
      [{ k: '{{secret:KEY}}' }, 'form'],
      ['a {{secret:SHORT}}', 'text'],
    ]) {
      const { outcome } = await sendWith({ method: 'POST', body, body_type }, (_asked, response) =>
        response.writeHead(307, { location: other.url }).end(),
      )
      assert.ok(outcome.status === 'failed', String(body_type))
      assert.equal(outcome.error.type, 'redirect_refused')
    }
    assert.deepEqual(arrived, [])
  })

  test('are in no message', async () => {
    const failing: RequestListener = (asked, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(`bad ${asked.headers['x-key']} ${asked.url}`)
    }
    const sent = { headers: { 'x-key': '{{secret:KEY}}{{secret:SHORT}}' }, url: '/{{secret:KEY}}' }
    const cases: [Record<string, unknown>, RequestListener, string][] = [
      [sent, failing, 'http_status'],
      [{ ...sent, url: '{{secret:KEY}}' }, echo, 'bad_url'],
      [{ ...sent, url: '{{secret:KEY}}://x' }, echo, 'bad_url'],
      [{ ...sent, headers: { 'x-key': '{{secret:KEY}}\n' } }, echo, 'bad_header'],
      [{ ...sent, retries: 0 }, (asked) => asked.socket.destroy(), 'connection_failed'],
    ]
    for (const [data, handle, type] of cases) {
      const { outcome, told } = await sendWith(data, handle)
      assert.ok(outcome.status === 'failed')
      assert.equal(outcome.error.type, type)
      assert.ok(!told.includes('ey-12345') && !told.includes('10.9.8.7') && !outcome.error.message.includes('zq'), told)
    }
  })

  test('must not be part of a host name: nothing is sent, and the message shows no secret', async () => {
    let arrived = 0
    const known = {
      ...secrets,
      MIXED: 'MiXeD-Case-Key',
      WIDE: 'Schlüssel-Wort',
      SITE: 'http://MiXeD-Case-Key.localhost',
    }
    for (const url of [
      'http://{{secret:MIXED}}.localhost:PORT/',
      'http://{{secret:SHORT}}.localhost:PORT/',
      'http://a{{secret:WIDE}}b.localhost:PORT/',
      'http://{{secret:IP}}:PORT/',
      'http://10.9.8.{{secret:SHORT}}/',
      'http://user@{{secret:MIXED}}:PORT/',
      '{{secret:SITE}}.example:PORT/',
      '{{secret:SITE}}{{secret:SHORT}}:PORT/',
    ]) {
      await using server = await httpServer((_asked, response) => {
        arrived++
        response.end()
      })
      const { port } = new URL(server.url)
      const data = { url: url.replace('PORT', port), retries: 3 }
      const { outcome, observer } = await runHttp(graph([node('n', 'http.Request', data)], []), { secrets: known })
      const told = JSON.stringify(observer.calls)
      assert.ok(outcome.status === 'failed')
      assert.equal(outcome.error.type, 'bad_url', url)
      assert.match(outcome.error.message, /^A secret must not be part of a host name/, url)
      assert.doesNotMatch(told, /mixed-case-key|schl.{0,3}ssel|10\.9\.8\.7/i)
    }
    assert.equal(arrived, 0)
  })

  test('may be a whole URL, with the credentials and the path of another', async () => {
    await using server = await httpServer(echo)
    const known = { ...secrets, SITE: `${server.url}/base`, HOST: server.url }
    for (const url of ['{{secret:SITE}}', '{{secret:SITE}}/x?k={{secret:KEY}}', '{{secret:HOST}}/{{secret:KEY}}']) {
      const { outcome } = await runHttp(graph([node('n', 'http.Request', { url })], []), { secrets: known })
      assert.equal(outcome.status, 'completed', url)
    }
  })

  test('are not inserted into values that come along an edge', async () => {
    await using server = await httpServer(echo)
    await using http = localHttp()
    const logs: string[] = []
    const context: NodeContext = {
      ...plainContext,
      isConnected: (property) => property !== 'headers',
      clock: new HandClock(),
      services: { ...noServices, http, secret: async (name) => `the ${name}` },
      log: (severity, content) => logs.push(`${severity} ${content}`),
    }
    const type = builtinRegistry.get('http.Request')!
    const defaults = Object.fromEntries(type.properties.map(({ name, default: value }) => [name, value ?? null]))
    const named = '{{secret:A}}'
    const given = { url: `${server.url}/?u=${named}`, query: { q: named }, headers: { a: named }, body: named }
    const { body } = (await runWith(type, { ...defaults, ...given, method: 'POST' }, context)) as OutputValues
    const { url, headers, body: arrived } = body as Echo
    const { searchParams } = new URL(url, 'http://x')
    assert.deepEqual([searchParams.get('u'), searchParams.get('q'), arrived, headers.a], [named, named, named, 'the A'])
    assert.deepEqual(
      logs.map((line) => line.split(' along')[0]),
      ['warning "url" comes', 'warning "query" comes', 'warning "body" comes'],
    )
  })

  test('that do not exist are named in the error', async () => {
    const { outcome } = await sendWith({ headers: { a: '{{secret:NONE}}' } })
    assert.ok(outcome.status === 'failed')
    assert.equal(outcome.error.type, 'unknown_secret')
    assert.match(outcome.error.message, /"NONE".*SVC_SECRET_NONE/)
  })

  test('with invalid names are named in the error, and nothing is sent', async () => {
    for (const name of ['my-key', 'a.b', '9', 'A'.repeat(128).replace('A', '1')]) {
      const { outcome } = await sendWith({ headers: { a: `{{secret:${name}}}` } })
      assert.ok(outcome.status === 'failed')
      assert.equal(outcome.error.type, 'unknown_secret')
      assert.ok(outcome.error.message.includes(`"${name}". The name is invalid`), outcome.error.message)
    }
  })

  test('that would make a text too long are not inserted', async () => {
    await using server = await httpServer(echo)
    const body = '{{secret:LONG}}'.repeat(600_000)
    const nodes = [node('n', 'http.Request', { url: server.url, method: 'POST', body })]
    const { outcome } = await runHttp(graph(nodes, []), { secrets: { LONG: 'x'.repeat(1000) } })
    assert.ok(outcome.status === 'failed')
    assert.deepEqual([outcome.error.type, server.connections], ['too_large', 0])
  })
})

describe('trying again', () => {
  /** Gives responses one after the other. */
  function answering(...answers: [number, Record<string, string>?][]): RequestListener {
    return (_asked, response) => {
      const [status, headers = {}] = answers.shift()!
      if (status === 0) response.destroy()
      else response.writeHead(status, headers).end()
    }
  }

  /** The waits of a run in milliseconds, its outcome, and the number of requests. */
  async function waits(handle: RequestListener, data: Record<string, unknown>, random = 0) {
    let asked = 0
    await using server = await httpServer((request, response) => {
      asked++
      handle(request, response)
    })
    const clock = new HandClock()
    const nodes = [node('n', 'http.Request', { url: server.url, ...data })]
    let over = false
    const running = runHttp(graph(nodes, []), { clock, random: () => random }).finally(() => {
      over = true
    })
    const found: number[] = []
    for (;;) {
      await until(() => over || clock.sleepers.size > 0, 'a wait or the end')
      if (over) break
      const [sleeper] = clock.sleepers
      found.push(sleeper!.until - clock.now())
      clock.turn(found.at(-1)!)
    }
    const { outcome, observer } = await running
    return { waits: found, asked, logs: observer.named('log'), status: outcome.status, outcome }
  }

  test('waits longer each time, with random jitter', async () => {
    const failing = () => answering([503], [502], [504], [0], [200])
    const longest = await waits(failing(), { retries: 5 }, 1)
    assert.deepEqual([longest.waits, longest.asked, longest.status], [[1000, 2000, 4000, 8000], 5, 'completed'])
    assert.deepEqual((await waits(failing(), { retries: 5 }, 0)).waits, [500, 1000, 2000, 4000])
    assert.equal(longest.logs.length, 4)
    assert.match(String(longest.logs[0]![3]), /status 503\. Trying again in 1\.0 s \(1 of 5\)/)
    assert.match(String(longest.logs[3]![3]), /closed the connection/)
  })

  test('ends after the given number of retries, with the last response', async () => {
    const failed = await waits(answering([503], [503], [429]), { retries: 2 })
    assert.ok(failed.outcome.status === 'failed' && failed.outcome.error.type === 'http_status')
    assert.match(failed.outcome.error.message, /429 Too Many Requests/)
    const never = await waits(answering([503]), {})
    assert.deepEqual([never.asked, never.status], [1, 'failed'])
    const handed = await waits(answering([503], [503]), { retries: 1, fail_on_error_status: false })
    assert.equal(handed.status, 'completed')
  })

  test('waits as long as Retry-After says, up to a minute', async () => {
    const date = (ms: number) => ({ 'retry-after': new Date(ms).toUTCString() })
    const cases: [Record<string, string>, number][] = [
      [{ 'retry-after': '7' }, 7000],
      [{ 'retry-after': '0' }, 0],
      [{ 'retry-after': '3600' }, 60_000],
      [date(5000), 5000],
      [date(-5000), 0],
      [date(1e12), 60_000],
      [{ 'retry-after': 'soon' }, 500],
      [{ 'retry-after': '-1' }, 500],
    ]
    for (const [headers, wait] of cases) {
      const found = await waits(answering([429, headers], [200]), { retries: 1 })
      assert.deepEqual([found.waits, found.status], [[wait], 'completed'], JSON.stringify(headers))
    }
  })

  test('happens for requests with effects only if the server has not begun', async () => {
    for (const method of ['POST', 'PATCH']) {
      for (const answer of [[0], [502], [504, { 'retry-after': '1' }], [503], [429]] as [
        number,
        Record<string, string>?,
      ][]) {
        assert.equal((await waits(answering(answer, [200]), { method, retries: 3 })).asked, 1)
      }
      const again = await waits(answering([503, { 'retry-after': '1' }], [429, { 'retry-after': '2' }], [200]), {
        method,
        retries: 3,
      })
      assert.deepEqual([again.waits, again.status], [[1000, 2000], 'completed'])
    }
  })

  test('does not happen after permanent failures', async () => {
    for (const status of [400, 401, 404, 500, 501]) {
      assert.equal((await waits(answering([status], [200]), { retries: 3 })).asked, 1)
    }
  })

  test('ends with its run', async () => {
    await using server = await httpServer(answering([503]))
    const abort = new AbortController()
    const clock = new HandClock()
    const nodes = [node('n', 'http.Request', { url: server.url, retries: 5 })]
    const running = runHttp(graph(nodes, []), { clock, signal: abort.signal })
    await until(() => clock.sleepers.size === 1, 'the wait')
    abort.abort()
    assert.equal((await running).outcome.status, 'cancelled')
    assert.equal(clock.sleepers.size, 0)
  })
})
