// getObject and headObject: headers of content, ranges and conditions.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { call, refused } from '../../helpers/http.ts'
import { scaled } from '../../helpers/scale.ts'
import { startServer } from '../../helpers/server.ts'
import { reader, stored } from '../storage-kit.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100, 7)])

describe('getObject and headObject', () => {
  test('have the same headers for the whole content, which only getObject returns', async () => {
    await using server = await startServer()
    using http = reader(server)
    const asset = await stored(server, PNG, { name: 'portrait.png' })
    const path = `/api/storage/${asset.storage_key}`
    const got = await http.read('GET', path)
    assert.equal(got.status, 200)
    assert.ok(got.bytes.equals(PNG))
    const { date: _date, connection: _c, 'keep-alive': _k, 'x-request-id': _id, ...headers } = got.headers
    assert.deepEqual(headers, {
      'content-type': 'image/png',
      'content-length': '108',
      etag: `"${asset.sha256}"`,
      'last-modified': new Date(asset.created_at).toUTCString(),
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-disposition': 'inline; filename="portrait.png"',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'Origin',
    })
    for (const range of [undefined, 'bytes=1-3', 'bytes=200-']) {
      const asked: Record<string, string> = range === undefined ? {} : { Range: range }
      const [get, head] = [await http.read('GET', path, asked), await http.read('HEAD', path, asked)]
      assert.equal(head.status, get.status)
      assert.equal(head.bytes.length, 0)
      for (const name of Object.keys(get.headers).filter((one) => one !== 'date' && one !== 'x-request-id'))
        assert.equal(head.headers[name], get.headers[name], name)
    }
  })

  test('return empty content', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, '')
    for (const method of ['GET', 'HEAD']) {
      const whole = await call(server, method, `/api/storage/${storage_key}`)
      assert.deepEqual([whole.status, whole.headers['content-length'], whole.text], [200, '0', ''])
    }
    const last = await call(server, 'GET', `/api/storage/${storage_key}`, { headers: { Range: 'bytes=-5' } })
    assert.equal(last.status, 200)
    const first = await call(server, 'GET', `/api/storage/${storage_key}`, { headers: { Range: 'bytes=0-' } })
    assert.deepEqual([first.status, first.headers['content-range']], [416, 'bytes */0'])
  })

  test('never let content run in the origin of the service', async () => {
    await using server = await startServer()
    const active = [
      'text/html',
      'image/svg+xml',
      'application/xml',
      'text/xml',
      'application/xhtml+xml',
      'text/javascript',
    ]
    const more = [
      'application/javascript',
      'application/rss+xml',
      'text/xsl',
      'multipart/related',
      'TEXT/HTML; charset=x',
    ]
    for (const content_type of [
      ...active,
      ...more,
      'image/svg+xml; charset=utf-8',
      'application/wasm',
      'text/ecmascript',
    ]) {
      const { storage_key } = await stored(server, '<script>alert(1)</script>', { content_type })
      const { headers } = await call(server, 'GET', `/api/storage/${storage_key}`)
      assert.match(String(headers['content-disposition']), /^attachment;/, content_type)
      assert.match(String(headers['content-security-policy']), /sandbox$/)
      assert.equal(headers['content-type'], content_type)
    }
    for (const content_type of ['text/plain', 'application/json', 'application/pdf', 'audio/mpeg', 'text/csv']) {
      const { storage_key } = await stored(server, '"x"', { content_type })
      const { headers } = await call(server, 'GET', `/api/storage/${storage_key}`)
      assert.match(String(headers['content-disposition']), /^inline;/, content_type)
    }
  })

  test('encode file names unambiguously', async () => {
    await using server = await startServer()
    const names = {
      'plain name.txt': 'inline; filename="plain name.txt"',
      'a"b;c.txt': `inline; filename="a_b;c.txt"; filename*=UTF-8''a%22b%3Bc.txt`,
      '100%.txt': `inline; filename="100_.txt"; filename*=UTF-8''100%25.txt`,
      "ä'(1)*.txt": `inline; filename="_'(1)*.txt"; filename*=UTF-8''%C3%A4%27%281%29%2A.txt`,
      'a\r\nX-Evil: 1.txt': 'inline; filename="a X-Evil: 1.txt"',
      '😀\u202etxt.exe': `inline; filename="_ txt.exe"; filename*=UTF-8''%F0%9F%98%80%20txt.exe`,
    }
    for (const [name, expected] of Object.entries(names)) {
      const { storage_key } = await stored(server, 'x', { name })
      const { headers } = await call(server, 'HEAD', `/api/storage/${storage_key}`)
      assert.equal(headers['content-disposition'], expected)
      assert.equal(headers['x-evil'], undefined)
    }
    // The key of an object is unchanged, and not the name under which it is saved.
    for (const turned of ['%E2%80%AE', '%E2%81%A6', '%E2%80%A8']) {
      const path = `/api/storage/1/a${turned}txt.exe`
      assert.equal((await call(server, 'PUT', path, { raw: 'x' })).status, 201)
      assert.equal((await call(server, 'HEAD', path)).headers['content-disposition'], 'inline; filename="a_txt.exe"')
    }
  })
})

