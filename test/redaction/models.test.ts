// Keys are planted in every place that takes one, and every caller of models uses servers that send their keys back.
// Then all responses, logs and stored data are searched for the keys.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import WebSocket from 'ws'
import type { CreatedToken, Thread } from '../../generated/types.ts'
import { ELSEWHERE } from '../access/token-kit.ts'
import { CHAT, post } from '../completions/kit.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { type ServingProcess, serve, svc } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { connect, type Frame } from '../helpers/socket.ts'
import { run } from '../models/kit.ts'
import {
  cellsOf,
  FAULTS,
  filesOf,
  found,
  KEYS,
  MINE,
  OPEN,
  startUpstreams,
  type Upstreams,
  WRONG,
} from './leaks-kit.ts'

const MODELS = [
  'openai/gpt-4o-mini',
  'up/gpt-4o-mini',
  'mine/gpt-4o-mini',
  'anthropic/claude-opus-5-5',
  'google/gemini-3.8-flash',
]
const VECTORS = ['openai/text-embedding-3-small', 'google/gemini-embedding-001']
const LISTS = ['/v1/models', '/api/models', '/api/sdk/v1/models', '/api/secrets', '/api/settings', '/metrics']
const COMMANDS = [
  ['models'],
  ['models', '--json'],
  ...['model', 'broken'].map((name) => ['models', 'pull', `maker/${name}`]),
]
const json = { Accept: 'application/json' }

