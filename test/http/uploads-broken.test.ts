// Uploads that break off, stall, or find a full disk: the connection and the disk are as before.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotMount, fill, memoryLog, smallDisk } from '../db/kit.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { type Peer, peer } from './peer.ts'
import { END, FORM_TYPE, fileForm, partHead, temporaryFiles, UPLOADS } from './uploads-kit.ts'

/** Begins an upload of a body of `length` bytes with the first bytes of a file. */
function begin(server: TestServer, length: number | null, first = `${partHead()}Hello`): Promise<Peer> {
  const size = length === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  const body = length === null ? `${first.length.toString(16)}\r\n${first}\r\n` : first
  return peer(
    server,
    `POST ${UPLOADS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM_TYPE}\r\n${size}\r\n\r\n${body}`,
  )
}

/** More than is inspected before anything is written. */
const LONG = 'x'.repeat(20_000)
const underway = (server: TestServer) => until('bytes on the disk', () => temporaryFiles(server).length === 1)
const nothing = (server: TestServer) => until('nothing to be left', () => temporaryFiles(server).length === 0)

describe('an upload that breaks off', () => {
  for (const [what, length] of [
    ['of a length that was announced', 1_000_000],
    ['of no length', null],
  ] as const) {
    test(`in the middle of a file ${what} leaves nothing behind`, async () => {
      const { log, lines } = memoryLog()
      await using server = await startServer({ log })
      using one = await begin(server, length, `${partHead()}${LONG}`)
      await underway(server)
      one.socket.destroy()
      await nothing(server)
      assert.equal((await call(server, 'POST', UPLOADS, fileForm('the next one'))).status, 201)
      assert.deepEqual(
        lines.filter(({ level }) => Number(level) >= 50),
        [],
      )
    })
  }

  test('with its connection before the first byte leaves nothing behind', async () => {
    await using server = await startServer()
    for (let i = 0; i < 20; i += 1) {
      using one = await begin(server, 1_000_000, '')
      one.socket.destroy()
    }
    assert.equal((await call(server, 'POST', UPLOADS, fileForm('the next one'))).status, 201)
    assert.equal(temporaryFiles(server).length, 1)
  })

  test('because its announced length is too short is refused', async () => {
    await using server = await startServer()
    const body = `${partHead()}Hello${END}`
    using one = await begin(server, body.length - 10, body)
    // The rest is parsed as another request, which is malformed.
    await until('its end', one.closed)
    assert.match(one.text(), /^HTTP\/1\.1 400 /)
    await nothing(server)
  })

  test('because of a shutdown leaves nothing behind', async () => {
    await using server = await startServer()
    using one = await begin(server, 1_000_000, `${partHead()}${LONG}`)
    await underway(server)
    await server.close(0)
    await nothing(server)
    assert.ok(!one.text().includes('HTTP/1.1 201'))
  })
})

const HASTY = { head_ms: 300, request_ms: 400, idle_ms: 400, check_ms: 50 }

describe('an upload', () => {
  test('may take longer than other requests, as long as bytes come', async () => {
    await withMoreTime(1_500, async (upload_window_ms) => {
      await using server = await startServer({ listener: HASTY, upload_window_ms })
      const pieces = 12
      const length = partHead().length + pieces * 5_000 + END.length
      using one = await begin(server, length, partHead())
      const began = performance.now()
      // Clients that are slower than a whole request may be are cut off meanwhile, more than once.
      for (let i = 0; i < pieces; i += 1) {
        one.socket.write('y'.repeat(5_000))
        if (i % 4 === 1) await outlast(server)
      }
      one.socket.write(END)
      await until('the answer', () => one.text().includes('"expires_at"'))
      assert.ok(performance.now() - began > HASTY.request_ms)
      assert.match(one.text(), /^HTTP\/1\.1 201 /)
      assert.match(one.text(), /"size":60000/)
      // The connection has the usual limits again.
      one.socket.write('POST /api/workflows HTTP/1.1\r\nHost: localhost\r\n')
      await until('its end', one.closed)
      assert.match(one.text(), /HTTP\/1\.1 408 /)
    })
  })

  test('that stalls is ended with an answer, and leaves nothing behind', async () => {
    await using server = await startServer({ upload_window_ms: 100 })
    using one = await begin(server, 1_000_000, `${partHead()}${LONG}`)
    await until('the answer', () => one.text().includes('came to a halt'))
    assert.match(one.text(), /^HTTP\/1\.1 400 .*\r\nConnection: close\r\n/s)
    await until('its end', one.closed)
    await nothing(server)
  })

  test('that sends a byte now and then counts as stalled', async () => {
    await using server = await startServer({ upload_window_ms: 300 })
    using one = await begin(server, 1_000_000)
    const timer = setInterval(() => one.socket.write('x'), 20)
    await until('the answer', () => one.text().includes('came to a halt'))
    clearInterval(timer)
  })

  test('that was refused has the time limit of other requests', async () => {
    await using server = await startServer({ listener: HASTY })
    using one = await peer(
      server,
      `POST ${UPLOADS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM_TYPE}\r\nX-Forwarded-For: 203.0.113.7\r\nContent-Length: 1000\r\n\r\n`,
    )
    await until('the refusal', () => one.text().includes('HTTP/1.1 401'))
    await until('its end', one.closed)
  })
})

/** Waits until a client was cut off that took longer than a whole request may. */
async function outlast(server: TestServer): Promise<void> {
  using slow = await peer(server, 'POST /api/workflows HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n')
  await until('a slow request that is cut off', slow.closed)
}

describe('an upload to a full disk', () => {
  test('is refused temporarily without revealing the cause, and leaves nothing behind', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(8 * (1 << 20))
    const { log, lines } = memoryLog()
    await using server = await startServer({ log, data_dir: disk.path })
    const large = fileForm('x'.repeat(9 * (1 << 20)))
    const { status, body, text, headers } = await call<ErrorBody>(server, 'POST', UPLOADS, large)
    assert.equal(status, 503, text)
    assert.equal(body.error.type, 'service_unavailable')
    assert.match(String(headers['retry-after']), /^\d+$/)
    assert.doesNotMatch(text, /disk|space|ENOSPC|write/i)
    assert.ok(lines.some((line) => JSON.stringify(line).includes('ENOSPC')))
    await nothing(server)
    using _filled = fill(disk.path)
    assert.equal((await call(server, 'POST', UPLOADS, fileForm('small'))).status, 503)
    await nothing(server)
  })
})
