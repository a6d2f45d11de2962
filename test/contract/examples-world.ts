// A server that has what the examples of the contract name: each id that stands in one is the id of something that was made before.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Asset, CreateWorkflowRequest, Message, Thread, Workflow } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { blank } from '../assets/pictures.ts'
import { startChat } from '../chat/kit.ts'
import { graph, node } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import type { TestServer } from '../helpers/server.ts'
import { type Client, connect } from '../helpers/socket.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { stored } from '../http/storage-kit.ts'
import { fieldsForm } from '../http/uploads-kit.ts'

export interface World extends AsyncDisposable {
  readonly server: TestServer
  /** The text of an example, with what was made in the place of what it names. */
  real(text: string): string
}

/** As the contract itself shows it. */
const greeting = JSON.parse(
  readFileSync(new URL('../../spec/examples/CreateWorkflowRequest/greeting.json', import.meta.url), 'utf8'),
) as CreateWorkflowRequest

/** Runs until its stream of lines ends. */
const LIVING: Graph = graph(
  [
    node('lines', 'input.String', { name: 'lines', stream: true }),
    node('template', 'text.Template', { template: 'Hello, {{name}}!' }),
    node('out', 'output.Output', { name: 'out' }),
  ],
  ['lines.output->template.name', 'template.output->out.value'],
)
const ASKING: Graph = graph(
  [
    node('approve', 'human.Approval', { message: 'May this be published?', value: 1 }),
    node('out', 'output.Output', { name: 'out' }),
  ],
  ['approve.approved->out.value'],
)
const WAITING: Graph = graph(
  [node('wait', 'control.WaitFor', { name: 'colour' }), node('out', 'output.Output', { name: 'out' })],
  ['wait.value->out.value'],
)

/** Jobs by the ids of examples, each with the status in which it is found. */
const JOBS: Readonly<Record<string, readonly [graph: Graph, status: string]>> = {
  job_01: [LIVING, 'running'],
  job_05: [ASKING, 'suspended'],
  job_06: [LIVING, 'running'],
  job_08: [WAITING, 'suspended'],
}

/** `command`: what is about to be sent; `run_job` finds none of its jobs, and `tool_result` a call that waits for it. */
export async function startWorld(command: string | null = null): Promise<World> {
  await using opening = new AsyncDisposableStack()
  const upstream = opening.use(await startUpstream({ models: ['gpt-5-mini', 'text-embedding-3-small'] }))
  const environment = { SVC_MODEL_SERVERS: `up=${upstream.base_url}`, SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }
  const { server, led } = opening.use(await startChat({ environment }))
  const made = async <T>(method: string, path: string, options: object): Promise<T> => {
    const { status, body, text } = await call<T>(server, method, path, options)
    assert.ok(status < 300, text)
    return body
  }
  const asset = (fields: Record<string, string>, content?: string) =>
    made<Asset>('POST', '/api/assets', fieldsForm(fields, content === undefined ? undefined : { content }))
  const workflow = await made<Workflow>('POST', '/api/workflows', { body: greeting })
  const thread = await made<Thread>('POST', '/api/threads', { body: {} })
  for (const content of ['Greet Ada, please.', 'Greet Grace, too.'])
    await made<Message>('POST', `/api/threads/${thread.id}/messages`, { body: { content } })
  const folder = await asset({ name: 'Greetings', content_type: 'folder' })
  const file = await asset({ name: 'greeting.txt' }, 'Hello, Ada!')
  const badge = await stored(server, await blank(8, 8), { name: 'badge.png', content_type: 'image/png' })
  const names: Record<string, string> = {
    wf_greeting: workflow.id,
    '9b1f0c7de4a25836f7c90b1e2d3a4f5860718293a4b5c6d7e8f90a1b2c3d4e5f': workflow.etag,
    thread_01: thread.id,
    asset_00: folder.id,
    asset_01: file.id,
    asset_02: badge.id,
    'openai/': 'up/',
    '"openai"': '"up"',
  }
  const client = opening.use(await connect(server))
  if (command !== 'run_job') await startJobs(client)
  if (command === 'tool_result') {
    client.command('chat_message', { thread_id: thread.id, content: 'Hello', model: 'led/model', tools: [TOOL] })
    const answer = await led.answer(0)
    answer.give({ type: 'tool_call', index: 0, id: 'one', name: 'list_open_files', arguments: '{}' })
    answer.end('tool_calls')
    names.call_01 = String((await client.next({ type: 'tool_call_update' })).tool_call_id)
  }
  const parts = opening.move()
  return {
    server,
    real: (text) => text.replace(/openai\/|"openai"|\b\w+\b/g, (word) => names[word] ?? word),
    [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose](),
  }
}

const TOOL = { type: 'function', function: { name: 'list_open_files', parameters: { type: 'object', properties: {} } } }

async function startJobs(client: Client): Promise<void> {
  for (const [job_id, [of, status]] of Object.entries(JOBS)) {
    client.command('run_job', { job_id, graph: of })
    await client.next({ type: 'job_update', job_id, status })
  }
}
