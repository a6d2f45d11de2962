// Model servers that send much data without content delay no other user.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Attack, holdsLittle, share, startFair } from './kit.ts'
import type { User } from './user.ts'

/** Milliseconds of processor time. */
const LONGEST_HOLD = 100
const KEY = 'sk-fair-4711-9f8e7d6c5b4a3210'

interface Answer {
  readonly name: string
  /** Absent: 200. */
  readonly status?: number
  readonly stream: boolean
  /** The data between the first piece of the answer and its end. */
  readonly between: string
}

const chunk = (more: string) => `data: {"id":"a","choices":[{"index":0,"delta":{"content":"a"}}]${more}}\n\n`
const END = 'data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const named = (count: number, more: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => chunk(more(at))).join('')
const whole = (content: string, more = '') =>
  `{"choices":[{"index":0,"message":{"role":"assistant","content":${content}},"finish_reason":"stop"}]${more}}`
const sized = (full: number) => Math.ceil(full * share(0.25))

const answers: readonly Answer[] = [
  { name: 'empty lines', stream: true, between: '\n'.repeat(sized(8_000_000)) },
  { name: 'comments', stream: true, between: ':\n\n'.repeat(sized(4_000_000)) },
  { name: 'words', stream: true, between: chunk('').repeat(sized(100_000)) },
  { name: 'counts', stream: true, between: named(sized(20_000), (at) => `,"usage":{"n${at}":1}`) },
  { name: 'names', stream: false, between: named(sized(40_000), (at) => `,"n${at}":1`) },
]

/** One stream event, nearly as long as an event may be. */
const large = (delta: string, more = '') => `data: {"id":"a","choices":[{"index":0,"delta":${delta}}]${more}}\n\n`
const events: readonly Answer[] = [
  { name: 'one long text', between: large(`{"content":"${'x'.repeat(sized(16_000_000))}"}`) },
  { name: 'a picture', between: large(`{"images":[{"url":"${'iVBO'.repeat(sized(4_000_000))}"}]}`) },
  { name: 'escapes', between: large(`{"content":"${'\\u00e9'.repeat(sized(2_700_000))}"}`) },
  { name: 'parts', between: large(`{"content":[${'{"text":"a"},'.repeat(sized(900_000))}{}]}`) },
  { name: 'numbers', between: large('{"content":"x"}', `,"z":[${'1,'.repeat(sized(8_000_000))}1]`) },
  { name: 'texts', between: large(`{"z":[${'"a",'.repeat(sized(1_900_000))}1]}`) },
  { name: 'lines', between: `${'data: \n'.repeat(sized(2_500_000))}\n` },
].flatMap(({ name, between }) => [
  { name: `an event of ${name}`, stream: true, between },
  { name: `an event of ${name} where no stream was asked for`, stream: false, between },
])

const wholes: readonly Omit<Answer, 'stream'>[] = [
  { name: 'one long text', between: whole(`"${'x'.repeat(sized(30_000_000))}"`) },
  { name: 'escapes', between: whole(`"${'\\u00e9'.repeat(sized(5_000_000))}"`) },
  { name: 'numbers', between: whole('"x"', `,"z":[${'1,'.repeat(sized(15_000_000))}1]`) },
  {
    name: 'names',
    status: 502,
    between: whole('"x"', `,"z":{${Array.from({ length: sized(2_000_000) }, (_, at) => `"k${at}":1`)}}`),
  },
]

test('no stream of a server holds the event loop', () =>
  held(answers, (text) => ({ type: 'text/event-stream', text: chunk('') + text + END })))

test('no event of a stream holds the event loop, however long', () =>
  held(events, (text) => ({ type: 'text/event-stream', text: chunk('') + text + END })))

test('no whole answer of a server holds the event loop', () =>
  held(
    wholes.map((one) => ({ ...one, stream: false })),
    (text) => ({ type: 'application/json', text }),
  ))

/** An agent whose model calls a tool. */
const agent = {
  nodes: [
    {
      id: 'agent',
      type: 'agent.Run',
      data: { model: 'openai/m', prompt: 'Go', tools: ['text.Template'], max_failures: 1, max_steps: 2 },
    },
  ],
  edges: [],
}
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join()
const called = (index: number, args: string) => {
  const call = { index, id: `c${index}`, type: 'function', function: { name: 'text_Template', arguments: args } }
  return `data: ${JSON.stringify({ id: 'a', choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`
}
const calls: readonly Answer[] = [
  { name: 'names', between: called(0, `{"template":{${numbered(sized(800_000))}}}`) },
  { name: 'lists', between: called(0, `{"template":[${'[],'.repeat(sized(3_000_000))}1]}`) },
  { name: 'many arguments', between: called(0, `{"template":"a",${numbered(sized(160_000))}}`) },
  {
    name: 'many calls',
    between: Array.from({ length: 64 }, (_, at) => called(at, `{"template":{${numbered(sized(12_000))}}}`)).join(''),
  },
].map((one) => ({ ...one, stream: true }))

test('no arguments that a model writes hold the event loop', () =>
  held(
    calls,
    (text) => ({ type: 'text/event-stream', text: chunk('') + text + END }),
    async (attacker) => attacker.expect(200, 'POST', `/api/workflows/${await attacker.store(agent)}/run`, '{}'),
  ))

/** Sends a message to a new thread, and stops the turn when its first calls have their results. */
async function chat(attacker: User): Promise<void> {
  const { text } = await attacker.expect(201, 'POST', '/api/threads', '{}')
  const { id: thread_id } = JSON.parse(text) as { id: string }
  const socket = await attacker.socket()
  const send = (command: string, data: object) => socket.send(JSON.stringify({ command, data }))
  const ended = new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error('the socket was closed')))
    socket.on('message', (frame: Buffer) => {
      const head = frame.toString('latin1', 0, 400)
      if (head.includes('tool_result_update')) send('stop', { thread_id })
      if (head.includes('turn_update') && head.includes('interrupted')) resolve()
    })
  })
  send('chat_message', { thread_id, provider: 'openai', model: 'm', content: 'Go' })
  await ended
  socket.removeAllListeners().terminate()
}

