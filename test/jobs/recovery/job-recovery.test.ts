// After a crash: acknowledged jobs are there, ended jobs keep their ends, and all other jobs continue.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobError, RunResult, Workflow } from '../../../generated/types.ts'
import { insertJobEvent } from '../../../src/db/jobs/events.ts'
import { findJobByKey } from '../../../src/db/jobs/rows.ts'
import { Store } from '../../../src/db/store.ts'
import type { StoredStatus } from '../../../src/db/tables/jobs.ts'
import { readJobSnapshot } from '../../../src/jobs/queries.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { call } from '../../helpers/http.ts'
import { type ServingProcess, serve, storedJobs } from '../../helpers/process.ts'
import { scaled } from '../../helpers/scale.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../../helpers/server.ts'
import { jobRow, putJob } from '../../helpers/store.ts'
import { gated, history, OWNER, Saboteur, startGated, submit, valid, words } from '../kit.ts'

const errorType = (error: string | null) => (JSON.parse(error ?? 'null') as JobError | null)?.type

async function run(server: { url: string }, id: string, body: object): Promise<RunResult> {
  const answer = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })
  assert.ok(answer.status === 200 || answer.status === 202, answer.text)
  return answer.body
}

async function createDelayed(server: ServingProcess): Promise<string> {
  const graph = {
    nodes: [
      { id: 'in', type: 'input.Any', data: { name: 'in', value: 1 } },
      { id: 'wait', type: 'control.Delay', data: { seconds: 29 } },
    ],
    edges: [{ source: 'in', sourceHandle: 'output', target: 'wait', targetHandle: 'value' }],
  }
  const { body } = await call<Workflow>(server, 'POST', '/api/workflows', { body: { name: 'slow', graph } })
  return body.id
}

async function stateOf(server: TestServer, id: string) {
  const handle = await server.context.runs.jobs.get(OWNER, id)
  valid('JobSnapshot', await readJobSnapshot(server.context.runs, handle))
  return { ...handle.row, words: (await history(server, handle.row)).map(words) }
}

