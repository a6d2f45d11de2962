// Large content is sent at the client's pace, is never buffered, and its file is closed whatever the client does.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BufferPool, FileReadStream } from '../../src/assets/stores/file-read-stream.ts'
import { LocalObjectStore } from '../../src/assets/stores/local-object-store.ts'
import type { ByteRange } from '../../src/assets/stores/object-store.ts'
import { insertAsset } from '../../src/db/assets/rows.ts'
import { createFileReply } from '../../src/http/body/file-reply.ts'
import { FileResponseSink } from '../../src/http/body/file-response-sink.ts'
import { call } from '../helpers/http.ts'
import { atRealSize } from '../helpers/scale.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { peer } from './peer.ts'
import { pattern, stored } from './storage-kit.ts'

const MIB = 1 << 20
const LARGE = 100 * MIB

/** An asset of `size` bytes that were never in memory together. */
async function large(server: TestServer, size: number): Promise<{ path: string; sha256: string; file: string }> {
  const row = await stored(server, 'a place for it')
  const content_key = 'large'
  const written = await new LocalObjectStore(join(server.data_dir, 'storage'), Date.now).put(content_key, pattern(size))
  const id = 'asset_large'
  const storage_key = '1/asset_large.bin'
  const content_type = 'application/octet-stream'
  await server.context.store.write((tx) =>
    insertAsset(tx, { ...row, ...written, id, storage_key, content_key, content_type }),
  )
  const file = join(server.data_dir, 'storage', 'objects', content_key)
  return { path: `/api/storage/${storage_key}`, sha256: written.sha256, file }
}