test('no calls that a model asks for in a chat hold the event loop', () =>
  held(
    [{ name: 'arguments like credentials', stream: true, between: called(0, 'basic aaaa='.repeat(90_000)).repeat(7) }],
    (text) => ({ type: 'text/event-stream', text: chunk('') + text + END }),
    chat,
  ))

/** Names that fill a list. All of them contain most of each secret of their reader. */
test('no list of models holds the event loop', async () => {
  const data = Array.from({ length: sized(9_900) }, (_, at) => ({ id: `${at}${'k'.repeat(390)}` }))
  const text = JSON.stringify({ object: 'list', data })
  const upstream = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(text)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  try {
    await using server = await startFair({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: KEY })
    const prepare = async (attacker: User) => {
      const secrets = Array.from({ length: sized(900) }, (_, at) => `${'k'.repeat(600)}${at}${'z'.repeat(300)}`)
      const put = (value: string, at: number) =>
        attacker.expect(200, 'PUT', `/api/secrets/S${at}`, JSON.stringify({ value }))
      await Promise.all(secrets.map(put))
      // The first reader waits for the list itself.
      await attacker.expect(200, 'GET', '/v1/models')
    }
    for (const [path, attack] of [
      ['/v1/models', { prepare }],
      ['/api/models', {}],
      ['/api/sdk/v1/models', {}],
    ] as const) {
      const strike = (attacker: User) => attacker.expect(200, 'GET', path)
      await holdsLittle(server, { name: `models of ${path}`, strike, ...attack }, LONGEST_HOLD)
    }
  } finally {
    upstream.closeAllConnections()
    upstream.close()
  }
})

/** Each key has its own list. */
test('no list of models that says a long key again and again holds the event loop', async () => {
  let list = ''
  const upstream = createServer({ maxHeaderSize: 131_072 }, (_request, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(list)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const key = 'k'.repeat(63_900)
  const names = {
    'the whole key': Array.from({ length: sized(60) }, (_, at) => `${at}${key}`),
    'its beginning': Array.from({ length: sized(9_900) }, (_, at) => `${at}${key.slice(0, 390)}`),
  }
  try {
    await using server = await startFair({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` })
    let keys = 0
    const strike = async (attacker: User) => {
      const value = `${key}${++keys}`
      await attacker.expect(200, 'PUT', '/api/secrets/OPENAI_API_KEY', JSON.stringify({ value }))
      await attacker.expect(200, 'GET', '/v1/models')
    }
    for (const [what, ids] of Object.entries(names)) {
      list = JSON.stringify({ object: 'list', data: ids.map((id) => ({ id })) })
      await holdsLittle(server, { name: `a list of ${ids.length} models that say ${what}`, strike }, LONGEST_HOLD)
    }
  } finally {
    upstream.closeAllConnections()
    upstream.close()
  }
})

/** As text and as bytes, from a provider with another protocol than OpenAI's. */
test('no number of vectors holds the event loop', async () => {
  const texts = Array.from({ length: sized(2_048) }, (_, at) => `text ${at}`)
  const values = JSON.stringify(Array.from({ length: 3_072 }, (_, at) => Math.fround(Math.sin(at))))
  const upstream = createServer(async (request, response) => {
    const asked = Buffer.concat(await request.toArray()).toString()
    response.setHeader('Content-Type', 'application/json')
    if (request.method === 'GET')
      return response.end('{"models":[{"name":"models/m","supportedGenerationMethods":["embedContent"]}]}')
    const { requests } = JSON.parse(asked) as { requests: readonly unknown[] }
    response.end(`{"embeddings":[${requests.map(() => `{"values":${values}}`)}]}`)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  try {
    await using server = await startFair({ GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`, GEMINI_API_KEY: KEY })
    for (const encoding_format of ['float', 'base64']) {
      const body = JSON.stringify({ model: 'google/m', input: texts, encoding_format, dimensions: 3_072 })
      const strike = (attacker: User) => attacker.expect(200, 'POST', '/v1/embeddings', body)
      await holdsLittle(server, { name: `${texts.length} vectors as ${encoding_format}`, strike }, LONGEST_HOLD)
    }
  } finally {
    upstream.closeAllConnections()
    upstream.close()
  }
})

/** Makes a server give each answer. */
async function held(
  given: readonly Answer[],
  written: (between: string) => { type: string; text: string },
  ask?: (attacker: User) => Promise<unknown>,
) {
  let text = ''
  let type = ''
  const upstream = createServer((request, response) => {
    const isList = request.method === 'GET'
    response.setHeader('Content-Type', isList ? 'application/json' : type)
    request.resume().once('end', () => response.end(isList ? '{"object":"list","data":[{"id":"m"}]}' : text))
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  try {
    await using server = await startFair({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: KEY })
    for (const { name, status = 200, stream, between } of given) {
      ;({ text, type } = written(between))
      const body = JSON.stringify({ model: 'openai/m', messages: [{ role: 'user', content: 'a' }], stream })
      const attack: Attack = {
        name: `an answer of ${name}`,
        strike: ask ?? ((attacker) => attacker.expect(status, 'POST', '/v1/chat/completions', body)),
      }
      await holdsLittle(server, attack, LONGEST_HOLD)
    }
  } finally {
    upstream.closeAllConnections()
    upstream.close()
  }
}
