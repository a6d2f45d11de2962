// A commit whose sync fails may have reached the disk, or not: the server cannot know. Its answer says so, and names the job.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JobSnapshot, Workflow } from '../../generated/types.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { type Client, connect } from '../helpers/socket.ts'

const works = spawnSync('strace', ['-f', '-e', 'inject=fsync:error=EIO', 'true']).status === 0
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('strace') === true
const skip = !expected && !works && 'skipped: strace is not here (Debian: apt-get install strace)'

const plain = graph([source('in', 'x'), sink('out')], ['in.output->out.value'])

/** Every sync of a server fails from now on. */
async function failingSyncs(server: ServingProcess): Promise<AsyncDisposable> {
  const strace = spawn(
    'strace',
    [
      '-f',
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      'inject=fsync,fdatasync:error=EIO',
      '-o',
      '/dev/null',
      '-p',
      String(server.pid),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(strace, 'close')
  await until('strace to hold the server', () => /attached/.test(said))
  return {
    async [Symbol.asyncDispose]() {
      strace.kill('SIGINT')
      await ended
    },
  }
}

const failing = graph(
  [source('in', 1), node('bad', 'math.Formula', { formula: 'a / 0' }), sink('out')],
  ['in.output->bad.a', 'bad.output->out.value'],
)

const PREVIEW = { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }

/** What the doors need, made before the disk fails. */
interface Scene {
  readonly server: ServingProcess
  readonly client: Client
  /** A job that has failed, to be tried again. */
  readonly failed: string
  readonly workflow: Workflow
}

async function sceneOf(server: ServingProcess, client: Client): Promise<Scene> {
  const body = { name: 'plain', graph: plain }
  const { body: workflow } = await call<Workflow>(server, 'POST', '/api/workflows', { body })
  client.command('run_job', { job_id: 'failed', graph: failing })
  await client.next({ job_id: 'failed', status: 'failed' })
  return { server, client, failed: 'failed', workflow }
}

const NAMED = /^\/api\/(?:sdk\/v1\/)?jobs\/(\S+)$/

/** Over HTTP the job stands in `Location`. */
async function overHttp({ server }: Scene, path: string, body?: unknown): Promise<{ job_id: string; error: unknown }> {
  const answer = await call<ErrorBody>(server, 'POST', path, body === undefined ? {} : { body })
  assert.equal(answer.status, 503, answer.text)
  const [, job_id] = NAMED.exec(String(answer.headers.location)) ?? assert.fail(`${path} names no job: ${answer.text}`)
  return { job_id: job_id!, error: answer.body.error }
}

/** The same where nothing says which submission it was: it must not be sent again unseen. */
async function notKnown(scene: Scene, path: string, body?: unknown): Promise<string> {
  const { job_id, error } = await overHttp(scene, path, body)
  const { type, message } = error as ErrorBody['error']
  assert.equal(type, 'outcome_unknown')
  assert.match(message, /unknown whether/)
  return job_id
}

/** What each door that submits answers: each gives the job that was named. */
const DOORS: Readonly<Record<string, (scene: Scene) => Promise<string>>> = {
  'a run in the background': (scene) =>
    notKnown(scene, `/api/workflows/${scene.workflow.id}/run`, { background: true }),
  'a run that is waited for': (scene) => notKnown(scene, `/api/workflows/${scene.workflow.id}/run`, {}),
  'a retry': (scene) => notKnown(scene, `/api/jobs/${scene.failed}/retry`),
  async 'a submission under a key'(scene) {
    return (await overHttp(scene, '/api/sdk/v1/jobs', submissionOf(scene, 'http'))).job_id
  },
  'a completion by a workflow': (scene) => {
    const messages = [{ role: 'user', content: 'Ada' }]
    return notKnown(scene, '/v1/chat/completions', { model: 'workflow/greeting', messages })
  },
  async run_job({ client }) {
    client.command('run_job', { graph: plain })
    const frame = await client.next({ error: 'unavailable' })
    assert.equal(frame.code, 'OUTCOME_UNKNOWN')
    assert.match(String(frame.message), /unknown whether/)
    // Nothing terminal is told of a job that may live.
    assert.deepEqual(client.of(frame.job_id!), [frame])
    return frame.job_id!
  },
  async submit_job(scene) {
    const { error } = await scene.client.ask('submit_job', submissionOf(scene, 'socket'))
    const { code, job_id } = error as { code: string; job_id: string }
    assert.equal(code, 'SERVICE_UNAVAILABLE')
    return job_id
  },
}

function submissionOf({ workflow: { id, etag } }: Scene, key: string) {
  const request = { client_request_id: key, idempotency_key: key, interface_version: 1 }
  return { ...request, workflow_id: id, workflow_etag: etag }
}

test('a submission whose sync fails is answered with the job that may be stored, through every door', {
  skip,
}, async () => {
  const folder = temporaryFolder()
  const data_dir = join(folder, 'data')
  try {
    await using server = await serve(data_dir, { ...PREVIEW, SVC_LOG_LEVEL: 'silent' })
    await using client = await connect(server)
    const scene = await sceneOf(server, client)
    const named: string[] = []
    {
      await using _ = await failingSyncs(server)
      for (const submit of Object.values(DOORS)) named.push(await submit(scene))
      assert.equal(new Set(named).size, Object.keys(DOORS).length)
      server.kill('SIGKILL')
      await server.ended()
    }
    // What a server finds that starts after the kill it has been told of, and nothing else.
    await using again = await serve(data_dir, PREVIEW)
    const found = await Promise.all(named.map((id) => call(again, 'GET', `/api/jobs/${id}`)))
    assert.ok(found.every(({ status }) => status === 200 || status === 404))
    const there = found.filter(({ status }) => status === 200).length
    const all = async () => (await call<JobSnapshot[]>(again, 'GET', '/api/jobs')).body
    assert.equal((await all()).length, 1 + there)
    await until('them to end', async () => (await all()).every(({ finished_at }) => finished_at !== null))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
