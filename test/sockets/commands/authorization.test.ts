// Scopes of tokens on a socket: a command without permission is not executed, and each kind of command is refused in its own form.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { commandManifest } from '../../../generated/messages.ts'
import { LOCAL_PRINCIPAL, type TokenScope } from '../../../src/access/principal.ts'
import { type Client, connect, type Frame, isEnding } from '../../helpers/socket.ts'
import { type Bench, gated, greeting, newId, startBench, stored } from '../kit.ts'

let bench: Bench
let workflow_id: string
before(async () => {
  bench = await startBench({ config: { sdk_lifecycle_preview: true } })
  workflow_id = await stored(bench.server, greeting)
})
after(() => bench[Symbol.asyncDispose]())

const tokens = () => bench.server.context.access.tokens

function connectWith(token: string): Promise<Client> {
  return connect(bench.server, { headers: { Authorization: `Bearer ${token}` } })
}

async function connectAs(...scopes: TokenScope[]): Promise<Client> {
  const { token } = await tokens().access.mint(LOCAL_PRINCIPAL, { name: 'a program', scopes })
  return connectWith(token)
}

const asVisitor = () =>
  connectWith(tokens().signed.issueAppSession({ app_id: 'a', visitor_id: 'v', workspace_id: null }))

/** Well-formed data of every served command, for an unknown job unless one is given. */
const DATA: Readonly<Record<string, (job_id: string) => object>> = {
  run_job: (job_id) => ({ job_id, workflow_id }),
  cancel_job: (job_id) => ({ job_id }),
  reconnect_job: (job_id) => ({ job_id }),
  stream_input: (job_id) => ({ job_id, input: 'x', value: 1 }),
  end_input_stream: (job_id) => ({ job_id, input: 'x' }),
  update_node_properties: (job_id) => ({ job_id, node_id: 'n', properties: {} }),
  get_status: (job_id) => ({ job_id }),
  resume_job: (job_id) => ({ job_id, value: 1 }),
  chat_message: () => ({ thread_id: 'thread_nowhere', content: 'x' }),
  resume_chat: () => ({ thread_id: 'thread_nowhere' }),
  tool_result: () => ({ thread_id: 'thread_nowhere', tool_call_id: 'call' }),
  stop: () => ({}),
  inference: () => ({ messages: [{ role: 'user', content: 'x' }], model: 'builtin/echo' }),
  set_mode: () => ({ mode: 'binary' }),
  ping: () => ({}),
  list_workflows: () => ({}),
  get_workflow: () => ({ id: workflow_id }),
  get_workflow_interface: () => ({ id: workflow_id }),
  list_nodes: () => ({}),
  get_node: () => ({ node_type: 'input.String' }),
  list_assets: () => ({}),
  get_asset: () => ({ id: 'asset_nowhere' }),
  get_capabilities: () => ({}),
  preflight_workflow: () => ({ workflow_id }),
  list_workflow_summaries: () => ({}),
  get_workflow_interfaces: () => ({ ids: [workflow_id] }),
  get_node_type_inventory: () => ({}),
  submit_job: (idempotency_key) => {
    const of = { workflow_id, workflow_etag: 'unseen', interface_version: 1 }
    return { ...of, idempotency_key, client_request_id: 'attempt' }
  },
  get_job_snapshot: (job_id) => ({ job_id }),
  subscribe_job: (job_id) => ({ job_id }),
  request_job_cancellation: (job_id) => ({ job_id }),
}

/** Refused by a reply to the request. */
const isAnswered = (kind: string) => kind === 'rpc' || kind === 'chat'

const commands = Object.values(commandManifest.ws).filter(
  ({ implementation, preview }) => implementation === 'implemented' || preview,
)

/** Sends a command. Returns all frames before the answer to a later command for the same job. */
async function answers(client: Client, command: string, data: object, request_id: string | null): Promise<Frame[]> {
  const from = client.frames.length
  client.command(command, data, request_id)
  const { job_id } = data as { job_id?: string }
  // Commands that name no job do not wait for each other.
  if (request_id !== null && job_id === undefined) await client.next({ request_id })
  client.command('get_status', job_id === undefined ? undefined : { job_id }, 'afterwards')
  await client.next({ request_id: 'afterwards' })
  const frames = client.frames.slice(from)
  return frames.filter((frame) => frame.request_id !== 'afterwards' && frame.type !== 'ping')
}

const forms = (frames: readonly Frame[]) =>
  frames.map(({ type, status, error }) => (status === undefined ? (type ?? error) : `${type} ${status}`))

interface Case {
  who: string
  open: () => Promise<Client>
  may: readonly ('read' | 'write')[]
  says: RegExp
}

const cases: readonly Case[] = [
  { who: 'a token to read with', open: () => connectAs('read'), may: ['read'], says: /lacks the scope "write"/ },
  { who: 'a token to write with', open: () => connectAs('write'), may: ['write'], says: /lacks the scope "read"/ },
  { who: 'a token of an administrator alone', open: () => connectAs('admin'), may: [], says: /lacks the scope/ },
  { who: 'a visitor of an app', open: asVisitor, may: [], says: /does not serve apps yet/ },
]

for (const { who, open, may, says } of cases) {
  describe(who, () => {
    for (const { command, kind, scope } of commands) {
      const good = kind === 'connection' || may.includes(scope)
      test(`${command}: ${good ? 'executed' : 'refused'}`, async () => {
        await using client = await open()
        for (const request_id of isAnswered(kind) ? ['asked'] : ['asked', null]) {
          const job_id = newId('scoped')
          const frames = await answers(client, command, DATA[command]!(job_id), request_id)
          if (good) assertCarriedOut(frames)
          else assertRefused(frames, { command, kind, job_id, request_id, says })
          for (const frame of frames)
            assert.ok(kind === 'connection' || frame.job_id || frame.request_id, 'it says what it answers')
        }
      })
    }
  })
}

