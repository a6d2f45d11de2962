// Tests access to jobs: keys belong to a user within a workspace, only owners see expired jobs, and a token allows what its scopes say. It
// also tests the log lines of submissions.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LOCAL_PRINCIPAL, type TokenScope } from '../../src/access/principal.ts'
import { insertTombstone } from '../../src/db/jobs/tombstones.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { preflightFailedError } from '../../src/lifecycle/preflight/failed-error.ts'
import { redactPreflight } from '../../src/lifecycle/preflight/summary-redaction.ts'
import { createLog } from '../../src/log.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { ended } from '../jobs/kit.ts'
import {
  GATED,
  QUICK,
  refusedWith,
  type SdkErrorBody,
  startPreview,
  submissionOf,
  submitted,
  workflow,
} from './jobs-kit.ts'

describe('a key', () => {
  test('belongs to a user within a workspace, and so does the workflow', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startPreview({ environment: idp.environment })
    const caller = async ({ user_id, workspace_id }: OwnerScope) => {
      const token = await idp.token({ sub: user_id, ...(workspace_id === null ? {} : { workspace_id }) })
      return { Authorization: `Bearer ${token}` }
    }
    const jobs = new Set<string>()
    for (const [user_id, workspace_id] of [
      ['a', 'w'],
      ['b', 'w'],
      ['a', 'v'],
      ['a', null],
    ] as const) {
      const headers = await caller({ user_id, workspace_id })
      const of = await workflow(server, QUICK, headers)
      const body = submissionOf(of, { idempotency_key: 'the same for all' })
      const { job_id } = await submitted(server, body, headers)
      jobs.add(job_id)
      const own = await submitted(server, { ...body, workspace_id }, headers)
      assert.deepEqual([own.job_id, own.duplicate], [job_id, true])
      const elsewhere = { ...submissionOf(of), workspace_id: 'another' }
      await refusedWith(server, elsewhere, 'WORKFLOW_NOT_FOUND', headers)
    }
    assert.equal(jobs.size, 4)
  })
})

describe('an expired job', () => {
  test('is JOB_EXPIRED for its owner, and looks to others like one that never existed', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startPreview({ environment: idp.environment })
    const headers = (sub: string) => idp.token({ sub }).then((token) => ({ Authorization: `Bearer ${token}` }))
    await server.context.store.write((tx) =>
      insertTombstone(tx, { user_id: 'a', workspace_id: null, id: 'job_old' }, '2026-01-01T00:00:00.000Z'),
    )
    for (const [sub, status, code] of [
      ['a', 410, 'JOB_EXPIRED'],
      ['b', 404, 'JOB_NOT_FOUND'],
    ] as const) {
      const by = await headers(sub)
      for (const [method, path] of [
        ['GET', '/api/sdk/v1/jobs/job_old'],
        ['POST', '/api/sdk/v1/jobs/job_old/cancel'],
      ] as const) {
        const answer = await call<SdkErrorBody>(server, method, path, { headers: by })
        assert.deepEqual([answer.status, answer.body.code], [status, code])
      }
      await using client = await connect(server, { headers: by })
      for (const command of ['get_job_snapshot', 'subscribe_job', 'request_job_cancellation']) {
        const { error } = await client.ask(command, { job_id: 'job_old' })
        assert.equal((error as { code: string }).code, code, command)
      }
    }
  })
})

describe('a token', () => {
  test('that may only read shows and follows jobs, and neither submits nor cancels', async () => {
    await using server = await startPreview()
    const { id, token } = await minted(server, 'read')
    const headers = { Authorization: `Bearer ${token}` }
    const of = await workflow(server, GATED)
    const { job_id } = await submitted(server, submissionOf(of, { inputs: { in: 1 } }))
    await refusedWith(server, submissionOf(of), 'FORBIDDEN', headers)
    const path = `/api/sdk/v1/jobs/${job_id}`
    assert.equal((await call(server, 'POST', `${path}/cancel`, { headers })).status, 403)
    assert.equal((await call(server, 'GET', path, { headers })).status, 200)
    await using client = await connect(server, { headers })
    for (const [command, data, code] of [
      ['submit_job', submissionOf(of), 'FORBIDDEN'],
      ['request_job_cancellation', { job_id }, 'FORBIDDEN'],
      ['get_job_snapshot', { job_id }, undefined],
      ['subscribe_job', { job_id }, undefined],
    ] as const) {
      const { error } = await client.ask(command, data)
      assert.equal((error as { code: string } | undefined)?.code, code, command)
    }
    assert.ok(id)
  })

  test('that is revoked ends its subscriptions with its socket', async () => {
    await using server = await startPreview({ socket_times: { recheck_ms: 50 } })
    const { id, token } = await minted(server, 'read')
    const { job_id } = await submitted(server, submissionOf(await workflow(server, GATED), { inputs: { in: 1 } }))
    await using client = await connect(server, { headers: { Authorization: `Bearer ${token}` } })
    await client.ask('subscribe_job', { job_id })
    assert.equal(server.context.runs.events.followers, 1)
    await server.context.access.tokens.access.revoke(LOCAL_PRINCIPAL, id)
    assert.equal((await client.closed()).code, 1008)
    await until('nobody', () => server.context.runs.events.followers === 0)
  })
})

