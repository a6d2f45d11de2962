// `/ws/download`: commands, updates and their owners, over real sockets and a hub of the test's own.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import WebSocket from 'ws'
import { frameValidators } from '../../../generated/validators-out.js'
import { call } from '../../helpers/http.ts'
import { startHub } from '../../helpers/hub.ts'
import { startIdentityProvider } from '../../helpers/identity-provider.ts'
import { recordReached } from '../../helpers/reached.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'

const REPO = 'maker/model'
const BIG = randomBytes(200_000)
const asked = { repo_id: REPO, model_type: 'llama_cpp' }

type Frame = Record<string, unknown>

/** The contract's names of frames whose type is another word. */
const CONTRACT_NAMES: Readonly<Record<string, string>> = { ping: 'ping_frame', rpc_response: 'rpc_error' }

class Socket implements AsyncDisposable {
  readonly frames: Frame[] = []
  readonly #ws: WebSocket
  readonly opened: Promise<unknown>

  constructor({ url }: TestServer, headers: Record<string, string> = {}) {
    this.#ws = new WebSocket(`${url.replace('http', 'ws')}/ws/download`, { headers })
    this.opened = new Promise((resolve, reject) => this.#ws.once('open', resolve).once('error', reject))
    this.#ws.on('message', (data: Buffer, binary: boolean) => {
      assert.equal(binary, false)
      const frame = JSON.parse(data.toString()) as Frame
      recordReached('frame', `download.${CONTRACT_NAMES[String(frame.type)] ?? frame.type ?? frame.error}`)
      this.frames.push(frame)
    })
  }

  send(message: unknown): void {
    recordReached('command', `download.${Object(message).command}`)
    this.#ws.send(message instanceof Uint8Array ? message : JSON.stringify(message))
  }

  /** The first frame that matches. Each frame about a download is validated against the contract. */
  async next(wanted: Frame): Promise<Frame> {
    const fits = (frame: Frame) => Object.entries(wanted).every(([key, value]) => frame[key] === value)
    const frame = await until(`a frame like ${JSON.stringify(wanted)}`, () => this.frames.find(fits))
    const validate = frameValidators.download.download_update
    for (const one of this.frames.filter(({ type }) => type === 'download_update'))
      assert.ok(validate(one), JSON.stringify([one, validate.errors]))
    return frame
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#ws.once('close', resolve))
    this.#ws.terminate()
    await closed
  }
}

async function open(server: TestServer): Promise<Socket> {
  const socket = new Socket(server)
  await socket.opened
  return socket
}

async function scene() {
  const hub = await startHub({ [REPO]: { 'big.gguf': { bytes: BIG } } })
  const server = await startServer({ config: { model_hub_url: `${hub.url}/`, probe_local_models: false } })
  return {
    hub,
    server,
    file: join(server.data_dir, 'models', REPO, 'big.gguf'),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await hub[Symbol.asyncDispose]()
    },
  }
}

test('start_download is answered, and each socket of the caller gets the download_update', async () => {
  await using s = await scene()
  await using one = await open(s.server)
  await using two = await open(s.server)
  one.send({ command: 'start_download', data: asked, request_id: 'r1' })
  const first = await one.next({ type: 'download_update' })
  assert.deepEqual([first.status, first.request_id, first.path, first.total_bytes], ['start', 'r1', null, null])
  for (const socket of [one, two]) {
    const end = await socket.next({ status: 'completed' })
    assert.deepEqual([end.downloaded_bytes, end.total_bytes, end.downloaded_files], [BIG.length, BIG.length, 1])
    assert.equal(end.request_id, undefined)
  }
  assert.deepEqual(readFileSync(s.file), BIG)
  assert.equal(one.frames.filter(({ status }) => status === 'start').length, 1)
})

test('a download outlives its sockets, is sent to sockets that open meanwhile, and ends with cancel_download', async () => {
  await using s = await scene()
  const gate = Promise.withResolvers<void>()
  s.hub.fault = ({ path }) => (path.startsWith('/api/') ? undefined : { pause: { after: 50_000, until: gate.promise } })
  {
    await using first = await open(s.server)
    first.send({ command: 'start_download', data: { ...asked, path: 'big.gguf' } })
    await first.next({ status: 'progress' })
  }
  await using late = await open(s.server)
  const seen = await late.next({ type: 'download_update' })
  assert.deepEqual([seen.path, seen.model_type], ['big.gguf', 'llama_cpp'])
  late.send({
    command: 'start_download',
    data: { ...asked, path: 'big.gguf', ignore_patterns: ['x'] },
    request_id: 'r2',
  })
  const conflict = await late.next({ request_id: 'r2' })
  assert.equal((conflict.error as Frame).code, 'CONFLICT')
  late.send({ command: 'cancel_download', data: { repo_id: REPO, path: 'big.gguf' }, request_id: 'r3' })
  assert.equal((await late.next({ request_id: 'r3' })).status, 'cancelled')
  late.send({ command: 'cancel_download', data: { repo_id: REPO, path: 'big.gguf' }, request_id: 'r4' })
  assert.equal(((await late.next({ request_id: 'r4' })).error as Frame).code, 'NOT_FOUND')
  gate.resolve()
  assert.equal(existsSync(s.file), false)
})

