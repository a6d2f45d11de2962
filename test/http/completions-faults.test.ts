// createChatCompletion with faults in the middle: servers that hang, break, flood or send nonsense, clients that disconnect, and the shutdown. Other
// requests are still answered.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import pino from 'pino'
import { asking, dataOf, type Gateway, open, post, sent, startGateway, textIn } from '../completions/kit.ts'
import { belowInSome } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import type { Script } from '../helpers/upstream.ts'

const STREAM = asking({ stream: true })

interface Fault {
  readonly script: Script
  /** Whether the fault comes before any text. */
  readonly early?: boolean
}

const hello = {
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }],
  id: 'x',
  model: 'm',
  created: 1,
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'is cut before its head': { script: { cuts: 'head' }, early: true },
  'is cut before its first event': { script: { cuts: 'body' }, early: true },
  'is cut after two events': { script: { cuts: 2 } },
  'ends after an event without saying so': { script: { events: [hello] } },
  'is garbage from the beginning': { script: { events: ['garbage'] }, early: true },
  'is garbage after an event': { script: { events: [hello, '<html>nginx said no</html>'] } },
  'is half an object': { script: { events: [hello, '{"id":"x","choices":['] } },
  'is of another type': { script: { body: '<html></html>', content_type: 'text/html' }, early: true },
  'is not streamed': { script: { body: '{"choices":[]}' }, early: true },
  'is an error': { script: { events: [{ error: { message: 'the upstream said so', code: 500 } }] }, early: true },
  'is an error after an event': { script: { events: [hello, { error: { message: 'the upstream said so' } }] } },
  'is an error of another shape': {
    script: { events: [{ object: 'error', message: 'said so', code: 500 }] },
    early: true,
  },
  'is an error of another shape after an event': { script: { events: [hello, { detail: 'the upstream said so' }] } },
  'is an error by its name': {
    script: { body: 'event: error\ndata: {"choices":[],"x":"said so"}\n\n', content_type: 'text/event-stream' },
    early: true,
  },
  'only ends': { script: { events: ['[DONE]'] }, early: true },
  'is nothing': { script: { events: [] }, early: true },
}

/** Answers prompts with "fault" with the script, others normally. */
async function startFaulty(script: Script, settings = {}): Promise<Gateway> {
  const isFault = (json: { messages: { content: string }[] }) => json.messages[0]!.content === 'fault'
  return await startGateway({ answer: ({ json }) => (isFault(json) ? script : {}) }, settings)
}

const fault = (fields: object = {}) => asking({ messages: [{ role: 'user', content: 'fault' }], ...fields })

describe('a stream that', () => {
  for (const [name, { script, early = false }] of Object.entries(FAULTS)) {
    test(`${name} is reported in OpenAI's format, and affects no other`, async () => {
      await using gateway = await startFaulty(script)
      const [faulty, ...others] = await Promise.all([
        post(gateway.server, fault({ stream: true })),
        post(gateway.server, STREAM),
        post(gateway.server, asking()),
      ])
      for (const { status, text } of others) assert.ok(status === 200 && text.includes('upstream'), text)
      assert.doesNotMatch(faulty.text, /said|nginx|garbage/)
      const error = {
        message: 'The model provider failed or returned an invalid response.',
        type: 'upstream_error',
        param: null,
        code: 502,
      }
      if (early) {
        assert.equal(faulty.status, 502, faulty.text)
        assert.deepEqual(JSON.parse(faulty.text), { error })
        return
      }
      assert.equal(faulty.status, 200)
      const data = dataOf(faulty.text)
      assert.equal(data.at(-1), '[DONE]')
      assert.deepEqual(JSON.parse(data.at(-2)!), { error })
      assert.equal(textIn(faulty.text), 'Hello')
    })
  }

  test('breaks off is charged for its output', async () => {
    await using gateway = await startFaulty({ cuts: 3 })
    await post(gateway.server, fault({ stream: true }))
    const metrics = await gateway.server.context.metrics.text()
    assert.match(metrics, /svc_model_tokens_total\{provider="up",direction="output"\} [1-9]/)
    assert.match(metrics, /svc_model_calls_total\{provider="up",outcome="upstream_error"\} 1\n/)
  })

  test('breaks off is logged with its cause and request id, without the prompt', async () => {
    const lines: string[] = []
    const log = pino({ level: 'info', base: null }, { write: (line: string) => void lines.push(line) })
    await using gateway = await startFaulty({ events: [hello, { error: { message: 'why it failed' } }] }, { log })
    await post(gateway.server, fault({ stream: true, user: 'a secret of the prompt' }), {
      headers: { 'X-Request-Id': 'req-7' },
    })
    const line = lines.find((one) => one.includes('req-7'))
    assert.match(line ?? '', /The provider \\"up\\" .*why it failed/)
    assert.doesNotMatch(lines.join('\n'), /secret of the prompt/)
  })
})

