// Answers that come at once are taken apart in turns, and are whole.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { localHttp, rawServer, request } from './servers.ts'

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('of many answers in tiny chunks and in large ones, each is whole, also where a connection is used again', async () => {
  const tiny = 'abc'.repeat(20_000)
  const large = Buffer.from(Array.from({ length: 900_000 }, (_, at) => (at * 7_919) % 251))
  const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${tiny.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`
  await using server = await rawServer((socket, asked) => {
    if (asked.startsWith('GET /tiny')) return socket.write(chunked)
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n`)
    socket.write(large)
  })
  await using http = localHttp()
  for (let round = 0; round < 2; round++) {
    const sent = Array.from({ length: 24 }, async (_, at) => {
      const isTiny = at % 2 === 0
      const { body } = await http.send(request(`${server.url}/${isTiny ? 'tiny' : 'large'}`))
      assert.equal(digest(body), digest(isTiny ? Buffer.from(tiny) : large))
    })
    await Promise.all(sent)
  }
  assert.ok(server.connections <= 32)
})

test('an answer that ends with its connection is whole', async () => {
  await using server = await rawServer((socket) => {
    socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${'x'.repeat(400_000)}`)
  })
  await using http = localHttp()
  const sent = Array.from({ length: 16 }, () => http.send(request(server.url)))
  for (const { body } of await Promise.all(sent)) assert.equal(body.length, 400_000)
})
