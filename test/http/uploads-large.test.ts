// Large uploads are written to disk while they come, no faster than the disk: none is buffered in memory.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { TemporaryAssetUpload } from '../../generated/types.ts'
import { type FileUpload, openFileUpload } from '../../src/http/body/multipart/uploads.ts'
import { UploadStallDetector } from '../../src/net/upload-stall-detector.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, until } from '../helpers/server.ts'
import { pattern } from './storage-kit.ts'
import { END, FORM_TYPE, partHead, UPLOADS } from './uploads-kit.ts'

const MIB = 1 << 20
/** With SVC_TEST_SCALE=100, 1 GiB. */
const LARGE = Math.min(scaled(64 * MIB), 1_024 * MIB)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of memory in use, without garbage. */
function held(): number {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

test('a large upload needs little memory', async () => {
  await using server = await startServer()
  const { hostname, port } = new URL(server.url)
  const outgoing = send({ hostname, port, method: 'POST', path: UPLOADS, headers: { 'Content-Type': FORM_TYPE } })
  const answered = once(outgoing, 'response')
  const idle = held()
  let [sent, looked, peak] = [0, 0, 0]
  outgoing.write(partHead())
  for await (const piece of pattern(LARGE)) {
    if (!outgoing.write(piece)) await once(outgoing, 'drain')
    sent += piece.length
    if (sent < looked) continue
    looked += LARGE / 16
    peak = Math.max(peak, held() - idle)
  }
  outgoing.end(END)
  const [incoming] = await answered
  const { uri, size } = JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as TemporaryAssetUpload
  assert.equal(size, LARGE)
  assert.ok(peak < 32 * MIB, `${Math.round(peak / MIB)} MiB above idle`)
  const found = await server.context.assets.temporary.find(null, uri.slice('/api/storage/'.length))
  assert.equal(found?.size, LARGE)
})

test('an upload is not read faster than it is written', async () => {
  const opened = Promise.withResolvers<FileUpload>()
  const sockets: { bytesRead: number }[] = []
  const server = createServer((request) => {
    sockets.push(request.socket)
    openFileUpload(request, { largest: 1_000 * MIB, pace: new UploadStallDetector(), confirm: async () => {} }).then(
      opened.resolve,
      opened.reject,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = send({ port, host: '127.0.0.1', method: 'POST', headers: { 'Content-Type': FORM_TYPE } })
  outgoing.on('error', () => {})
  outgoing.write(partHead())
  const piece = Buffer.alloc(MIB)
  for (let i = 0; i < 40; i += 1) outgoing.write(piece)
  try {
    const upload = await opened.promise
    const reader = upload.bytes[Symbol.asyncIterator]()
    await reader.next()
    const read = sockets[0]!.bytesRead
    // All bytes that can come have come meanwhile.
    let rounds = 0
    await until('the sender to wait', () => outgoing.writableNeedDrain && ++rounds > 40)
    assert.ok(sockets[0]!.bytesRead - read < 4 * MIB, `${sockets[0]!.bytesRead} bytes were read`)
    // The last bytes are held back, since they may begin a boundary.
    for (let size = 0; size < 39 * MIB; ) size += (await reader.next()).value!.length
    assert.ok(sockets[0]!.bytesRead >= 39 * MIB)
    upload[Symbol.dispose]()
  } finally {
    outgoing.destroy()
    server.closeAllConnections()
    server.close()
  }
})
