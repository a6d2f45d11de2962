// Object uploads that break off, stall, are too large, or find a full disk: nothing of them is left, and the earlier object stays.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as send } from 'node:http'
import { describe, test } from 'node:test'
import { cannotMount, fill, memoryLog, smallDisk } from '../db/kit.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { get, md5Of, objectRows, put, STORAGE, sha256Of, storeFiles } from './objects-kit.ts'
import { type Peer, peer } from './peer.ts'
import { pattern } from './storage-kit.ts'

const MIB = 1 << 20
const CHUNKED = 'Transfer-Encoding: chunked'
const LONG = 'x'.repeat(20_000)

function head(...more: string[]): string {
  return [`PUT ${STORAGE}/1/a HTTP/1.1`, 'Host: localhost', ...more, '', ''].join('\r\n')
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

const underway = (server: TestServer) => until('bytes on the disk', () => storeFiles(server).incoming.length === 1)

/** Waits until nothing is being written, and asserts that nothing was stored. */
async function traceless(server: TestServer): Promise<void> {
  await until('nothing to be left', () => storeFiles(server).incoming.length === 0)
  assert.deepEqual([storeFiles(server).kept, objectRows(server)], [[], []])
  assert.equal((await put(server, '1/next', 'the next one')).status, 201)
}

/** All bytes until the connection ends. */
async function end(one: Peer): Promise<string> {
  await until('its end', one.closed)
  return one.text()
}

describe('a body that breaks off', () => {
  for (const [what, size, first] of [
    ['of a length that was announced', 'Content-Length: 1000000', LONG],
    ['of no length', CHUNKED, chunk(LONG)],
  ] as const)
    test(`in the middle, ${what}, leaves nothing behind`, async () => {
      const { log, lines } = memoryLog()
      await using server = await startServer({ log })
      using one = await peer(server, head(size) + first)
      await underway(server)
      one.socket.destroy()
      await traceless(server)
      assert.deepEqual(
        lines.filter(({ level }) => Number(level) >= 50),
        [],
      )
    })

  test('before its first byte leaves nothing behind', async () => {
    await using server = await startServer()
    for (let i = 0; i < 20; i += 1) {
      using one = await peer(server, head('Content-Length: 1000000'))
      one.socket.destroy()
    }
    await traceless(server)
  })

  for (const [what, sent] of [
    ['that is too short', head('Content-Length: 30000') + LONG],
    ['without its last chunk', head(CHUNKED) + chunk(LONG)],
  ] as const)
    test(`with a half-closed connection, ${what}, is refused`, async () => {
      await using server = await startServer()
      using one = await peer(server, sent)
      one.socket.end()
      assert.match(await end(one), /^HTTP\/1\.1 400 .*was cut off/s)
      await traceless(server)
    })

  test('in malformed chunks is refused', async () => {
    await using server = await startServer()
    using one = await peer(server, `${head(CHUNKED)}${chunk(LONG)}garbage\r\n`)
    assert.match(await end(one), /^HTTP\/1\.1 400 .*does not match its transfer coding/s)
    await traceless(server)
  })

  test('keeps the earlier object', async () => {
    await using server = await startServer()
    await put(server, '1/a', 'whole')
    using one = await peer(server, `${head('Content-Length: 1000000')}${LONG}`)
    await underway(server)
    assert.equal((await get(server, '1/a')).text, 'whole')
    one.socket.destroy()
    await until('nothing to be left', () => storeFiles(server).incoming.length === 0)
    assert.equal((await get(server, '1/a')).text, 'whole')
  })

  test('because of a shutdown leaves nothing behind', async () => {
    await using server = await startServer()
    using one = await peer(server, `${head('Content-Length: 1000000')}${LONG}`)
    await underway(server)
    await server.close(0)
    await until('nothing to be left', () => storeFiles(server).incoming.length === 0)
    assert.ok(!one.text().includes('HTTP/1.1 20'))
  })
})

test('a body beyond its announced length is stored up to that length, and refused if a digest covers more', async () => {
  await using server = await startServer()
  using one = await peer(server, `${head('Content-Length: 5')}Hello, Ada!`)
  assert.match(await end(one), /^HTTP\/1\.1 201 .*\r\nConnection: close\r\n/s)
  assert.equal((await get(server, '1/a')).text, 'Hello')
  for (const digest of [`Content-MD5: ${md5Of('Hello, Ada!')}`, `x-checksum-sha256: ${sha256Of('Hello, Ada!')}`]) {
    using other = await peer(server, `${head('Content-Length: 7', digest)}Hello, Ada!`)
    assert.match(await end(other), /^HTTP\/1\.1 400 .*is not the digest of the body/s)
  }
  assert.equal((await get(server, '1/a')).text, 'Hello')
  assert.deepEqual(storeFiles(server).incoming, [])
})

const limited = { config: { max_upload_bytes: 100_000 } }

describe('a body that is too large', () => {
  test('by one byte is refused, and a body of the exact limit is stored, with and without a length', async () => {
    await using server = await startServer(limited)
    for (const headers of [{}, { 'Transfer-Encoding': 'chunked' }]) {
      const lengthless = Object.keys(headers).length > 0
      const sent = (size: number) =>
        lengthless
          ? chunked(server, 'x'.repeat(size))
          : put(server, '1/a', 'x'.repeat(size)).then(({ status }) => status)
      assert.equal(await sent(100_001), 413)
      await until('nothing to be left', () => storeFiles(server).incoming.length === 0)
      assert.equal(await sent(100_000), lengthless ? 200 : 201)
    }
  })

  test('is refused at once by its announced length', async () => {
    await using server = await startServer(limited)
    using one = await peer(server, head('Content-Length: 100001'))
    assert.match(await end(one), /^HTTP\/1\.1 413 .*\r\nConnection: close\r\n.*upload_too_large/s)
    await traceless(server)
  })

  test('is refused while it is sent without a length, and the answer arrives', async () => {
    await using server = await startServer(limited)
    using one = await peer(server, head(CHUNKED))
    for (let i = 0; i < 20; i += 1) one.socket.write(chunk('x'.repeat(10_000)))
    assert.match(await end(one), /^HTTP\/1\.1 413 .*\r\nConnection: close\r\n.*upload_too_large/s)
    await traceless(server)
  })
})

/** Sends a body without a length, and returns the status. */
async function chunked({ url }: TestServer, text: string): Promise<number> {
  const outgoing = send(`${url}${STORAGE}/1/a`, { method: 'PUT', agent: false })
  outgoing.on('error', () => {})
  outgoing.write(text.slice(0, 10))
  outgoing.end(text.slice(10))
  const [answer] = await once(outgoing, 'response')
  answer.resume()
  return answer.statusCode as number
}

describe('a client that expects 100 Continue', () => {
  const refusals: Readonly<Record<string, [head: string, status: number]>> = {
    'a key of somebody else': [head('Content-Length: 5').replace('/1/a', '/2/a'), 404],
    'what is no key': [head('Content-Length: 5').replace('/1/a', '/1//a'), 400],
    'a key of an asset': [head('Content-Length: 5').replace('/1/a', '/1/asset_a'), 409],
    'too much': [head('Content-Length: 100001'), 413],
    'an encoded body': [head('Content-Length: 5', 'Content-Encoding: gzip'), 415],
    'a condition that does not hold': [head('Content-Length: 5', 'If-Match: *'), 412],
    'nothing that is there': [head('Content-Length: 5').replace('PUT /api/storage/1/a', 'POST /nowhere'), 404],
  }
  for (const [what, [asked, status]] of Object.entries(refusals))
    test(`with ${what} is refused before it sends its body`, async () => {
      await using server = await startServer(limited)
      using one = await peer(server, asked.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'))
      const text = await end(one)
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} .*\\r\\nConnection: close\\r\\n`, 's'))
    })

  test('gets 100 Continue once, and its connection stays open', async () => {
    await using server = await startServer(limited)
    using one = await peer(server, head('Content-Length: 5', 'Expect: 100-continue'))
    await until('word to go on', () => one.text() === 'HTTP/1.1 100 Continue\r\n\r\n')
    one.socket.write(`Hello${head('Content-Length: 0').replace('/1/a', '/1/b')}`)
    await until('both answers', () => /HTTP\/1\.1 201 .*HTTP\/1\.1 201 /s.test(one.text()))
    assert.equal(one.text().split('100 Continue').length, 2)
    assert.equal(one.closed(), false)
  })
})

const HASTY = { head_ms: 300, request_ms: 400, idle_ms: 400, check_ms: 50 }

describe('a body', () => {
  test('may take longer than other requests, as long as bytes come', async () => {
    await withMoreTime(1_500, async (upload_window_ms) => {
      await using server = await startServer({ listener: HASTY, upload_window_ms })
      const pieces = 12
      using one = await peer(server, head(`Content-Length: ${pieces * 5_000}`))
      const began = performance.now()
      for (let i = 0; i < pieces; i += 1) {
        one.socket.write('y'.repeat(5_000))
        if (i % 4 === 1) await outlast(server)
      }
      await until('the answer', () => one.text().includes('"size":60000'))
      assert.ok(performance.now() - began > HASTY.request_ms)
      assert.match(one.text(), /^HTTP\/1\.1 201 /)
    })
  })

  test('that stalls is ended with an answer, and leaves nothing behind', async () => {
    await using server = await startServer({ upload_window_ms: 100 })
    using one = await peer(server, `${head('Content-Length: 1000000')}${LONG}`)
    assert.match(await end(one), /^HTTP\/1\.1 400 .*\r\nConnection: close\r\n.*came to a halt/s)
    await traceless(server)
  })

  test('that was refused has the time limit of other requests', async () => {
    await using server = await startServer({ listener: HASTY })
    using one = await peer(server, head('Content-Length: 1000').replace('/1/a', '/2/a'))
    assert.match(await end(one), /^HTTP\/1\.1 404 /)
  })
})

/** Waits until a client was cut off that took longer than a whole request may. */
async function outlast(server: TestServer): Promise<void> {
  using slow = await peer(server, 'POST /api/workflows HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n')
  await until('a slow request that is cut off', slow.closed)
}

test('with a full disk a body is refused temporarily, without revealing the cause', { skip: cannotMount }, async () => {
  using disk = smallDisk(8 * MIB)
  const { log, lines } = memoryLog()
  await using server = await startServer({ log, data_dir: disk.path })
  await put(server, '1/a', 'whole')
  const later = async (raw: string) => {
    const answer = await call<ErrorBody>(server, 'PUT', `${STORAGE}/1/a`, { raw })
    assert.deepEqual([answer.status, answer.body.error.type], [503, 'service_unavailable'])
    assert.match(String(answer.headers['retry-after']), /^\d+$/)
    assert.doesNotMatch(answer.text, /disk|space|ENOSPC|write/i)
    await until('nothing to be left', () => storeFiles(server).incoming.length === 0)
  }
  await later('x'.repeat(9 * MIB))
  assert.ok(lines.some((line) => JSON.stringify(line).includes('ENOSPC')))
  {
    using _filled = fill(disk.path)
    await later('small')
  }
  assert.equal((await get(server, '1/a')).text, 'whole')
})

/** With SVC_TEST_SCALE=100, 5 GiB. */
const LARGE = scaled(51.2 * MIB)

test('a large body that is cut off at any byte leaves nothing behind', async () => {
  await using server = await startServer()
  const cut = 1 + Math.floor(Math.random() * (LARGE - 1))
  const outgoing = send(`${server.url}${STORAGE}/1/large`, {
    method: 'PUT',
    agent: false,
    headers: { 'Content-Length': LARGE },
  })
  outgoing.on('error', () => {})
  for await (const piece of pattern(cut))
    if (!outgoing.write(piece)) await Promise.race([once(outgoing, 'drain'), once(outgoing, 'close')])
  await until(`bytes on the disk, cut at ${cut}`, () => storeFiles(server).incoming.length === 1)
  outgoing.destroy()
  await until(`nothing to be left, cut at ${cut}`, () => storeFiles(server).incoming.length === 0)
  await traceless(server)
})
