// Settings over HTTP: the list, atomic changes, and their effect on runs over every transport.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { JobSnapshot, RunResult, Setting } from '../../../generated/types.ts'
import { createLog } from '../../../src/log.ts'
import { type Answer, call, type ErrorBody, refused } from '../../helpers/http.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../../helpers/server.ts'
import { connect } from '../../helpers/socket.ts'
import { gated, startGated, submission } from '../../jobs/kit.ts'
import { LOCAL, OTHERS, settingsOf } from '../../settings/kit.ts'
import { created, slow } from '../kit.ts'

const DEFAULTS = {
  'jobs.concurrent': true,
  'jobs.event_detail': 'full',
  'jobs.persistence': 'job',
  'jobs.timeout_seconds': null,
}

function update(server: { url: string }, values: object): Promise<Answer<{ settings: Setting[] }>> {
  return call(server, 'PUT', '/api/settings', { body: { values } })
}

async function runIn(server: TestServer): Promise<JobSnapshot> {
  const body = { params: { name: 'Ada' } }
  const run = await call<RunResult>(server, 'POST', '/api/workflows/greeting/run', { body })
  return (await call<JobSnapshot>(server, 'GET', `/api/jobs/${run.body.job_id}`)).body
}

async function listedJobs(server: TestServer): Promise<string[]> {
  return (await call<JobSnapshot[]>(server, 'GET', '/api/jobs')).body.map(({ job_id }) => job_id)
}

/** The types of frames of a run over the socket. */
async function framesOf(server: TestServer, options: object = {}): Promise<Set<string>> {
  await using client = await connect(server)
  client.command('run_job', { job_id: 'told', workflow_id: 'greeting', params: { name: 'Ada' }, ...options })
  await client.next({ type: 'job_update', status: 'completed' })
  return new Set(client.frames.flatMap(({ type, job_id }) => (job_id === 'told' && type ? [type] : [])))
}

