// A server that starts on a full disk, after an earlier process that ended in various ways.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Health, JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { reservedSpacePath } from '../../src/db/files/reserved-disk-space.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { call } from '../helpers/http.ts'
import { serve, svc } from '../helpers/process.ts'
import { startServer, temporaryFolder, until } from '../helpers/server.ts'
import { edge, node } from '../http/kit.ts'

const DISK_BYTES = 6 * 1024 * 1024
const JOBS = 5

const delayed = (seconds: number) => ({
  name: 'Slow',
  graph: {
    nodes: [
      node('name', 'input.String', { name: 'name' }),
      node('wait', 'control.Delay', { seconds }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    edges: [edge('name.output', 'wait.value'), edge('wait.output', 'out.value')],
  },
})

/** A job that takes a moment, so that it is running when its server is killed. */
const SLOW = delayed(2)

type Left = 'nothing' | 'one suspended' | 'one running'
/** A delay of more than 30 s suspends its job. */
const SECONDS: Readonly<Record<Exclude<Left, 'nothing'>, number>> = { 'one suspended': 600, 'one running': 3 }

/** The requests for these jobs on the full disk. The reserved room may suffice to record that a job is being recovered. */
const SUSPENDED = /^suspended$/
const RUNS = /^(running|recovering)$/

/** Leaves data for a server. Returns the id of its job, if there is one. */
async function leave(server: { url: string }, left: Left): Promise<string | null> {
  const body = { params: { name: 'Ada' }, background: true }
  if (left === 'nothing') {
    await call(server, 'POST', '/api/workflows/greeting/run', { body: { params: body.params } })
    return null
  }
  const { id } = (await call<Workflow>(server, 'POST', '/api/workflows', { body: delayed(SECONDS[left]) })).body
  const { job_id } = (await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })).body
  const status = left === 'one suspended' ? 'suspended' : 'running'
  await until(`it to be ${status}`, async () => (await statusOf(server, job_id)) === status)
  return job_id
}