test('a failed download is reported with a message', async () => {
  await using s = await scene()
  await using socket = await open(s.server)
  socket.send({ command: 'start_download', data: { ...asked, repo_id: 'maker/none' } })
  assert.equal((await socket.next({ status: 'failed' })).error, 'The hub has no "maker/none".')
})

test('bad input gets its defined answers, and closes no socket', async () => {
  await using s = await scene()
  await using socket = await open(s.server)
  socket.send(new Uint8Array([1]))
  await socket.next({ error: 'invalid_frame' })
  socket.send([])
  await socket.next({ error: 'invalid_message' })
  socket.send({ command: 'run_job', data: {}, request_id: 'r1' })
  assert.equal(((await socket.next({ request_id: 'r1' })).error as Frame).code, 'NOT_FOUND')
  for (const [at, data] of [{}, { ...asked, repo_id: '../x' }, { ...asked, path: '../x' }].entries()) {
    socket.send({ command: 'start_download', data, request_id: `bad${at}` })
    const { error } = await socket.next({ request_id: `bad${at}` })
    assert.equal((error as Frame).code, 'INVALID_REQUEST')
  }
  socket.send({ command: 'start_download', data: {} })
  await socket.next({ type: 'error', command: 'start_download' })
  socket.send({ type: 'client_pong' })
  assert.equal(s.hub.requests.length, 0)
})

test('a token with only the scope read starts and cancels no downloads', async () => {
  await using s = await scene()
  const made = await call(s.server, 'POST', '/api/tokens', { body: { name: 'reader', scopes: ['read'] } })
  assert.equal(made.status, 201, made.text)
  await using socket = new Socket(s.server, { Authorization: `Bearer ${(made.body as { token: string }).token}` })
  await socket.opened
  for (const [command, data] of [
    ['start_download', asked],
    ['cancel_download', { repo_id: REPO }],
  ] as const) {
    socket.send({ command, data, request_id: command })
    assert.equal(((await socket.next({ request_id: command })).error as Frame).code, 'FORBIDDEN')
  }
  assert.equal(s.hub.requests.length, 0)
})

test('in Local mode a token needs the scopes write and admin to download', async () => {
  await using s = await scene()
  const socketWith = async (scopes: string[]) => {
    const made = await call(s.server, 'POST', '/api/tokens', { body: { name: scopes.join(), scopes } })
    const socket = new Socket(s.server, { Authorization: `Bearer ${(made.body as { token: string }).token}` })
    await socket.opened
    return socket
  }
  for (const [scopes, words] of [
    [['read', 'write'], /^Only administrators may download/],
    [['admin'], /lacks the scope "write"/],
  ] as const) {
    await using socket = await socketWith([...scopes])
    socket.send({ command: 'start_download', data: asked, request_id: 'r1' })
    const { error } = await socket.next({ request_id: 'r1' })
    assert.equal((error as Frame).code, 'FORBIDDEN')
    assert.match(String((error as Frame).message), words)
  }
  assert.equal(s.hub.requests.length, 0)
  await using socket = await socketWith(['write', 'admin'])
  socket.send({ command: 'start_download', data: asked })
  await socket.next({ status: 'completed' })
})

test('with an identity provider, only administrators start downloads, and each gets updates of their own', async () => {
  await using hub = await startHub({ [REPO]: { 'big.gguf': { bytes: BIG } } })
  await using idp = await startIdentityProvider()
  await using server = await startServer({
    environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' },
    config: { model_hub_url: hub.url, probe_local_models: false },
  })
  const as = async (sub: string) => {
    const socket = new Socket(server, { Authorization: `Bearer ${await idp.token({ sub })}` })
    await socket.opened
    return socket
  }
  await using bob = await as('bob')
  await using root = await as('root')
  bob.send({ command: 'start_download', data: asked, request_id: 'r1' })
  assert.equal(((await bob.next({ request_id: 'r1' })).error as Frame).code, 'FORBIDDEN')
  root.send({ command: 'start_download', data: asked })
  await root.next({ status: 'completed' })
  assert.deepEqual(
    bob.frames.map(({ type }) => type),
    ['rpc_response'],
  )
})

test('the server asks for a sign of life, and goes on with a client that gives it', async () => {
  await using server = await startServer({ socket_times: { frame_ping_ms: 10 } })
  await using socket = await open(server)
  await socket.next({ type: 'ping' })
  socket.send({ type: 'pong' })
  socket.send({ command: 'cancel_download', data: { id: 'none' }, request_id: 'after' })
  await socket.next({ request_id: 'after' })
})