describe('a server that was killed', () => {
  test('while jobs run: the next start continues them in their order, and leaves ended jobs alone', async () => {
    const data_dir = temporaryFolder()
    try {
      let ended: RunResult
      let left: RunResult[]
      {
        await using server = await serve(data_dir, { SVC_MAX_CONCURRENT_JOBS: '3' })
        const slow = await createDelayed(server)
        ended = await run(server, 'greeting', { params: { name: 'Ada' } })
        left = await Promise.all(Array.from({ length: 5 }, () => run(server, slow, { background: true })))
        await until('the queue', () => storedJobs(data_dir, 'running') === 3 && storedJobs(data_dir, 'queued') === 2)
        server.kill('SIGKILL')
        await server.ended()
      }
      await using server = await startServer({ data_dir, config: { max_concurrent_jobs: 3 } })
      const stateNow = async ({ job_id }: RunResult) => (await server.context.runs.jobs.get(OWNER, job_id)).row.status
      await until('all to go on', async () => {
        const states = await Promise.all(left.map(stateNow))
        return states.filter((state) => state === 'running').length === 3
      })
      assert.deepEqual((await Promise.all(left.map(stateNow))).sort(), [
        'queued',
        'queued',
        'running',
        'running',
        'running',
      ])
      assert.equal((await stateOf(server, ended.job_id)).status, 'completed')
      const cancelled = await Promise.all(left.map(({ job_id }) => server.context.runs.jobs.cancel(OWNER, job_id)))
      assert.equal(cancelled.length, 5)
      const states = await Promise.all(left.map(({ job_id }) => stateOf(server, job_id)))
      for (const { status } of states) assert.equal(status, 'cancelled')
      const started = states.filter(({ words }) => words.includes('status recovering'))
      assert.equal(started.length, 3)
      const next = await run(server, 'greeting', { params: { name: 'Bob' } })
      assert.deepEqual(next.outputs, { greeting: 'Hello, Bob!' })
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('while it wrote: every acknowledged job is there, with its whole history', async () => {
    const data_dir = temporaryFolder()
    try {
      for (let round = 0; round < scaled(2); round++) {
        const answered: RunResult[] = []
        {
          await using server = await serve(data_dir)
          const busy = Array.from({ length: 8 }, async () => {
            for (;;) answered.push(await run(server, 'greeting', { params: { name: 'x' } }))
          })
          const stopped = Promise.allSettled(busy)
          await until('some answers', () => answered.length > 100)
          server.kill('SIGKILL')
          await stopped
        }
        await using server = await startServer({ data_dir })
        for (const { job_id } of answered) {
          const { status, words } = await stateOf(server, job_id)
          assert.deepEqual([status, words.length], ['completed', 10])
        }
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  const LEFT: Record<string, string[]> = {
    scheduled: ['status queued 3', 'end failed'],
    pending: ['status queued 4', 'end failed'],
    queued: ['end failed'],
    running: ['status recovering', 'end failed'],
    paused: [],
    recovering: ['status recovering', 'end failed'],
    cancel_requested: ['end cancelled'],
  }
  test('in every state, without a journal: the history of the job continues without a gap', async () => {
    const data_dir = temporaryFolder()
    try {
      const created_at = '2026-01-01T00:00:00.000Z'
      const payload = JSON.stringify({ status: 'accepted', queue_position: null, message: null })
      {
        await using store = await Store.open(`${data_dir}/svc.db`)
        await store.write((tx) => {
          for (const [at, status] of Object.keys(LEFT).entries()) {
            const key = at + 1
            putJob(tx, jobRow(key, { id: status, status: status as StoredStatus, last_sequence: 1 }))
            insertJobEvent(tx, { job_key: key, sequence: 1, type: 'job_status', payload, created_at })
          }
        })
      }
      await using server = await startServer({ data_dir })
      const { jobs } = server.context.runs
      await until('all to have ended', () =>
        runToCompletion(jobs.listActive(OWNER)).every(({ status }) => status === 'paused'),
      )
      await jobs.cancel(OWNER, 'paused')
      for (const [id, more] of Object.entries(LEFT)) {
        const state = await stateOf(server, id)
        const expected = id === 'paused' ? ['status cancel_requested', 'end cancelled'] : more
        assert.deepEqual(state.words, ['status accepted', ...expected], id)
        assert.equal(errorType(state.error), expected.at(-1) === 'end failed' ? 'interrupted' : undefined)
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

describe('a job that cannot be read at a start', () => {
  for (const table of ['graph', 'job_journal'])
    test(`is retried until it can be read, without any request: its ${table}`, async () => {
      const data_dir = temporaryFolder()
      try {
        {
          await using server = await startGated({ data_dir })
          const job = submit(server, { graph: gated })
          await until('the firing', () => server.gate.waiting[0])
          await job.flushed()
        }
        const db = new Database(join(data_dir, 'svc.db'))
        let isThere = true
        const platform = {
          ...systemPlatform(),
          // A start calls this once the database is open, before any job is read.
          now() {
            if (isThere) db.exec(`alter table ${table} rename to elsewhere`)
            isThere = false
            return Date.now()
          },
        }
        await using server = await startGated({ data_dir, platform })
        assert.equal(isThere, false)
        assert.equal(server.gate.started, 0)
        db.exec(`alter table elsewhere rename to ${table}`)
        db.close()
        const firing = await until('the firing, once more', () => server.gate.waiting[0])
        firing.open()
        await until('its end', () => runToCompletion(server.context.runs.jobs.listActive(OWNER)).length === 0)
        const [row] = server.context.store.read((tx) => [findJobByKey(tx, 1)])
        assert.equal(row?.status, 'completed')
      } finally {
        rmSync(data_dir, { recursive: true, force: true })
      }
    })
})

describe('a job whose history cannot be written while others are read at a start', () => {
  test('does not run before it can be', async () => {
    const data_dir = temporaryFolder()
    try {
      {
        await using server = await startGated({ data_dir })
        for (const params of [{}, { in: 'much'.repeat(300_000) }]) {
          const job = submit(server, { graph: gated, params })
          await until('the firing', () => server.gate.waiting.at(-1))
          await job.flushed()
        }
      }
      using saboteur = new Saboteur({ data_dir })
      let isBroken = false
      const platform = {
        ...systemPlatform(),
        // A start calls this once the database is open, before any job is read.
        now() {
          if (!isBroken) saboteur.break()
          isBroken = true
          return Date.now()
        },
      }
      await using server = await startGated({ data_dir, platform })
      assert.equal(isBroken, true)
      assert.equal(server.gate.started, 0)
      saboteur.mend()
      await until('both to go on', () => server.gate.started === 2)
      for (const firing of [...server.gate.waiting]) firing.open()
      await until('their ends', () => runToCompletion(server.context.runs.jobs.listActive(OWNER)).length === 0)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})
