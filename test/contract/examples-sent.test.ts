// Every example of a request or a command that is served, sent to a server: the contract shows nothing that is refused.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { commandManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { forEachMessage } from '../../src/codegen/documents/channels.ts'
import type { JsonMap } from '../../src/contract/json.ts'
import { listOf, mapOf, textOf } from '../../src/contract/json.ts'
import { call } from '../helpers/http.ts'
import { connect, type Frame } from '../helpers/socket.ts'
import { fieldsForm } from '../http/uploads-kit.ts'
import { startWorld, type World } from './examples-world.ts'

function document(name: string): JsonMap {
  return JSON.parse(readFileSync(new URL(`../../generated/${name}`, import.meta.url), 'utf8')) as JsonMap
}

const isTried = ({ implementation, preview }: { implementation: string; preview: boolean }) =>
  implementation === 'implemented' || preview

// — over HTTP —

interface RequestExample {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly type: string
  readonly name: string
  readonly value: unknown
}

function requestExamples(): RequestExample[] {
  const paths = mapOf(document('openapi.json').paths)
  return operationManifest.filter(isTried).flatMap(({ operationId, method, path }) => {
    const body = mapOf(mapOf(mapOf(paths[path])[method]).requestBody)
    return Object.entries(mapOf(body.content)).flatMap(([type, media]) =>
      Object.entries(mapOf(mapOf(media).examples)).map(([name, example]) => ({
        ...{ operationId, method: method.toUpperCase(), path, type, name },
        value: mapOf(example).value,
      })),
    )
  })
}

/** What stands in the path of an operation, by the ids of examples; `name` is that of the example. */
const IN_PATHS: Readonly<Record<string, (name: string) => string>> = {
  updateWorkflow: () => 'wf_greeting',
  runWorkflow: () => 'wf_greeting',
  resumeJob: (name) => (name === 'named' ? 'job_08' : 'job_05'),
  updateAsset: () => 'asset_01',
  putObject: () => '1/kept/greeting.txt',
  updateThread: () => 'thread_01',
  createMessage: () => 'thread_01',
  putSecret: () => 'EXAMPLE',
  putAdminAsset: () => 'greeting.txt',
  requestJobCancellation: () => 'job_01',
}

function pathOf({ operationId, path, name }: RequestExample, world: World): string {
  if (!path.includes('{')) return path
  const value = IN_PATHS[operationId]
  assert.ok(value, `${operationId} has examples and a path: say what stands in it`)
  return path.replace(/\{\w+\}/, () => world.real(value(name)))
}

function bodyOf({ type, value }: RequestExample, world: World): object {
  const text = world.real(typeof value === 'string' ? value : JSON.stringify(value))
  if (type === 'application/json') return { body: JSON.parse(text) }
  if (type !== 'multipart/form-data') return { raw: text, headers: { 'Content-Type': 'text/plain' } }
  const { file, ...fields } = JSON.parse(text) as Record<string, unknown>
  const texts = Object.entries(fields).map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)])
  return fieldsForm(Object.fromEntries(texts), file === undefined ? undefined : { content: String(file) })
}

const isStreamed = ({ value }: RequestExample) => (value as { stream?: boolean }).stream === true

/** An answer that is no JSON. */
async function streamed({ url }: World['server'], method: string, path: string, { body }: { body?: unknown }) {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  return { status: answer.status, text: await answer.text() }
}

describe('an example of a request is accepted', () => {
  const examples = requestExamples()

  test('and every served operation with a body has one', () => {
    const shown = new Set<string>(examples.map(({ operationId }) => operationId))
    const without = operationManifest.filter(
      (one) => isTried(one) && one.body !== 'none' && !shown.has(one.operationId),
    )
    assert.deepEqual(without, [])
  })

  for (const example of examples) {
    test(`${example.operationId}: ${example.name}`, async () => {
      await using world = await startWorld()
      const asked = [world.server, example.method, pathOf(example, world), bodyOf(example, world)] as const
      const { status, text } = isStreamed(example) ? await streamed(...asked) : await call(...asked)
      assert.ok(status < 300, `${status} ${text}`)
    })
  }
})

// — on the socket —

interface CommandExample {
  readonly command: string
  readonly payload: JsonMap
}

function commandExamples(): CommandExample[] {
  const served = new Set<string>(
    Object.values(commandManifest.ws)
      .filter(isTried)
      .map(({ command }) => command),
  )
  const found: CommandExample[] = []
  const asyncapi = document('asyncapi.json')
  forEachMessage(asyncapi, ({ channel, node }) => {
    if (channel !== 'ws') return
    for (const { payload } of listOf(node.examples).map(mapOf)) {
      const command = textOf(mapOf(payload).command)
      if (served.has(command) && node['x-svc-kind'] !== undefined) found.push({ command, payload: mapOf(payload) })
    }
  })
  return found
}

/** What a command is answered with where it is not refused. */
const ANSWERED: Readonly<Record<string, (frame: Frame) => boolean>> = {
  ...Object.fromEntries(
    ['run_job', 'cancel_job', 'stream_input', 'end_input_stream', 'update_node_properties', 'resume_job'].map(
      (command) => [
        command,
        ({ type, message, job_id }: Frame) => type === undefined && message !== undefined && job_id !== undefined,
      ],
    ),
  ),
  reconnect_job: ({ type }) => type === 'job_resumed',
  get_status: ({ type }) => type === 'status',
  set_mode: ({ mode }) => mode === 'text',
  ping: ({ type }) => type === 'pong',
  stop: ({ message }) => message !== undefined,
  chat_message: ({ type, status }) => type === 'turn_update' && status === 'completed',
  resume_chat: ({ type }) => type === 'chat_resumed',
  tool_result: ({ tool_call_id }) => tool_call_id !== undefined,
}

const isReply = ({ type }: Frame) => type === 'rpc_response'

const isRefusal = ({ type, status, error }: Frame) =>
  (error !== undefined && error !== null) ||
  type === 'error' ||
  ((type === 'job_update' || type === 'turn_update') && status === 'failed')

describe('an example of a command is accepted', () => {
  const examples = commandExamples()

  test('and every served command has one', () => {
    const shown = new Set(examples.map(({ command }) => command))
    for (const info of Object.values(commandManifest.ws))
      if (isTried(info)) assert.ok(shown.has(info.command), info.command)
  })

  for (const [at, { command, payload }] of examples.entries()) {
    test(`${command}, the ${at + 1}`, async () => {
      await using world = await startWorld(command)
      await using client = await connect(world.server)
      client.send(JSON.parse(world.real(JSON.stringify(payload))))
      const answer = await client.next((frame) => isRefusal(frame) || (ANSWERED[command] ?? isReply)(frame))
      assert.ok(!isRefusal(answer), JSON.stringify(answer))
    })
  }
})
