// Jobs over HTTP: lists and their pages, snapshots, cancelling and deleting, and isolation of owners.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobSnapshot } from '../../../generated/types.ts'
import type { JobTable } from '../../../src/db/tables/jobs.ts'
import { type Answer, call, refused } from '../../helpers/http.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { jobRow, putJob } from '../../helpers/store.ts'
import { gated, OWNER, startGated, submission, submit } from '../../jobs/kit.ts'
import { eventRow, put } from '../jobs-kit.ts'
import { created, GATED, gate } from '../kit.ts'

const OTHERS: Partial<JobTable>[] = [
  { user_id: '2', workspace_id: null },
  { user_id: '1', workspace_id: 'w' },
  { user_id: '2', workspace_id: 'w' },
]

const ids = (jobs: readonly JobSnapshot[]) => jobs.map(({ job_id }) => job_id)

async function list(server: TestServer, search = ''): Promise<string[]> {
  const { body, status, text } = await call<JobSnapshot[]>(server, 'GET', `/api/jobs${search}`)
  assert.equal(status, 200, text)
  return ids(body)
}

/** Follows `Link` from page to page. */
async function pages(server: TestServer, first: string): Promise<string[][]> {
  const found: string[][] = []
  for (let next: string | undefined = first; next !== undefined; ) {
    assert.ok(found.length < 100, 'the pages do not end')
    const answer: Answer<JobSnapshot[]> = await call<JobSnapshot[]>(server, 'GET', next)
    found.push(ids(answer.body))
    next = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
  }
  return found
}

/** The row of a job that has ended, with the fields that its status requires. */
function ended(key: number, status: JobTable['status'], more: Partial<JobTable> = {}): JobTable {
  const at = '2026-01-01T00:00:01.000Z'
  const error = JSON.stringify({ message: 'It failed.', type: 'node_error', node_id: null, retryable: false })
  const result = JSON.stringify({
    version: 1,
    job_id: `job_${key}`,
    completed_at: at,
    outputs: { out: [key, '"'] },
    assets: [],
    cost: null,
    provenance: { workflow_id: 'wf', workflow_revision: null, inputs: {}, providers: [], models: [], seed: null },
  })
  return jobRow(key, {
    status,
    started_at: at,
    finished_at: at,
    error: ['failed', 'error', 'timed_out'].includes(status) ? error : null,
    result: status === 'completed' ? result : null,
    ...more,
  })
}