describe('getSettings, updateSettings', () => {
  test('return every setting with its type and limits, and change the named ones', async () => {
    await using server = await startServer()
    const { body } = await call<{ settings: Setting[] }>(server, 'GET', '/api/settings')
    assert.deepEqual(await settingsOf(server), DEFAULTS)
    assert.deepEqual(
      body.settings.map(({ name, type, values, minimum, maximum }) => [name, type, values, minimum, maximum]),
      [
        ['jobs.concurrent', 'boolean', null, null, null],
        ['jobs.event_detail', 'string', ['full', 'outputs', 'terminal'], null, null],
        ['jobs.persistence', 'string', ['job', 'session'], null, null],
        ['jobs.timeout_seconds', 'integer', null, 1, 31_536_000],
      ],
    )
    const changed = await update(server, { 'jobs.event_detail': 'terminal', 'jobs.timeout_seconds': 90 })
    assert.equal(changed.status, 200)
    assert.deepEqual(await settingsOf(server), {
      ...DEFAULTS,
      'jobs.event_detail': 'terminal',
      'jobs.timeout_seconds': 90,
    })
    assert.deepEqual(changed.body, (await call(server, 'GET', '/api/settings')).body)
    await update(server, { 'jobs.event_detail': null, 'jobs.persistence': null, 'jobs.timeout_seconds': null })
    assert.deepEqual(await settingsOf(server), DEFAULTS)
  })

  test('report an unknown setting with its path, for any spelling', async () => {
    await using server = await startServer()
    for (const [name, at] of [
      ['Jobs.Concurrent', 'Jobs.Concurrent'],
      ['a/b~', 'a~1b~0'],
      ['', ''],
      ['constructor', 'constructor'],
      ['x'.repeat(200), 'x'.repeat(200)],
    ] as const) {
      const { status, body } = (await update(server, { [name]: 1 })) as unknown as Answer<ErrorBody>
      assert.equal(status, 422, name)
      const message = `There is no setting "${name}".`
      assert.deepEqual(body.error.problems, [{ path: `/body/values/${at}`, code: 'unknown_setting', message }])
    }
    const raw = await call<ErrorBody>(server, 'PUT', '/api/settings', {
      raw: '{"values":{"__proto__":1}}',
      headers: { 'Content-Type': 'application/json' },
    })
    assert.equal(raw.body.error.problems![0]!.path, '/body/values/__proto__', raw.text)
    assert.deepEqual(await settingsOf(server), DEFAULTS)
  })

  test('refuse all values with every problem, and change nothing', async () => {
    await using server = await startServer()
    const bad = {
      'jobs.concurrent': 'yes',
      'jobs.event_detail': 'none',
      'jobs.nothing': 1,
      'jobs.timeout_seconds': 0,
      'jobs.persistence': 'session',
    }
    const { status, body } = (await update(server, bad)) as unknown as Answer<ErrorBody>
    assert.equal(status, 422)
    assert.deepEqual(body.error.problems, [
      {
        path: '/body/values/jobs.concurrent',
        code: 'invalid_value',
        message: 'The setting "jobs.concurrent" must be a boolean.',
      },
      {
        path: '/body/values/jobs.event_detail',
        code: 'invalid_value',
        message: 'The setting "jobs.event_detail" must be one of full, outputs, terminal.',
      },
      { path: '/body/values/jobs.nothing', code: 'unknown_setting', message: 'There is no setting "jobs.nothing".' },
      {
        path: '/body/values/jobs.timeout_seconds',
        code: 'invalid_value',
        message: 'The setting "jobs.timeout_seconds" must be at least 1.',
      },
    ])
    for (const value of [1.5, '1', true, 31_536_001]) {
      assert.equal((await update(server, { 'jobs.timeout_seconds': value })).status, 422, String(value))
    }
    for (const values of [{}, { 'jobs.timeout_seconds': [] }, null])
      await refused(server, 'PUT', '/api/settings', { body: { values } }, [400, 'invalid_request'])
    assert.deepEqual(await settingsOf(server), DEFAULTS)
  })

  test('keep the values of each owner separate, and across a restart', async () => {
    const data_dir = temporaryFolder()
    try {
      {
        await using server = await startServer({ data_dir })
        await update(server, { 'jobs.persistence': 'session' })
        for (const owner of OTHERS) {
          assert.equal(server.context.users.settings.runDefaults(owner).persistence, 'job')
          await server.context.users.settings.update(owner, { 'jobs.timeout_seconds': 7 }, '')
        }
        assert.equal((await settingsOf(server))['jobs.timeout_seconds'], null)
      }
      await using server = await startServer({ data_dir })
      assert.deepEqual(await settingsOf(server), { ...DEFAULTS, 'jobs.persistence': 'session' })
      for (const owner of OTHERS) {
        const { persistence, timeout_seconds } = server.context.users.settings.runDefaults(owner)
        assert.deepEqual([persistence, timeout_seconds], ['job', 7])
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('limit a user’s time limit by that of the operator', async () => {
    const data_dir = temporaryFolder()
    try {
      {
        await using server = await startServer({ data_dir })
        await update(server, { 'jobs.timeout_seconds': 500 })
        assert.equal((await settingsOf(server))['jobs.timeout_seconds'], 500)
      }
      await using server = await startServer({ data_dir, environment: { SVC_JOB_TIMEOUT_SECONDS: '60' } })
      assert.equal((await settingsOf(server))['jobs.timeout_seconds'], 60, 'what is too much now counts as none')
      assert.equal((await update(server, { 'jobs.timeout_seconds': 61 })).status, 422)
      assert.equal((await update(server, { 'jobs.timeout_seconds': 59 })).status, 200)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('record the changed names in the audit log', async () => {
    const lines: string[] = []
    await using server = await startServer({
      log: createLog('info', undefined, { write: (line: string) => void lines.push(line) }),
    })
    await update(server, { 'jobs.persistence': 'session', 'jobs.concurrent': null })
    await update(server, { 'jobs.persistence': 5 })
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ audit }) => audit)
    assert.deepEqual(
      told.map(({ audit, settings }) => [audit, settings]),
      [['settings_changed', ['jobs.persistence', 'jobs.concurrent']]],
    )
  })
})

describe('settings of runs', () => {
  test('jobs.persistence: decides whether runs over HTTP and the socket are listed, unless the request does', async () => {
    await using server = await startServer()
    await update(server, { 'jobs.persistence': 'session' })
    assert.equal((await runIn(server)).status, 'completed')
    await framesOf(server)
    assert.deepEqual(await listedJobs(server), [])
    await using client = await connect(server)
    const options = { execution_options: { persistence: 'job' } }
    client.command('run_job', { job_id: 'said', workflow_id: 'greeting', params: { name: 'Ada' }, ...options })
    await client.next({ type: 'job_update', status: 'completed' })
    assert.deepEqual(await listedJobs(server), ['said'])
    await update(server, { 'jobs.persistence': null })
    const { job_id } = await runIn(server)
    assert.deepEqual(await listedJobs(server), [job_id, 'said'])
  })

  test('jobs.event_detail: decides about the detail for sockets, unless the command does', async () => {
    await using server = await startServer()
    await update(server, { 'jobs.event_detail': 'outputs' })
    assert.deepEqual(await framesOf(server), new Set(['job_update', 'output_update']))
    await using other = await startServer()
    await update(other, { 'jobs.event_detail': 'terminal' })
    assert.deepEqual(await framesOf(other), new Set(['job_update']))
    await using third = await startServer()
    await update(third, { 'jobs.event_detail': 'terminal' })
    const told = await framesOf(third, { execution_options: { event_detail: 'full' } })
    assert.ok(told.has('node_update') && told.has('output_update'))
  })

  test('jobs.timeout_seconds: ends runs over every transport, unless the request sets a limit', async () => {
    await using server = await startGated()
    await update(server, { 'jobs.timeout_seconds': 1 })
    const created = await call<{ id: string }>(server, 'POST', '/api/workflows', {
      body: { name: 'Waits', graph: gated },
    })
    const path = `/api/workflows/${created.body.id}/run`
    await using client = await connect(server)
    client.command('run_job', { job_id: 'over', workflow_id: created.body.id, params: { in: 1 } })
    const started = call<RunResult>(server, 'POST', path, { body: { params: { in: 1 } } })
    const longer = { params: { in: 1 }, timeout_seconds: 60, background: true }
    const other = await call<RunResult>(server, 'POST', path, { body: longer })
    const { body } = await started
    assert.deepEqual([body.status, body.error?.type], ['failed', 'timed_out'])
    assert.match(JSON.stringify(await client.next({ type: 'job_update', status: 'failed' })), /1 second/)
    assert.equal(server.context.runs.jobs.living(LOCAL, other.body.job_id)?.status, 'running')
  })

  test('include the operator’s time limit, which ends runs with a higher limit, and retries of runs that began without it', async () => {
    const data_dir = temporaryFolder()
    const limited = { data_dir, environment: { SVC_JOB_TIMEOUT_SECONDS: '1' } }
    const longer = { params: {}, timeout_seconds: 600 }
    const end = ({ body: { status, error } }: Answer<Pick<JobSnapshot, 'status' | 'error'>>) => [status, error?.type]
    try {
      let path: string
      let job: string
      {
        await using server = await startServer({ data_dir })
        path = `/api/workflows/${(await created(server, slow(4))).id}/run`
        const { body } = await call<RunResult>(server, 'POST', path, { body: { ...longer, background: true } })
        job = `/api/jobs/${body.job_id}`
        await call(server, 'POST', `${job}/cancel`)
        await until('its end', async () => (await call<JobSnapshot>(server, 'GET', job)).body.status === 'cancelled')
      }
      await using server = await startServer(limited)
      assert.deepEqual(end(await call(server, 'POST', path, { body: longer })), ['failed', 'timed_out'])
      const retry = `/api/jobs/${(await call<JobSnapshot>(server, 'POST', `${job}/retry`)).body.job_id}`
      const ended = async () => {
        const answer = await call<JobSnapshot>(server, 'GET', retry)
        return ['completed', 'failed'].includes(answer.body.status) ? answer : null
      }
      assert.deepEqual(end(await until('the end of the retry', ended)), ['failed', 'timed_out'])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('jobs.concurrent: makes runs over the socket wait for each other, unless the command decides', async () => {
    await using server = await startGated()
    await update(server, { 'jobs.concurrent': false })
    const { body } = await call<{ id: string }>(server, 'POST', '/api/workflows', {
      body: { name: 'Waits', graph: gated },
    })
    await using client = await connect(server)
    const command = { workflow_id: body.id, params: { in: 1 } }
    client.command('run_job', { job_id: 'first', ...command })
    await client.next({ type: 'job_update', status: 'running', job_id: 'first' })
    client.command('run_job', { job_id: 'beside', concurrent: true, ...command })
    await client.next({ type: 'job_update', status: 'running', job_id: 'beside' })
    client.command('run_job', { job_id: 'waiting', ...command })
    await client.next({ type: 'job_update', status: 'queued', job_id: 'waiting' })
  })

  test('do not change a request that is sent again', async () => {
    await using server = await startServer()
    const { jobs } = server.context.runs
    const given = { persistence: null, event_detail: null, asset_persistence: null }
    const request = submission({
      workflow_id: 'greeting',
      params: { name: 'A' },
      job_id: 'mine',
      options: given,
      concurrent: null,
    })
    const first = jobs.submit(LOCAL, request)
    await first.active!.settled()
    await update(server, { 'jobs.persistence': 'session', 'jobs.timeout_seconds': 5, 'jobs.concurrent': false })
    const again = jobs.submit(LOCAL, request)
    assert.deepEqual([again.duplicate, again.row.key], [true, first.row.key])
    const spelled = jobs.submit(
      LOCAL,
      submission({ ...request, concurrent: true, options: { ...given, persistence: 'job' } }),
    )
    assert.equal(spelled.duplicate, true, 'what is the service’s own default may be said')
  })
})
