// Data around the bytes of servers' answers, which the HTTP library parses piece by
// piece. It delays no other user, in however many answers it comes at once.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time. */
const LONGEST_HOLD = 150
const REQUESTS = 24

const CHUNKED = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n'
const CHUNKS = '1\r\na\r\n'
const INTERIM = 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'
const sized = (full: number) => Math.ceil(full * share(0.25))

const answers: Readonly<Record<string, string>> = {
  chunks: `${CHUNKED}${CHUNKS.repeat(sized(400_000))}0\r\n\r\n`,
  heads: `${INTERIM.repeat(sized(80_000))}${CHUNKED}0\r\n\r\n`,
  // More bytes than the client accepts, so the connection ends.
  trailers: `${CHUNKED}${CHUNKS}0\r\n${'a: b\r\n'.repeat(sized(400_000))}\r\n`,
}

test('no raw parts of servers’ answers hold the event loop', async () => {
  const upstream = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (asked) => socket.write(answers[asked.toString('latin1').split(' ')[1]!.slice(1)]!))
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  await using server = await startFair({ SVC_HTTP_NODE_ALLOW: '127.0.0.1' })
  try {
    for (const what of Object.keys(answers)) {
      const request = (at: number) => ({
        id: `n${at}`,
        type: 'http.Request',
        data: { url: `http://127.0.0.1:${port}/${what}` },
      })
      const id = await server.attacker.store({
        nodes: Array.from({ length: REQUESTS }, (_, at) => request(at)),
        edges: [],
      })
      const attack = {
        name: `${REQUESTS} answers with very many ${what}`,
        strike: () => server.attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}'),
      }
      await holdsLittle(server, attack, LONGEST_HOLD)
    }
  } finally {
    upstream.close()
  }
})