describe('a range', () => {
  const TEXT = 'Hello, Ada!'
  const cases: readonly (readonly [range: string, status: number, text: string, content_range?: string])[] = [
    ['bytes=0-4', 206, 'Hello', 'bytes 0-4/11'],
    ['bytes=7-', 206, 'Ada!', 'bytes 7-10/11'],
    ['bytes=-4', 206, 'Ada!', 'bytes 7-10/11'],
    ['bytes=7-1000', 206, 'Ada!', 'bytes 7-10/11'],
    ['bytes=-1000', 206, TEXT, 'bytes 0-10/11'],
    ['bytes=0-0', 206, 'H', 'bytes 0-0/11'],
    ['bytes=10-10', 206, '!', 'bytes 10-10/11'],
    ['BYTES = 0 - 4 ', 206, 'Hello', 'bytes 0-4/11'],
    [`bytes=0-${'9'.repeat(400)}`, 206, TEXT, 'bytes 0-10/11'],
    ['bytes=11-', 416, '', 'bytes */11'],
    ['bytes=11-12', 416, '', 'bytes */11'],
    ['bytes=-0', 416, '', 'bytes */11'],
    [`bytes=${'9'.repeat(400)}-`, 416, '', 'bytes */11'],
    ['bytes=0-1,3-4', 200, TEXT],
    ['bytes=0-1,', 200, TEXT],
    ['bytes=4-0', 200, TEXT],
    ['bytes=', 200, TEXT],
    ['bytes=-', 200, TEXT],
    ['bytes=a-b', 200, TEXT],
    ['bytes=1', 200, TEXT],
    ['bytes=+1-2', 200, TEXT],
    ['bytes=0x1-2', 200, TEXT],
    ['items=0-4', 200, TEXT],
    ['0-4', 200, TEXT],
  ]

  test('is cut off at the end, refused beyond it, and ignored if it is malformed', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, TEXT)
    for (const [range, status, text, content_range] of cases) {
      const answer = await call(server, 'GET', `/api/storage/${storage_key}`, { headers: { Range: range } })
      assert.equal(answer.status, status, range)
      assert.equal(answer.headers['content-range'], content_range, range)
      if (status !== 416)
        assert.deepEqual([answer.text, answer.headers['content-length']], [text, String(text.length)], range)
      const head = await call(server, 'HEAD', `/api/storage/${storage_key}`, { headers: { Range: range } })
      assert.deepEqual([head.status, head.headers['content-range']], [status, content_range], range)
    }
    const outside = { headers: { Range: 'bytes=11-' } }
    await refused(server, 'GET', `/api/storage/${storage_key}`, outside, [416, 'range_not_satisfiable'])
  })

  test('gives the slice of the content at any position: RANGE_NOT_SATISFIABLE only beyond the end', async () => {
    await using server = await startServer()
    using http = reader(server)
    const content = Buffer.alloc(400_003, 'a content that repeats in 37 characters')
    const { storage_key } = await stored(server, content)
    const offset = fc.oneof(
      fc.nat(content.length + 10),
      fc.nat(70_000),
      fc.constantFrom(0, content.length - 1, content.length),
    )
    const range = fc.oneof(
      fc.tuple(offset, offset).map(([a, b]) => [`bytes=${a}-${a + b}`, a, a + b + 1] as const),
      offset.map((a) => [`bytes=${a}-`, a, content.length] as const),
      fc
        .integer({ min: 1, max: content.length + 10 })
        .map((n) => [`bytes=-${n}`, Math.max(0, content.length - n), content.length] as const),
    )
    await fc.assert(
      fc.asyncProperty(range, async ([header, start, end]) => {
        const { status, bytes, headers } = await http.read('GET', `/api/storage/${storage_key}`, { Range: header })
        const expected = content.subarray(start, end)
        if (expected.length === 0) return assert.equal(status, 416)
        assert.equal(status, 206)
        assert.ok(bytes.equals(expected))
        assert.equal(headers['content-range'], `bytes ${start}-${start + expected.length - 1}/${content.length}`)
      }),
      { numRuns: scaled(1_000) },
    )
  })
})

