// Bodies that are read without the library get the same verdicts as bodies that the library reads.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { startServer, type TestServer, until } from '../../helpers/server.ts'

const PATH = '/v1/chat/completions'
const PLAIN = ['application/json', 'Application/JSON; charset=utf-8', 'application/json;charset=UTF-8']
/** An equivalent type that is left to the library. */
const OTHER = 'application/json; charset=utf-8; way=long'
const GOOD = JSON.stringify({ model: 'builtin/echo', messages: [{ role: 'user', content: 'Grüße 🦊' }] })
const BYTES: Readonly<Record<string, Buffer>> = {
  'what is asked for': Buffer.from(GOOD),
  'the mark of a byte order': Buffer.from(`\ufeff${GOOD}`),
  'white space around it': Buffer.from(`\r\n\t ${GOOD} \n`),
  'no JSON': Buffer.from('{"model":'),
  'two values': Buffer.from('{} {}'),
  'white space alone': Buffer.from('  '),
  'a number': Buffer.from('7'),
  null: Buffer.from('null'),
  'no UTF-8': Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
  'UTF-16': Buffer.from(GOOD, 'utf16le'),
  'half a character': Buffer.from(GOOD.replace('Gr', '\\ud83d')),
  'too many levels': Buffer.from(`{"model":"builtin/echo","messages":${'['.repeat(200)}${']'.repeat(200)}}`),
  'a member that is not known to be one': Buffer.from('{"__proto__":{"model":"builtin/echo"},"messages":[]}'),
}

describe('plain bodies', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server[Symbol.asyncDispose]())

  /** The status, and the text of the answer or the problems. */
  async function verdict(body: Buffer, type: string): Promise<{ status: number; said: unknown }> {
    const answer = await fetch(server.url + PATH, { method: 'POST', headers: { 'content-type': type }, body })
    const { choices, error } = (await answer.json()) as { choices?: [{ message: unknown }]; error?: unknown }
    return { status: answer.status, said: choices?.[0].message ?? error }
  }

  for (const [name, bytes] of Object.entries(BYTES)) {
    test(`get the verdict of the library: ${name}`, async () => {
      const expected = await verdict(bytes, OTHER)
      assert.ok(expected.said, 'it says something')
      for (const type of PLAIN) assert.deepEqual(await verdict(bytes, type), expected, type)
    })
  }

  test('are accepted if they are JSON, and refused otherwise', async () => {
    assert.equal((await verdict(BYTES['what is asked for']!, PLAIN[0]!)).status, 200)
    assert.equal((await verdict(BYTES['the mark of a byte order']!, PLAIN[0]!)).status, 200)
    assert.equal((await verdict(BYTES['no JSON']!, PLAIN[0]!)).status, 400)
  })

  test('can come byte by byte', async () => {
    const bytes = Buffer.from(GOOD)
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), noDelay: true })
    let heard = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text
    })
    socket.write(head(bytes.length))
    for (const byte of bytes) await new Promise((sent) => socket.write(Uint8Array.of(byte), sent))
    await until('the answer', () => heard.includes('Grüße 🦊'))
    assert.match(heard, /^HTTP\/1\.1 200 /)
    socket.destroy()
    await once(socket, 'close')
  })

  test('count as a bad request if they are cut off, and the server keeps running', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port) })
    const before = await counted()
    socket.write(head(GOOD.length * 2, 'expect: 100-continue\r\n'))
    // The server waits for the body by now.
    await once(socket, 'data')
    await new Promise((sent) => socket.write(GOOD, sent))
    socket.resetAndDestroy()
    await until('it to be counted', async () => (await counted()) === before + 1)
    assert.equal((await verdict(BYTES['what is asked for']!, PLAIN[0]!)).status, 200)
  })

  async function counted(): Promise<number> {
    const text = await server.context.metrics.text()
    return Number(/operation="createChatCompletion",status="400"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
})

function head(length: number, more = ''): string {
  return `POST ${PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${more}\r\n`
}