function answer(server: TestServer, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => get(server.url + path, { agent: false }, resolve).on('error', reject))
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of memory in use, without garbage. */
function held(): number {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

const FDS = '/proc/self/fd'

/** Open files of this process with this content; none if the system does not list them. */
function openFiles(file: string): number {
  return readdirSync(FDS).filter((fd) => {
    try {
      return readlinkSync(join(FDS, fd)) === file
    } catch {
      return false
    }
  }).length
}

test('a large object is streamed in little memory at the client’s pace', { skip: atRealSize }, async () => {
  await using server = await startServer()
  const { path, sha256 } = await large(server, LARGE)
  const idle = held()
  const incoming = await answer(server, path)
  const hash = createHash('sha256')
  let [size, looked, peak] = [0, 0, 0]
  for await (const chunk of incoming) {
    hash.update(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size < looked) continue
    looked += 5 * MIB
    peak = Math.max(peak, held() - idle)
  }
  assert.equal(size, LARGE)
  assert.equal(hash.digest('hex'), sha256)
  assert.ok(peak < 32 * MIB, `${Math.round(peak / MIB)} MiB above idle`)
})

test('a reader that pauses keeps the file open, and a reader that disconnects closes it', {
  skip: !existsSync(FDS),
}, async () => {
  await using server = await startServer()
  const { path, file } = await large(server, 40 * MIB)
  const before = held()
  const incoming = await Promise.all(Array.from({ length: 4 }, () => answer(server, path)))
  for (const one of incoming) one.pause()
  await until('the files to be open', () => openFiles(file) === 4)
  // The most that is read for paused readers: the size of the socket buffers of both sides.
  assert.ok(held() - before < 32 * MIB)
  for (const one of incoming) one.destroy()
  await until('the files to be closed', () => openFiles(file) === 0)
  assert.equal((await call(server, 'GET', path, { headers: { Range: 'bytes=0-9' } })).status, 206)
  await until('that file to be closed as well', () => openFiles(file) === 0)
})

test('a reader that reads nothing for too long is cut off, and the file is closed', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'file')
  writeFileSync(path, Buffer.alloc(40 * MIB))
  const files: FileHandle[] = []
  const listener = createServer(async (_, response) => {
    const file = await open(path)
    files.push(file)
    const source = new FileReadStream(file, { start: 0, length: 40 * MIB }, new BufferPool(2))
    pipeline(source, new FileResponseSink(response, source, 100), () => {})
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  using one = await peer({ url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}` })
  one.socket.pause()
  one.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('the file to be open, and closed again', () => files.length === 1 && files[0]!.fd === -1)
  listener.close()
  await once(listener, 'close')
  rmSync(folder, { recursive: true })
})

test('of a thousand requests in one packet one file is open at a time, and requests beyond the limit are refused', {
  skip: !existsSync(FDS),
}, async () => {
  await using server = await startServer()
  const { path, file } = await large(server, 40 * MIB)
  const before = held()
  using one = await peer(server)
  one.socket.pause()
  one.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(1_000))
  await until('the first to be sent', () => one.socket.bytesRead > 0 || openFiles(file) > 0)
  // A later client is answered once all of the packet was processed.
  assert.equal((await call(server, 'GET', '/health')).status, 200)
  assert.equal(openFiles(file), 1)
  assert.ok(held() - before < 48 * MIB, `${Math.round((held() - before) / MIB)} MiB are held`)
  one.socket.destroy()
  await until('the file to be closed', () => openFiles(file) === 0)
  using other = await peer(server, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-0\r\n\r\n`.repeat(300))
  const statuses = () => [...other.text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  await until('all answers', () => statuses().length === 300)
  assert.deepEqual([...new Set(statuses())], ['206', '429'])
  assert.ok(statuses().indexOf('429') > 90)
  assert.match(other.text(), /HTTP\/1\.1 429 .*\r\nRetry-After: 1\r\n.*rate_limited/s)
})

test('a client that disconnects before the first byte leaves no file open', { skip: !existsSync(FDS) }, async () => {
  await using server = await startServer()
  const { path, file } = await large(server, 4 * MIB)
  const warnings: string[] = []
  const warned = ({ message }: Error) => warnings.push(message)
  process.on('warning', warned)
  for (let i = 0; i < 50; i += 1) {
    const outgoing = get(server.url + path, { agent: false }).on('error', () => null)
    outgoing.once('socket', (socket) => socket.once('connect', () => setImmediate(() => outgoing.destroy())))
    await new Promise((resolve) => outgoing.once('close', resolve))
  }
  // A leaked file is closed by the garbage collector, which warns of it.
  await until('the files to be closed', () => held() > 0 && openFiles(file) === 0)
  assert.equal((await call(server, 'HEAD', path)).status, 200)
  process.off('warning', warned)
  assert.deepEqual(warnings, [])
})

test('a file that cannot be read gives an error response, which is temporary if a retry may help', async () => {
  const folder = temporaryFolder()
  // A file that is open only for writing cannot be read.
  const read = async (range: ByteRange) =>
    new FileReadStream(await open(join(folder, 'file'), 'w'), range, new BufferPool(1))
  const facts = { name: 'file', content_type: 'text/plain', size: 5, sha256: '0'.repeat(64), created_at: null }
  await assert.rejects(createFileReply({}, { ...facts, read }), { code: 'EBADF' })
  const failed = (code: string) => () => Promise.reject(Object.assign(new Error('of the file system'), { code }))
  for (const code of ['EMFILE', 'EIO'])
    await assert.rejects(createFileReply({}, { ...facts, read: failed(code) }), { code: 'SERVICE_UNAVAILABLE' })
  rmSync(folder, { recursive: true })
})

test('truncated content gives a server error, and never a shorter answer', async () => {
  await using server = await startServer()
  const { path, file } = await large(server, 4 * MIB)
  truncateSync(file, MIB)
  assert.equal((await call(server, 'GET', path)).status, 500)
  assert.equal((await call(server, 'GET', path, { headers: { Range: 'bytes=0-9' } })).status, 206)
  rmSync(file)
  const { status, text } = await call(server, 'GET', path)
  assert.equal(status, 500)
  assert.ok(!text.includes(server.data_dir) && !text.includes('large'))
})
