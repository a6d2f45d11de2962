// The promise of each command's acknowledgement, for commands that may change something.
import assert from 'node:assert/strict'
import type { ChatMessage, JobSnapshot, Workflow } from '../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { until } from '../helpers/server.ts'
import { awaiting, fed, plain, templated } from './graphs.ts'
import { command, type Found, type Nothing, type Row, type World } from './row.ts'

/** The model of the tests' upstream calls this tool. */
export const TOOL = { type: 'function', function: { name: 'weather', description: 'Of the client.', parameters: {} } }
export const TOOL_MODEL = 'openai/gpt-4o'

/** Ends the streamed input of a job that went on, and returns its output. */
async function fedOut(found: Found, job_id: string, value?: string): Promise<unknown> {
  const { jobs } = found.server.context.runs
  const inlet = await until('the job to go on', () => jobs.living(LOCAL_PRINCIPAL, job_id)?.inputs)
  if (value !== undefined) inlet.pushInput('x', value)
  inlet.endInput('x')
  return (await found.ended(job_id)).result?.outputs.out
}

/** A job that accepts values, after one value was acknowledged. */
async function fedOnce(world: World, graph: Graph, value: string): Promise<string> {
  const job_id = await world.job(graph, 'running')
  const client = await world.socket()
  const { error } = await client.ask('stream_input', { job_id, input: 'x', value })
  assert.equal(error, undefined)
  return job_id
}

const contents = async (found: Found, thread_id: string) =>
  (await found.there<ChatMessage[]>(`/api/threads/${thread_id}/messages`)).map(({ content }) => content)

let ids = 0

const cancelled = (found: Found, _: unknown, { job_id }: { job_id: string }) => found.cancelled(job_id)

export const COMMANDS: Readonly<Record<string, Row | readonly Row[] | Nothing>> = {
  run_job: [
    command(
      () => ({ command: 'run_job', data: { job_id: `own-${++ids}`, graph: plain } }),
      async (found, _, { job_id }) => assert.equal((await found.ended(job_id)).status, 'completed'),
    ),
    // The end of a job is sent after it is stored.
    command(
      () => ({ command: 'run_job', data: { job_id: `told-${++ids}`, graph: plain }, sign: 'duration' }),
      async (found, frame, { job_id }) => {
        const { status, result } = await found.there<JobSnapshot>(`/api/jobs/${job_id}`)
        assert.deepEqual([status, frame.result], ['completed', { outputs: { out: [result?.outputs.out] } }])
      },
    ),
  ],
  cancel_job: [
    command(async (world) => ({ command: 'cancel_job', data: { job_id: await world.job(fed, 'running') } }), cancelled),
    command(
      async (world) => ({ command: 'cancel_job', data: { job_id: await world.job(awaiting, 'suspended') } }),
      cancelled,
    ),
    command(async (world) => ({ command: 'cancel_job', data: { job_id: await world.queued(fed) } }), cancelled),
    // Sent on the socket that started the job and follows it.
    command(async (world) => {
      const client = await world.socket()
      const job_id = `followed-${++ids}`
      await client.ask('run_job', { job_id, graph: fed })
      return { command: 'cancel_job', data: { job_id }, client }
    }, cancelled),
  ],
  stream_input: command(
    async (world) => ({
      command: 'stream_input',
      data: { job_id: await world.job(fed, 'running'), input: 'x', value: 'kept' },
    }),
    async (found, _, { job_id }) => assert.deepEqual(await fedOut(found, job_id), ['kept']),
  ),
  end_input_stream: command(
    async (world) => ({ command: 'end_input_stream', data: { job_id: await fedOnce(world, fed, 'only'), input: 'x' } }),
    async (found, _, { job_id }) => assert.deepEqual((await found.ended(job_id)).result?.outputs, { out: ['only'] }),
  ),
  update_node_properties: command(
    async (world) => {
      const properties = { template: 'new {{x}}' }
      return {
        command: 'update_node_properties',
        data: { job_id: await world.job(templated, 'running'), node_id: 'say', properties },
      }
    },
    async (found, _, { job_id }) => assert.deepEqual(await fedOut(found, job_id, 'word'), ['new word']),
  ),
  resume_job: command(
    async (world) => ({
      command: 'resume_job',
      data: { job_id: await world.job(awaiting, 'suspended'), value: 'said' },
    }),
    async (found, _, { job_id }) => assert.deepEqual((await found.ended(job_id)).result?.outputs, { out: 'said' }),
  ),
  stop: { nothing: 'it says that turns are told to stop; the end of each is stored before its turn_update' },
  chat_message: [
    command(
      async (world) => ({
        command: 'chat_message',
        data: { thread_id: await world.thread(), content: 'asked', model: 'builtin/echo' },
        sign: 'running',
      }),
      async (found, _, { thread_id }) => assert.equal((await contents(found, thread_id))[0], 'asked'),
    ),
    // The end of a turn is sent after its answer is stored.
    command(
      async (world) => ({
        command: 'chat_message',
        data: { thread_id: await world.thread(), content: 'asked', model: 'builtin/echo' },
        sign: 'completed',
      }),
      async (found, _, { thread_id }) => assert.equal((await contents(found, thread_id)).length, 2),
    ),
  ],
  tool_result: command(
    async (world) => {
      const client = await world.socket()
      const thread_id = await world.thread()
      client.command('chat_message', { thread_id, content: 'the weather?', model: TOOL_MODEL, tools: [TOOL] })
      const { tool_call_id } = await client.next({ type: 'tool_call_update' })
      return { command: 'tool_result', data: { thread_id, tool_call_id, result: 'sunny' } }
    },
    async (found, _, { thread_id }) => {
      assert.match(JSON.stringify(await contents(found, thread_id)), /sunny/)
    },
  ),
  inference: { nothing: 'the answer of the model is told, and nothing of it is kept' },
  submit_job: command(
    async (world) => {
      const { id, etag } = await world.call<Workflow>('GET', `/api/workflows/${await world.workflow(plain)}`)
      const request = { client_request_id: 'row', idempotency_key: `row-${id}`, interface_version: 1 }
      return { command: 'submit_job', data: { ...request, workflow_id: id, workflow_etag: etag } }
    },
    (found, { result }) => found.there(`/api/sdk/v1/jobs/${(result as { job_id: string }).job_id}`),
  ),
  request_job_cancellation: command(
    async (world) => ({ command: 'request_job_cancellation', data: { job_id: await world.job(fed, 'running') } }),
    cancelled,
  ),
  start_download: { nothing: 'a download is of its process: the next one begins it anew where its parts are' },
  cancel_download: { nothing: 'the next process has no downloads' },
}