function assertCarriedOut(frames: readonly Frame[]): void {
  assert.ok(frames.length > 0)
  assert.doesNotMatch(JSON.stringify(frames), /forbidden/i)
}

interface Refused {
  command: string
  kind: string
  job_id: string
  request_id: string | null
  says: RegExp
}

function assertRefused(frames: readonly Frame[], { command, kind, job_id, request_id, says }: Refused): void {
  if (isAnswered(kind)) {
    const [{ request_id: of, error } = {}, ...more] = frames
    assert.equal(more.length, 0)
    assert.equal(of, request_id)
    const { code, message, retryable, apiCode } = error as Record<string, unknown>
    assert.deepEqual([code, retryable, apiCode], ['FORBIDDEN', false, 'FORBIDDEN'])
    return assert.match(String(message), says)
  }
  const expected: Readonly<Record<string, string[]>> = {
    run_job: ['job_update failed'],
    cancel_job: ['forbidden', 'job_update failed'],
  }
  assert.deepEqual(forms(frames), expected[command] ?? ['forbidden'])
  for (const frame of frames) {
    assert.equal(frame.job_id, job_id)
    assert.match(String(frame.type === undefined ? frame.message : frame.error), says)
    if (frame.type === undefined) assert.equal(frame.request_id, request_id ?? undefined)
  }
}

describe('commands without a job id', () => {
  test('chat_message: gets a failed turn of the thread if it has no request id', async () => {
    await using client = await connectAs('read')
    client.command('chat_message', { thread_id: 'thread_nowhere', content: 'x' })
    const { type, status, thread_id, error } = await client.next({ thread_id: 'thread_nowhere' })
    assert.deepEqual([type, status, thread_id], ['turn_update', 'failed', 'thread_nowhere'])
    const { code, message } = error as { code: string; message: string }
    assert.equal(code, 'FORBIDDEN')
    assert.match(message, /lacks the scope "write"/)
  })

  test('stop: gets an error if it has no thread either', async () => {
    await using client = await connectAs('read')
    client.command('stop')
    const { command, message } = await client.next({ type: 'error' })
    assert.equal(command, 'stop')
    assert.match(String(message), /lacks the scope "write"/)
  })

  test('run_job: gets the end of a job with an id of the server', async () => {
    await using client = await connectAs('read')
    client.command('run_job', { workflow_id }, 'asked')
    const frame = await client.next(isEnding)
    assert.deepEqual([frame.status, frame.workflow_id], ['failed', workflow_id])
    assert.ok(frame.job_id)
    assert.equal((await client.ask('get_status', { job_id: frame.job_id })).status, 'unknown')
  })

  test('get_status: gets the error if it has a request id, else an empty list of jobs', async () => {
    await using client = await connectAs('write')
    const { error } = await client.ask('get_status')
    assert.equal((error as { code: string }).code, 'FORBIDDEN')
    client.command('get_status')
    assert.deepEqual((await client.next({ type: 'status' })).jobs, [])
  })
})

test('an unknown command is refused before the scope is checked', async () => {
  await using client = await connectAs('read')
  client.command('run_job', { job_id: 'j', nonsense: true })
  assert.equal((await client.next({ job_id: 'j' })).error, 'invalid_command')
  const { error } = await client.ask('no_such', {})
  assert.equal((error as { code: string }).code, 'NOT_FOUND')
})

test('a token with the scope read lists jobs and follows a running job, but cannot change it', async () => {
  await using owner = await connect(bench.server)
  await using reader = await connectAs('read')
  const job_id = newId()
  owner.command('run_job', { job_id, graph: gated(job_id) })
  await bench.gates.at(job_id)
  // An acknowledged job is stored and listed.
  await owner.next({ type: 'job_update', status: 'running', job_id })
  const listed = (await reader.ask('get_status')).jobs as { job_id: string }[]
  assert.ok(listed.some((job) => job.job_id === job_id))
  reader.command('reconnect_job', { job_id })
  await reader.next({ type: 'job_resumed', job_id })
  for (const command of ['update_node_properties', 'stream_input', 'end_input_stream', 'resume_job', 'cancel_job']) {
    reader.command(command, DATA[command]!(job_id))
    await reader.next({ error: 'forbidden', job_id })
  }
  // Only the sender gets it.
  await reader.next({ type: 'job_update', status: 'failed', job_id })
  await bench.gates.open(job_id)
  assert.equal((await owner.collect(job_id)).at(-1)?.status, 'completed')
  await reader.next({ type: 'job_update', status: 'completed', job_id })
  assert.ok(!owner.of(job_id).some(({ status }) => status === 'failed'))
})

test('a visitor of an app sees no jobs', async () => {
  await using owner = await connect(bench.server)
  await using visitor = await asVisitor()
  const job_id = newId()
  owner.command('run_job', { job_id, graph: gated(job_id) })
  await bench.gates.at(job_id)
  await owner.next({ type: 'job_update', status: 'running', job_id })
  const absent = newId()
  for (const command of ['get_status', 'reconnect_job', 'cancel_job', 'resume_job']) {
    const told = async (id: string) =>
      JSON.stringify(await answers(visitor, command, DATA[command]!(id), null)).replaceAll(id, 'the job')
    assert.equal(await told(job_id), await told(absent), command)
  }
  await bench.gates.open(job_id)
  assert.equal((await owner.collect(job_id)).at(-1)?.status, 'completed')
})