function minted(server: { context: Awaited<ReturnType<typeof startPreview>>['context'] }, ...scopes: TokenScope[]) {
  return server.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'a program', scopes, expires_at: undefined })
}

describe('the log', () => {
  test('names each attempt by the id of its client, whatever the result', async () => {
    const lines: Record<string, unknown>[] = []
    const log = createLog('info', new Redactor(), { write: (line: string) => void lines.push(JSON.parse(line)) })
    await using server = await startPreview({ log })
    const body = submissionOf(await workflow(server, QUICK), { client_request_id: 'first' })
    const { job_id } = await submitted(server, body)
    await ended(server, job_id)
    await submitted(server, { ...body, client_request_id: 'second' })
    await refusedWith(server, { ...body, client_request_id: 'third', inputs: { in: 1 } }, 'IDEMPOTENCY_CONFLICT')
    const told = lines.filter((line) => 'client_request_id' in line)
    assert.deepEqual(
      told.map((line) => [line.client_request_id, line.job_id ?? line.code, line.duplicate]),
      [
        ['first', job_id, false],
        ['second', job_id, true],
        ['third', 'IDEMPOTENCY_CONFLICT', undefined],
      ],
    )
  })
})

const SUMMARY = {
  version: 1,
  level: 'execution',
  workflow_id: 'wf_hunter22-1',
  workflow_etag: 'e',
  runnable: false,
  issues: [
    { severity: 'warning', code: 'execution_likely_queued', message: 'It waits.', node_id: null, pin_name: null },
    { severity: 'error', code: 'workflow_etag_mismatch', message: 'Old.', node_id: null, pin_name: null },
    { severity: 'error', code: 'graph_type_mismatch', message: 'No.', node_id: 'a/b', pin_name: 'value' },
    { severity: 'error', code: 'graph_empty_graph', message: 'None.', node_id: null, pin_name: null },
    { severity: 'error', code: 'unknown_input', message: 'hunter22-1', node_id: null, pin_name: 'x~y' },
    { severity: 'error', code: 'unknown_input', message: 'More.', node_id: null, pin_name: null },
  ],
  requirements: [
    {
      kind: 'asset',
      id: '/api/storage/hunter22-1',
      name: 'hunter22-1',
      status: 'missing',
      blocking: true,
      message: null,
    },
    {
      kind: 'model',
      id: 'p/m',
      name: 'M',
      status: 'unknown',
      blocking: true,
      message: 'No answer.',
      details: { a: 'hunter22-1' },
    },
    { kind: 'runtime', id: 'r', name: 'R', status: 'missing', blocking: false, message: null },
    { kind: 'provider', id: 'p', name: 'P', status: 'available', blocking: true, message: null },
  ],
  cost: null,
} as const

describe('a preflight that does not pass', () => {
  test('is reported with the place of each problem, errors first, warnings last', () => {
    const { problems, message, code } = preflightFailedError(structuredClone(SUMMARY) as never, '/body')
    assert.equal(code, 'PREFLIGHT_FAILED')
    assert.equal(message, 'Old. (and 7 more)')
    assert.deepEqual(
      problems.map((problem) => [problem.path, problem.code]),
      [
        ['/body/workflow_etag', 'workflow_etag_mismatch'],
        ['/graph/nodes/a~1b/value', 'graph_type_mismatch'],
        ['/graph', 'graph_empty_graph'],
        ['/body/inputs/x~0y', 'unknown_input'],
        ['/body/inputs', 'unknown_input'],
        ['/requirements/asset/~1api~1storage~1hunter22-1', 'requirement_missing'],
        ['/requirements/model/p~1m', 'requirement_unknown'],
        ['/execution', 'execution_likely_queued'],
      ],
    )
    assert.equal(problems[5]!.message, 'hunter22-1 is missing.')
  })

  test('is shown without secrets, and with its ids and words as they are', () => {
    const shown = redactPreflight(structuredClone(SUMMARY) as never, new Redactor(['hunter22-1']))
    assert.equal(shown.workflow_id, 'wf_hunter22-1')
    const rest = JSON.stringify({ ...shown, workflow_id: '' })
    assert.ok(!rest.includes('hunter22-1'), rest)
    assert.deepEqual(
      shown.requirements.map(({ kind, status }) => [kind, status]),
      SUMMARY.requirements.map(({ kind, status }) => [kind, status]),
    )
    assert.deepEqual(shown.requirements[1]!.details, { a: '[redacted]' })
    assert.equal('details' in shown.requirements[0]!, false)
  })
})