describe('conditions', () => {
  test('If-None-Match gives 304 without content, a failed If-Match 412', async () => {
    await using server = await startServer()
    const { storage_key, sha256 } = await stored(server, 'Hello, Ada!')
    const etag = `"${sha256}"`
    const cases: readonly (readonly [headers: Record<string, string>, status: number])[] = [
      [{ 'If-None-Match': etag }, 304],
      [{ 'If-None-Match': `W/${etag}` }, 304],
      [{ 'If-None-Match': '*' }, 304],
      [{ 'If-None-Match': `"x", ${etag}` }, 304],
      [{ 'If-None-Match': '"x"' }, 200],
      [{ 'If-None-Match': sha256 }, 200],
      [{ 'If-None-Match': etag, Range: 'bytes=0-1' }, 304],
      [{ 'If-Match': etag }, 200],
      [{ 'If-Match': '*' }, 200],
      [{ 'If-Match': `"x,y" , ${etag}` }, 200],
      [{ 'If-Match': '"x"' }, 412],
      [{ 'If-Match': `W/${etag}` }, 412],
      [{ 'If-Match': 'malformed' }, 412],
      [{ 'If-Match': '"x"', 'If-None-Match': etag }, 412],
      [{ 'If-Match': etag, 'If-None-Match': etag }, 304],
      [{ 'If-Match': '"x"', Range: 'bytes=99-' }, 412],
    ]
    for (const [headers, status] of cases) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await call(server, method, `/api/storage/${storage_key}`, { headers })
        assert.equal(answer.status, status, `${method} ${JSON.stringify(headers)}`)
        if (status !== 412) assert.equal(answer.headers.etag, etag)
        if (status === 304) assert.deepEqual([answer.text, answer.headers['content-type']], ['', undefined])
      }
    }
    const stale = { headers: { 'If-Match': '"x"' } }
    await refused(server, 'GET', `/api/storage/${storage_key}`, stale, [412, 'precondition_failed'])
  })

  test('If-Range that no longer holds gets the whole content', async () => {
    await using server = await startServer()
    const { storage_key, sha256, created_at } = await stored(server, 'Hello, Ada!')
    const modified = new Date(created_at).toUTCString()
    const holds = [`"${sha256}"`, modified]
    const fails = [
      '"x"',
      `W/"${sha256}"`,
      sha256,
      new Date(0).toUTCString(),
      new Date(Date.parse(created_at) + 60_000).toUTCString(),
    ]
    for (const [values, status] of [
      [holds, 206],
      [fails, 200],
    ] as const) {
      for (const value of values) {
        const headers = { Range: 'bytes=0-4', 'If-Range': value }
        const answer = await call(server, 'GET', `/api/storage/${storage_key}`, { headers })
        assert.equal(answer.status, status, value)
        assert.equal(answer.text, status === 206 ? 'Hello' : 'Hello, Ada!')
      }
    }
    const beyond = { Range: 'bytes=99-', 'If-Range': '"x"' }
    assert.equal((await call(server, 'GET', `/api/storage/${storage_key}`, { headers: beyond })).status, 200)
  })
})