async function statusOf(server: { url: string }, job_id: string): Promise<string> {
  return (await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`)).body.status
}

async function databaseOf(server: { url: string }): Promise<string> {
  return (await call<Health>(server, 'GET', '/health')).body.services.database
}

/** Whether the database records a regular stop of its last process. */
function saysStopped(data_dir: string): boolean {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return db.prepare("select 1 from meta where name = 'stopped_at'").get() !== undefined
  } finally {
    db.close()
  }
}

/** Returns the folder that a server leaves after it stops by itself, or is killed. */
async function leftBehind(data_dir: string, how: 'SIGTERM' | 'SIGKILL', left: Left): Promise<string | null> {
  if (how === 'SIGTERM' && left === 'one running') {
    // A signal would give the job 30 seconds.
    const server = await startServer({ data_dir })
    const job_id = await leave(server, left)
    await server.close(0)
    return job_id
  }
  await using server = await serve(data_dir)
  const job_id = await leave(server, left)
  server.kill(how)
  await server.ended()
  return job_id
}

describe('a server that starts on a disk with no room at all', { skip: cannotMount }, () => {
  for (const how of ['SIGTERM', 'SIGKILL'] as const)
    for (const left of ['nothing', 'one suspended', 'one running'] as const)
      test(`serves reads after ${how} with ${left}, and goes on once there is room`, async () => {
        using disk = smallDisk(DISK_BYTES)
        const job_id = await leftBehind(disk.path, how, left)
        assert.equal(saysStopped(disk.path), how === 'SIGTERM')
        const filled = fill(disk.path)
        await using server = await serve(disk.path)
        await until('the health', async () => (await databaseOf(server)) === 'full')
        assert.equal((await call(server, 'GET', '/api/workflows')).status, 200)
        if (job_id !== null) assert.match(await statusOf(server, job_id), left === 'one suspended' ? SUSPENDED : RUNS)
        filled[Symbol.dispose]()
        await until('the room to be found', async () => (await databaseOf(server)) === 'healthy')
        if (left === 'one suspended') {
          const { status, text } = await call(server, 'POST', `/api/jobs/${job_id}/cancel`)
          assert.equal(status, 200, text)
        } else if (left === 'one running')
          await until('its end', async () => (await statusOf(server, job_id!)) === 'completed')
        else await leave(server, 'nothing')
        // Any end of the process from here on counts as a crash.
        assert.equal(saysStopped(disk.path), false)
      })

  test('starts again after it stopped on the full disk', async () => {
    using disk = smallDisk(DISK_BYTES)
    await leftBehind(disk.path, 'SIGTERM', 'one suspended')
    const first = fill(disk.path)
    {
      await using server = await serve(disk.path)
      await assert.rejects(serve(disk.path), /belongs to a running server/)
      server.kill('SIGTERM')
      await server.ended()
    }
    using _second = fill(join(disk.path, 'storage'))
    await using server = await serve(disk.path)
    assert.equal((await call<JobSnapshot[]>(server, 'GET', '/api/jobs')).body.length, 1)
    first[Symbol.dispose]()
  })
})

function folders(...paths: string[]): Disposable {
  return { [Symbol.dispose]: () => paths.forEach((path) => void rmSync(path, { recursive: true, force: true })) }
}

describe('the disk space that is reserved for a start', () => {
  test('is private, and not part of a backup', async () => {
    const [folder, target] = [temporaryFolder(), join(temporaryFolder(), 'backup')]
    using _folders = folders(folder, dirname(target))
    await leftBehind(folder, 'SIGKILL', 'nothing')
    const { mode, size } = statSync(reservedSpacePath(join(folder, 'svc.db')))
    assert.deepEqual([mode & 0o777, size], [0o600, 128 * 1024])
    const environment = { SVC_DATA_DIR: folder }
    for (const args of [['check'], ['backup', target], ['compact'], ['restore', target, '--force'], ['check']]) {
      const { code, stderr } = await svc(args, environment)
      assert.equal(code, 0, `${args[0]}: ${stderr}`)
    }
    assert.ok(!readdirSync(target, { recursive: true }).some((name) => String(name).includes('reserved')))
    assert.ok(existsSync(reservedSpacePath(join(folder, 'svc.db'))))
  })
})

/** Stores one object of each readable kind. Returns the paths to read them again. */
async function readable(server: { url: string }, workflow_id: string, job_id: string): Promise<string[]> {
  const made = async (path: string, body: object) =>
    (await call<{ id: string }>(server, 'POST', path, { body })).body.id
  const thread = await made('/api/threads', {})
  await made(`/api/threads/${thread}/messages`, { content: 'Hello' })
  const form = new FormData()
  form.append('file', new Blob(['a file']), 'file.txt')
  const sent = await fetch(`${server.url}/api/assets`, { method: 'POST', body: form })
  const { id: asset } = (await sent.json()) as { id: string }
  const put = await fetch(`${server.url}/api/storage/1/object.txt`, { method: 'PUT', body: 'an object' })
  assert.ok(put.ok, String(put.status))
  await call(server, 'PUT', '/api/secrets/KEY', { body: { value: 'a secret' } })
  return [
    ...['/metrics', '/api/config', '/api/workflows', '/api/jobs', '/api/nodes/metadata', '/api/assets', '/api/threads'],
    ...['/api/settings', '/api/secrets', '/api/tokens', '/v1/models', '/api/storage/1/object.txt'],
    ...['', '/versions?fields=full', '/interface?version=1'].map((rest) => `/api/workflows/${workflow_id}${rest}`),
    ...['', '/events'].map((rest) => `/api/jobs/${job_id}${rest}`),
    ...['', '/download'].map((rest) => `/api/assets/${asset}${rest}`),
    ...['', '/messages'].map((rest) => `/api/threads/${thread}${rest}`),
  ]
}

describe('a server that starts on a full disk with jobs under way', () => {
  test('serves reads, says so in health, and goes on once there is room', { skip: cannotMount }, async () => {
    using disk = smallDisk(DISK_BYTES)
    const ids: string[] = []
    let paths: string[]
    {
      await using first = await serve(disk.path)
      const { id } = (await call<Workflow>(first, 'POST', '/api/workflows', { body: SLOW })).body
      for (let job = 0; job < JOBS; job++) {
        const body = { params: { name: 'Ada' }, background: true }
        const { status, body: run, text } = await call<RunResult>(first, 'POST', `/api/workflows/${id}/run`, { body })
        assert.equal(status, 202, text)
        ids.push(run.job_id)
      }
      await until('the jobs to run', async () => {
        const { body } = await call<JobSnapshot[]>(first, 'GET', '/api/jobs?status=running')
        return body.length === JOBS
      })
      paths = await readable(first, id, ids[0]!)
      first.kill('SIGKILL')
      await first.ended()
    }
    const filled = fill(disk.path)
    await using second = await serve(disk.path)
    const health = async () => (await call<Health>(second, 'GET', '/health')).body.services.database
    await until('the health', async () => (await health()) === 'full')
    for (const id of ids) {
      const { status, text } = await call<JobSnapshot>(second, 'GET', `/api/jobs/${id}`)
      assert.equal(status, 200, text)
    }
    for (const path of paths) {
      const headers = { Accept: path.endsWith('/events') ? 'application/json' : '*/*' }
      const { status, text } = await call(second, 'GET', path, { headers })
      assert.equal(status, 200, `${path}: ${text}`)
    }
    assert.equal((await call<JobSnapshot[]>(second, 'GET', '/api/jobs')).body.length, JOBS)
    filled[Symbol.dispose]()
    await until('the jobs to end', async () => {
      const { body } = await call<JobSnapshot[]>(second, 'GET', '/api/jobs?status=completed')
      return body.length === JOBS
    })
    assert.equal(await health(), 'healthy')
  })
})