describe('a planted key', () => {
  const told: [place: string, text: string][] = []
  let folder: string
  let upstreams: Upstreams
  let server: ServingProcess
  let token = ''

  const authorized = () => ({ Authorization: `Bearer ${token}` })
  const get = async (path: string) => {
    const { text, headers, body } = await call(server, 'GET', path, { headers: { ...json, ...authorized() } })
    told.push([`GET ${path}`, JSON.stringify(headers) + text])
    return body
  }
  const ask = async (path: string, body: object) => {
    const { status, text, headers } = await post(server, JSON.stringify(body), { path, headers: authorized() })
    told.push([`POST ${path} ${JSON.stringify(body)}`, JSON.stringify(headers) + text])
    return { status, text }
  }
  /** Prompts for each of the models, in parallel. */
  const each = (
    models: readonly string[],
    words: readonly string[],
    work: (model: string, content: string) => unknown,
  ) => Promise.all(models.flatMap((model) => words.map((word) => work(model, `please ${word}`))))

  before(async () => {
    folder = temporaryFolder()
    upstreams = await startUpstreams()
    server = await serve(folder, { ...upstreams.environment, SVC_LOG_LEVEL: 'trace' })
    token = (await call<CreatedToken>(server, 'POST', '/api/tokens', { body: { name: 'agent' } })).body.token
    for (const [name, value] of Object.entries(MINE))
      assert.ok((await call(server, 'PUT', `/api/secrets/${name}`, { body: { value } })).status < 300)
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await upstreams[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  test('goes to its provider in requests of an OpenAI client', async () => {
    await each(MODELS, [...FAULTS, 'says', 'tool', 'hello'], async (model, content) => {
      const body = { model, messages: [{ role: 'user', content }] }
      const answers = [await ask(CHAT, body), await ask(CHAT, { ...body, stream: true })]
      if (content.endsWith('hello'))
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200],
          answers[0]!.text,
        )
    })
    await each(VECTORS, [...FAULTS, 'hello'], (model, input) => ask('/v1/embeddings', { model, input }))
    for (const more of [{}, ELSEWHERE]) {
      const headers = { Authorization: `Bearer ${WRONG}`, ...more }
      told.push(['wrong', (await call(server, 'GET', `/v1/models?api_key=${WRONG}`, { headers })).text])
    }
    await assert.rejects(connect(server, { path: `/ws?api_key=${WRONG}`, headers: ELSEWHERE }))
  })

  test('goes to its provider in chats and inferences', async () => {
    await using client = await connect(server, { mode: 'text', path: `/ws?api_key=${token}` })
    const ended = ({ type, status }: Frame) => type === 'turn_update' && status !== 'running'
    await each(MODELS, ['refuse', 'deny', 'breaks', 'garbage', 'says'], async (model, content) => {
      const made = await call<Thread>(server, 'POST', '/api/threads', { body: {} })
      const { id } = made.body
      client.command('chat_message', { thread_id: id, content: `${content} with ${MINE.PLAIN}`, model })
      await client.next((frame) => frame.thread_id === id && ended(frame))
      client.command('inference', { messages: [{ role: 'user', content }], model }, id)
      await client.next({ type: 'rpc_response', request_id: id })
      await get(`/api/threads/${id}/messages`)
    })
    told.push(...client.frames.map((frame): [string, string] => ['frame of a chat', JSON.stringify(frame)]))
    assert.ok(client.frames.some((frame) => frame.type === 'chunk'))
  })

  test('goes to its provider in nodes', async () => {
    const words = ['refuse', 'deny', 'miss', 'limit', 'breaks', 'garbage', 'says', 'tool']
    const jobs = await each(MODELS, words, async (model, prompt) => {
      const nodes = [node('chat', 'chat.Complete', { model, prompt }), sink('out'), sink('usage')]
      const { job_id } = await run(server, graph(nodes, ['chat.text->out.value', 'chat.usage->usage.value']))
      return job_id
    })
    const agents = await each(MODELS, ['says', 'tool', 'deny'], async (model, prompt) => {
      const agent = node('agent', 'agent.Run', { model, tools: ['text.Template'] })
      const nodes = [node('in', 'input.String', { name: 'prompt' }), agent, sink('out')]
      const params = { prompt: `${prompt} with ${MINE.PLAIN}` }
      return (await run(server, graph(nodes, ['in.output->agent.prompt', 'agent.answer->out.value']), { params }))
        .job_id
    })
    const vectors = await each(VECTORS, ['deny', 'hello'], async (model, text) => {
      const data = { model, index: 'i', texts: [text] }
      return (await run(server, graph([node('index', 'vector.Index', data)], []))).job_id
    })
    for (const id of [...jobs, ...agents, ...vectors] as string[]) {
      await get(`/api/jobs/${id}`)
      await get(`/api/jobs/${id}/events`)
    }
    await using client = await connect(server, { headers: authorized() })
    const nodes = [node('chat', 'chat.Complete', { model: MODELS[2], prompt: 'please says' }), sink('out')]
    client.command('run_job', { job_id: 'j1', graph: graph(nodes, ['chat.text->out.value']), params: {} })
    const frames = await client.collect('j1')
    told.push(...frames.map((frame): [string, string] => ['frame of a job', JSON.stringify(frame)]))
    assert.ok(told.some(([place, text]) => place.startsWith('GET /api/jobs') && text.includes('the key is [redacted]')))
  })

  test('goes to the hub', async () => {
    const frames: string[] = []
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws/download`)
    socket.on('message', (data: Buffer) => void frames.push(data.toString()))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    for (const repo_id of ['maker/model', 'maker/broken', 'maker/none'])
      socket.send(JSON.stringify({ command: 'start_download', data: { repo_id, model_type: 'llama_cpp' } }))
    const ends = () => frames.filter((frame) => /"status":"(completed|failed)"/.test(frame)).length >= 3
    await until('the ends of the downloads', ends)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.terminate()
    await closed
    told.push(...frames.map((frame): [string, string] => ['frame of a download', frame]))
    assert.ok(frames.some((frame) => frame.includes('"completed"')))
  })

  test('goes to its provider for lists', async () => {
    for (const path of LISTS) await get(path)
    const terminal = { ...upstreams.environment, SVC_DATA_DIR: temporaryFolder(), SVC_LOG_LEVEL: 'trace' }
    for (const args of COMMANDS) {
      const { stdout, stderr } = await svc(args, terminal)
      told.push([`svc ${args.join(' ')}`, stdout + stderr])
    }
    assert.match(told.find(([place]) => place === 'svc models')![1], /openai\/gpt-4o-mini/)
    told.push(...filesOf(terminal.SVC_DATA_DIR))
    rmSync(terminal.SVC_DATA_DIR, { recursive: true })
  })

  test('appears nowhere else', async () => {
    await ask(CHAT, { model: 'builtin/echo', messages: [{ role: 'user', content: OPEN }] })
    await run(
      server,
      graph([node('text', 'text.Template', { template: OPEN }), sink('out')], ['text.output->out.value']),
    )
    await call(server, 'GET', `/api/workflows/${OPEN}`, { headers: ELSEWHERE })
    const cells = cellsOf(folder)
    server.kill('SIGTERM')
    const { stdout, stderr } = await server.ended()
    const places = { told, cells, log: [['log', stdout + stderr]], files: filesOf(folder) } as const
    const keys = [...Object.values(KEYS), ...Object.values(MINE), WRONG, token]
    assert.deepEqual(
      Object.values(places).flatMap((one) => found(keys, one)),
      [],
    )
    const open = Object.entries(places).filter(([, one]) => found([OPEN], one).length > 0)
    assert.deepEqual(
      open.map(([name]) => name),
      Object.keys(places),
      'what may be seen is found',
    )
    const { openai, down, anthropic, google, hub } = upstreams.came()
    for (const key of [KEYS.OPENAI_API_KEY, KEYS.UP_API_KEY, MINE.MINE_API_KEY]) assert.ok(openai!.has(key), key)
    assert.ok(down!.has(KEYS.SVC_SECRET_DOWN_API_KEY) && anthropic!.has(KEYS.ANTHROPIC_API_KEY))
    assert.ok(google!.has(KEYS.GEMINI_API_KEY) && hub!.has(KEYS.HF_TOKEN))
  })
})