const CHOICE = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }

function completionWith(fields: object): string {
  return JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [CHOICE], ...fields })
}

describe('a buffered answer that', () => {
  for (const [name, script] of Object.entries<Script>({
    'is no JSON': { body: '{"choices":[', content_type: 'application/json' },
    'is a page': { body: '<html></html>', content_type: 'text/html' },
    'is another object': { body: '{"object":"list","data":[]}' },
    'is an error': { body: '{"error":{"message":"the stack of it"}}' },
    'has a choice without a message': { body: completionWith({ choices: [{ index: 0, finish_reason: 'stop' }] }) },
    'has a message that is a text': { body: completionWith({ choices: [{ ...CHOICE, message: 'list' }] }) },
    'has a content that is none': { body: completionWith({ choices: [{ ...CHOICE, message: { content: 5 } }] }) },
    'has a choice that is null': { body: completionWith({ choices: [CHOICE, null] }) },
    'has no choices': { body: completionWith({ choices: [] }) },
    'has a message of somebody else': {
      body: completionWith({ choices: [{ ...CHOICE, message: { role: 'user', content: 'list' } }] }),
    },
    'is another kind of object': { body: completionWith({ object: 'list' }) },
    'is larger than anything that is written': { body: completionWith({ x: 'x'.repeat(33_600_000) }) },
    'is cut': { cuts: 'body' },
    'is cut before its head': { cuts: 'head' },
    'is a failure of the server': { error: { message: 'the stack of it' }, status: 500 },
  })) {
    test(`${name} gives 502, without its content`, async () => {
      await using gateway = await startFaulty(script)
      const [faulty, other] = await Promise.all([post(gateway.server, fault()), post(gateway.server, asking())])
      assert.deepEqual([faulty.status, other.status], [502, 200])
      assert.doesNotMatch(faulty.text, /stack|html|list/)
    })
  }
})