describe('listJobs', () => {
  test('listJobs: returns the newest first, with their results, and no foreign jobs', async () => {
    await using server = await startServer()
    assert.deepEqual(await list(server), [])
    await put(
      server,
      ended(1, 'completed'),
      ended(2, 'failed'),
      ...OTHERS.map((more, at) => ended(10 + at, 'failed', more)),
    )
    const { body } = await call<JobSnapshot[]>(server, 'GET', '/api/jobs')
    assert.deepEqual(ids(body), ['job_2', 'job_1'])
    assert.deepEqual(body[1]?.result?.outputs, { out: [1, '"'] })
    assert.equal(body[0]?.error?.message, 'It failed.')
    assert.deepEqual(await call(server, 'GET', '/api/jobs/job_1').then((answer) => answer.body), body[1])
  })

  test('listJobs: filters by public status and by workflow', async () => {
    await using server = await startServer()
    const statuses = ['completed', 'failed', 'error', 'timed_out', 'cancelled'] as const
    await put(
      server,
      ...statuses.map((status, at) => ended(at + 1, status)),
      ended(6, 'failed', { workflow_id: 'other' }),
      ended(7, 'completed', { workflow_id: 'other' }),
      ended(8, 'failed', { workflow_id: 'other', user_id: '2' }),
    )
    assert.deepEqual(await list(server, '?status=failed'), ['job_6', 'job_4', 'job_3', 'job_2'])
    assert.deepEqual(await list(server, '?status=completed'), ['job_7', 'job_1'])
    assert.deepEqual(await list(server, '?status=cancelled'), ['job_5'])
    assert.deepEqual(await list(server, '?status=running'), [])
    assert.deepEqual(await list(server, '?workflow_id=other'), ['job_7', 'job_6'])
    assert.deepEqual(await list(server, '?workflow_id=other&status=failed'), ['job_6'])
    assert.deepEqual(await list(server, '?workflow_id=nobody'), [])
  })

  test('listJobs: has each job once in its pages, with any filter', async () => {
    await using server = await startServer()
    const rows = Array.from({ length: 12 }, (_, at) => ended(at + 1, at % 3 === 0 ? 'completed' : 'failed'))
    await put(server, ...rows)
    const all = await list(server)
    assert.equal(all.length, 12)
    for (const limit of [1, 5, 12, 500]) {
      const found = await pages(server, `/api/jobs?limit=${limit}`)
      assert.deepEqual(found.flat(), all)
      assert.ok(found.slice(0, -1).every((page) => page.length === limit))
    }
    const failed = await pages(server, '/api/jobs?limit=3&status=failed&workflow_id=wf')
    assert.deepEqual(
      failed.map((page) => page.length),
      [3, 3, 2],
    )
    assert.deepEqual(failed.flat(), await list(server, '?status=failed'))
  })

  test('listJobs: accepts a cursor only for the same list of the same caller, and does not reveal the number of jobs', async () => {
    await using server = await startServer()
    await put(server, ...[70_001, 70_002, 70_003].map((key) => ended(key, 'completed')))
    const next = async () => {
      const { headers } = await call(server, 'GET', '/api/jobs?limit=1')
      const [, path] = /<([^>]+)>; rel="next"/.exec(String(headers.link))!
      return new URL(path!, server.url).searchParams.get('cursor')!
    }
    const cursor = await next()
    assert.notEqual(await next(), cursor)
    assert.doesNotMatch(Buffer.from(cursor, 'base64url').toString('latin1'), /7000/)
    assert.equal((await list(server, `?limit=1&cursor=${cursor}`)).length, 1)
    const refusal = [400, 'invalid_request'] as const
    const refusedAt = (search: string) =>
      refused(server, 'GET', `/api/jobs?cursor=${cursor}${search}`, {}, [...refusal])
    for (const search of ['&status=failed', '&workflow_id=wf'])
      assert.deepEqual(await refusedAt(search), ['/query/cursor'])
    const { cursors } = server.context.runs
    const other = { ...OWNER, user_id: 'another' }
    assert.throws(() => cursors.open(other, ['jobs', null, null], cursor), { code: 'INVALID_REQUEST' })
    assert.equal(cursors.open(OWNER, ['jobs', null, null], cursor), 70_003)
  })

  test('listJobs: omits jobs of the persistence "session", which can be read by their id', async () => {
    await using server = await startGated()
    const session = { persistence: 'session', event_detail: 'full', asset_persistence: 'auto' } as const
    const hidden = submit(server, { graph: gated, options: session })
    const shown = submit(server, { graph: gated })
    await Promise.all([hidden.accepted(), shown.accepted()])
    assert.deepEqual(await list(server), [shown.row.id])
    const { body } = await call<JobSnapshot>(server, 'GET', `/api/jobs/${hidden.row.id}`)
    assert.equal(body.job_id, hidden.row.id)
  })

  test('listJobs: refuses an invalid status, limit or cursor', async () => {
    await using server = await startServer()
    const refusedAt = (search: string) => refused(server, 'GET', `/api/jobs${search}`, {}, [400, 'invalid_request'])
    assert.deepEqual(await refusedAt('?status=done&limit=501&x=1'), ['/query/limit', '/query/status', '/query/x'])
    assert.deepEqual(await refusedAt('?limit=0'), ['/query/limit'])
    const made = ['[1.5]', '[1,2]', '[-1]', '[0]', '[]', '{}'].map((text) => Buffer.from(text).toString('base64url'))
    for (const cursor of ['x', ...made]) {
      assert.deepEqual(await refusedAt(`?cursor=${cursor}`), ['/query/cursor'], cursor)
    }
  })
})

