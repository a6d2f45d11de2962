// Servers of models that say much that is nothing hold up nobody.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Attack, holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor. */
const LONGEST_HOLD = 100
const KEY = 'sk-fair-4711-9f8e7d6c5b4a3210'

interface Answer {
  readonly name: string
  readonly stream: boolean
  /** What comes between the first piece of the answer and its end. */
  readonly between: string
}

const chunk = (more: string) => `data: {"id":"a","choices":[{"index":0,"delta":{"content":"a"}}]${more}}\n\n`
const END = 'data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const named = (count: number, more: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => chunk(more(at))).join('')
const sized = (full: number) => Math.ceil(full * share(0.25))

const answers: readonly Answer[] = [
  { name: 'empty lines', stream: true, between: '\n'.repeat(sized(8_000_000)) },
  { name: 'comments', stream: true, between: ':\n\n'.repeat(sized(4_000_000)) },
  { name: 'words', stream: true, between: chunk('').repeat(sized(100_000)) },
  { name: 'counts', stream: true, between: named(sized(20_000), (at) => `,"usage":{"n${at}":1}`) },
  { name: 'names', stream: false, between: named(sized(40_000), (at) => `,"n${at}":1`) },
]

test('no stream of a server holds the event loop', async () => {
  let text = ''
  const upstream = createServer((request, response) => {
    const isList = request.method === 'GET'
    response.setHeader('Content-Type', isList ? 'application/json' : 'text/event-stream')
    request.resume().once('end', () => response.end(isList ? '{"object":"list","data":[{"id":"m"}]}' : text))
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  try {
    await using server = await startFair({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: KEY })
    for (const { name, stream, between } of answers) {
      text = chunk('') + between + END
      const body = JSON.stringify({ model: 'openai/m', messages: [{ role: 'user', content: 'a' }], stream })
      const attack: Attack = {
        name: `a stream of ${name}`,
        strike: (attacker) => attacker.expect(200, 'POST', '/v1/chat/completions', body),
      }
      await holdsLittle(server, attack, LONGEST_HOLD)
    }
  } finally {
    upstream.closeAllConnections()
    upstream.close()
  }
})