describe('a client that disconnects', () => {
  for (const [name, body, script] of [
    ['while nothing is said yet', fault(), { hangs: 'head' }],
    ['while the head of a stream is waited for', fault({ stream: true }), { hangs: 'head' }],
    ['while the first event is waited for', fault({ stream: true }), { hangs: 'body' }],
    ['within a whole answer', fault(), { body: '{"choices":[', content_type: 'application/json', hangs: 1 }],
  ] as const) {
    test(`${name} ends the call of the model server at once`, async () => {
      await belowInSome(1_000, async () => {
        await using gateway = await startFaulty(script)
        await post(gateway.server, asking())
        const outgoing = sent(gateway.server.url, body)
        outgoing.on('error', () => {})
        const { upstream } = gateway
        const [, asked] = await until('the request', () => upstream.posts.length === 2 && upstream.posts)
        const left_at = performance.now()
        outgoing.destroy()
        await asked!.gone
        assert.equal((await post(gateway.server, STREAM)).status, 200)
        return asked!.gone_at! - left_at
      })
    })
  }

  test('in the middle of a stream ends the call of the model server at once, and pays for the output so far', async () => {
    await using gateway = await startFaulty({ hangs: 2 })
    const { incoming, leave } = await open(gateway.server, fault({ stream: true }))
    await once(incoming, 'data')
    const [asked] = gateway.upstream.posts
    leave()
    await asked!.gone
    const metrics = () => gateway.server.context.metrics.text()
    await until('the charge', async () =>
      /tokens_total\{provider="up",direction="output"\} [1-9]/.test(await metrics()),
    )
    await until('the count', async () => /calls_total\{provider="up",outcome="aborted"\} 1/.test(await metrics()))
  })

  test('is not logged as a failure', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn', base: null }, { write: (line: string) => void lines.push(line) })
    await using gateway = await startFaulty({ hangs: 'head' }, { log })
    const outgoing = sent(gateway.server.url, fault())
    outgoing.on('error', () => {})
    const asked = await until('the request', () => gateway.upstream.posts[0])
    outgoing.destroy()
    await asked.gone
    const { metrics } = gateway.server.context
    await until('the count', async () =>
      (await metrics.text()).includes('operation="createChatCompletion",status="499"'),
    )
    assert.deepEqual(lines, [])
  })
})

test('a flood is read no faster than the client reads it, and does not block others', async () => {
  await using gateway = await startFaulty({ floods: true, text: 'x'.repeat(60_000) })
  const { incoming, leave } = await open(gateway.server, fault({ stream: true }))
  incoming.pause()
  const asked = await until('the request', () => gateway.upstream.posts[0])
  for (let n = 0; n < 20; n++) assert.equal((await post(gateway.server, asking())).status, 200)
  const before = asked.sent
  for (let n = 0; n < 20; n++) assert.equal((await post(gateway.server, STREAM)).status, 200)
  assert.equal(asked.sent, before, 'it goes on')
  assert.ok(asked.sent < 64_000_000, `${asked.sent} bytes`)
  leave()
  await asked.gone
})

test('the shutdown ends streams with an error, and buffered answers with 503', async () => {
  await using gateway = await startGateway({ answer: ({ json }) => ({ hangs: json.stream ? 2 : 'head' }) })
  const { incoming } = await open(gateway.server, fault({ stream: true }))
  const pieces: Buffer[] = []
  incoming.on('data', (piece: Buffer) => pieces.push(piece))
  await once(incoming, 'data')
  const whole = sent(gateway.server.url, fault())
  const answered = once(whole, 'response')
  await until('the request', () => gateway.upstream.posts.length === 2)
  const closed = gateway.server.close(0)
  await once(incoming, 'end')
  const data = dataOf(Buffer.concat(pieces).toString())
  assert.equal(JSON.parse(data.at(-2)!).error.type, 'service_unavailable')
  assert.equal(data.at(-1), '[DONE]')
  const [response] = await answered
  assert.equal(response.statusCode, 503)
  response.resume()
  await closed
})

test('a stream ends when the credential of its client is revoked', async () => {
  await using gateway = await startFaulty({ hangs: 2 }, { socket_times: { recheck_ms: 20 } })
  const { url } = gateway.server
  const made = await post(gateway.server, JSON.stringify({ name: 'for a stream' }), { path: '/api/tokens' })
  const { id, token } = JSON.parse(made.text)
  const { incoming } = await open(gateway.server, fault({ stream: true }), {
    headers: { Authorization: `Bearer ${token}` },
  })
  const pieces: Buffer[] = []
  incoming.on('data', (piece: Buffer) => pieces.push(piece))
  await once(incoming, 'data')
  await fetch(`${url}/api/tokens/${id}`, { method: 'DELETE' })
  await once(incoming, 'end')
  const data = dataOf(Buffer.concat(pieces).toString())
  assert.deepEqual([JSON.parse(data.at(-2)!).error.code, data.at(-1)], [401, '[DONE]'])
  await gateway.upstream.posts[0]!.gone
})