describe('getJob', () => {
  test('getJob: returns the place in the queue of a waiting job, then its result', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry, config: { max_concurrent_jobs: 1 } })
    const workflow = await created(server, GATED)
    const run = () =>
      call<{ job_id: string }>(server, 'POST', `/api/workflows/${workflow.id}/run`, { body: { background: true } })
    const [first, second, third] = [await run(), await run(), await run()]
    const read = (of: Answer<{ job_id: string }>) =>
      call<JobSnapshot>(server, 'GET', String(of.headers.location)).then(({ body }) => body)
    assert.equal((await read(first)).status, 'running')
    assert.deepEqual([(await read(second)).queue_position, (await read(third)).queue_position], [1, 2])
    assert.deepEqual(await list(server, '?status=queued'), [third.body.job_id, second.body.job_id])
    open()
    await until('the last job to end', async () => (await read(third)).status === 'completed')
    assert.deepEqual((await read(third)).result?.outputs, { result: 'done' })
    assert.equal((await call(server, 'HEAD', String(third.headers.location))).status, 200)
  })
})

describe('cancelJob', () => {
  test('cancelJob: ends a running job soon, a waiting job at once, and a repeated call changes nothing', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const [running, queued] = [submit(server, { graph: gated }), submit(server, { graph: gated })]
    await Promise.all([running.accepted(), queued.accepted()])
    const cancel = async (id: string) => (await call<JobSnapshot>(server, 'POST', `/api/jobs/${id}/cancel`)).body
    const first = await cancel(queued.row.id)
    assert.equal(first.status, 'cancelled')
    assert.deepEqual(await cancel(queued.row.id), first)
    assert.match((await cancel(running.row.id)).status, /^cancel/)
    await running.settled()
    assert.equal((await cancel(running.row.id)).status, 'cancelled')
    assert.equal(server.gate.waiting.length, 0)
  })

  test('cancelJob: returns a job that has ended unchanged', async () => {
    await using server = await startServer()
    await put(server, ended(1, 'completed'))
    const { body } = await call<JobSnapshot>(server, 'POST', '/api/jobs/job_1/cancel')
    assert.equal(body.status, 'completed')
  })
})

describe('deleteJob', () => {
  test('deleteJob: removes all of the job, and frees its id', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated, job_id: 'mine' })
    await job.accepted()
    await refused(server, 'DELETE', '/api/jobs/mine', {}, [409, 'job_not_terminal'])
    const held = await until('the gate to be reached', () => server.gate.waiting[0])
    held.open()
    await job.settled()
    const { store } = server.context
    assert.equal((await call(server, 'DELETE', '/api/jobs/mine')).status, 204)
    // The rest is removed by the next sweep.
    await server.context.runs.retention.sweep()
    await refused(server, 'GET', '/api/jobs/mine', {}, [404, 'job_not_found'])
    await refused(server, 'DELETE', '/api/jobs/mine', {}, [404, 'job_not_found'])
    assert.deepEqual(await list(server), [])
    assert.equal(
      store.read((tx) => eventRow(tx, job.row.key)),
      null,
    )
    const again = server.context.runs.jobs.submit(job.row, submission({ graph: gated, job_id: 'mine' }))
    assert.equal(again.duplicate, false)
    await again.active!.accepted()
  })
})

describe('jobs of other owners', () => {
  test('JOB_NOT_FOUND: foreign, unknown and other-workspace jobs give the same answer everywhere, with as many statements', async () => {
    await using server = await startServer()
    const rows = OTHERS.map((more, at) => ended(at + 1, 'failed', { id: `foreign${at}`, ...more }))
    await server.context.store.write((tx) => putJob(tx, ...rows))
    const doors = [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/cancel'],
      ['POST', '/retry'],
      ['GET', '/events'],
      ['POST', '/resume', { value: 1 }],
    ] as const
    for (const [method, suffix, body] of doors) {
      const seen = new Set<string>()
      for (const id of ['missing', ...rows.map((row) => row.id)]) {
        const before = server.context.store.statements
        const answer = await call(server, method, `/api/jobs/${id}${suffix}`, { body })
        const { date: _date, 'x-request-id': _id, ...headers } = answer.headers
        assert.equal(answer.status, 404)
        seen.add(JSON.stringify([answer.text, headers, server.context.store.statements - before]))
      }
      assert.equal(seen.size, 1, `${method} ${suffix}: ${[...seen].join('\n')}`)
    }
  })
})
