// The suite judges this project's own server: it passes everything, with the preview on and off, trusted and with a token.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LOCAL_PRINCIPAL } from '../../../src/access/principal.ts'
import { sampleGraphs } from '../../../src/conformance/server/sample-graphs.ts'
import { runServerSuite } from '../../../src/conformance/server/suite.ts'
import type { ConformanceReport } from '../../../src/conformance/server-report.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'

const DAY = 86_400_000
const PREVIEW = { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1', SVC_MAX_UPLOAD_BYTES: '65536' }
const STRICT = { SVC_TRUST_LOCALHOST: 'false' }

interface Case {
  environment: Record<string, string>
  /** Requirements that may be skipped there. */
  skipped: string[]
}

const UNTOKENED = ['server.access.before-routing', 'server.access.query-token']
/** Where every command is claimed. */
const UNPLANNED = 'server.claims.planned-commands-absent'
const AGED = ['server.states.expired', 'server.events.replay-expired']
/** Judged with shorter times below. */
const SELDOM = 'server.socket.keep-alive'
const JOBS = [
  ...['preflight-kept', 'queue-order'].map((rule) => `server.states.${rule}`),
  ...['frame-ids', 'active-subscription'].map((rule) => `server.events.${rule}`),
  'server.states.cancel-queued',
  'server.states.acknowledged-cancel',
  'server.events.subscription-range',
  ...['acknowledged', 'duplicate', 'normalised', 'conflict', 'one-of-two', 'etag', 'key-first'].map(
    (rule) => `server.submission.${rule}`,
  ),
  ...['preflight-failed', 'not-found', 'same-over-socket', 'queued'].map((rule) => `server.submission.${rule}`),
]

const CASES: Readonly<Record<string, Case>> = {
  'trusted, without the preview': {
    environment: {},
    skipped: [...UNTOKENED, ...AGED, ...JOBS, SELDOM, 'server.uploads.size-limit'],
  },
  'with a token, with the preview': {
    environment: { ...STRICT, ...PREVIEW },
    skipped: [...AGED, SELDOM, UNPLANNED],
  },
}

async function judge(server: TestServer, token: string | null): Promise<ConformanceReport> {
  const other = { ...LOCAL_PRINCIPAL, user_id: 'another' }
  const { token: other_token } = await server.context.access.tokens.access.mint(other, { name: 'suite' })
  const given = { other_token }
  return runServerSuite({
    url: server.url,
    token,
    profile: 'full',
    timeout_ms: 10_000,
    only: [],
    operator_inputs: given,
  })
}

describe('this server keeps the contract', () => {
  for (const [name, { environment, skipped }] of Object.entries(CASES)) {
    test(name, async () => {
      await using server = await startServer({ environment })
      const { access } = server.context.access.tokens
      const token =
        'SVC_TRUST_LOCALHOST' in environment ? (await access.mint(LOCAL_PRINCIPAL, { name: 'suite' })).token : null
      const { requirements } = await judge(server, token)
      const having = (verdict: string) => requirements.filter((one) => one.verdict === verdict)
      assert.deepEqual(
        having('fail').map(({ id, evidence }) => ({ id, evidence: evidence.slice(0, 2) })),
        [],
      )
      // What comes to be claimed is no longer skipped, and nothing else is.
      const unexpected = having('skipped').filter(({ id }) => !skipped.includes(id))
      assert.deepEqual(unexpected, [])
    })
  }

  test('with the lifecycle profile switched off, everything else', async () => {
    await using server = await startServer({ environment: { SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
    const only = [
      'server.runs',
      'server.socket.messagepack-first',
      'server.socket.undecodable',
      'server.http.revisions',
    ]
    const { requirements } = await runServerSuite({
      url: server.url,
      token: null,
      profile: 'full',
      timeout_ms: 10_000,
      only,
    })
    assert.ok(requirements.length >= 10)
    assert.deepEqual(
      requirements.filter(({ verdict }) => verdict !== 'pass'),
      [],
    )
  })

  test('of jobs that are past their retention', async () => {
    let now = Date.parse('2026-01-01T00:00:00.000Z')
    const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
    await using server = await startServer({ platform, environment: PREVIEW })
    const expired_job = await anyJob(server.url)
    now += 25 * DAY
    const swept_job = await anyJob(server.url)
    now += 8 * DAY
    await server.context.runs.retention.sweep()
    const given = { expired_job, swept_job }
    const { requirements } = await runServerSuite({
      url: server.url,
      token: null,
      profile: 'full',
      timeout_ms: 10_000,
      only: AGED,
      operator_inputs: given,
    })
    assert.deepEqual(
      requirements.map(({ verdict, evidence }) => ({ verdict, evidence })),
      AGED.map(() => ({ verdict: 'pass', evidence: [] })),
    )
  })

  test('of silent sockets, and says what it would take to judge that', async () => {
    const socket_times = { protocol_ping_ms: 200, frame_ping_ms: 250 }
    await using server = await startServer({ socket_times })
    const options = { url: server.url, token: null, profile: 'full', timeout_ms: 10_000, only: [SELDOM] } as const
    const keep_alive = { protocol_ping_ms: 1_000, frame_ping_ms: 1_000 }
    const judged = async (patience_ms: number) =>
      (await runServerSuite({ ...options, patience_ms, keep_alive })).requirements.map(({ verdict }) => verdict)
    assert.deepEqual(await judged(5_000), ['pass'])
    assert.deepEqual(await judged(0), ['skipped'])
    const [asTheContractSays] = (await runServerSuite({ ...options, patience_ms: 10_000 })).requirements
    assert.match(asTheContractSays!.reason!, /after 27 seconds, which would take \d+ more/)
  })

  test('and everything that the suite has made is gone', async () => {
    await using server = await startServer({ environment: PREVIEW })
    await runServerSuite({
      url: server.url,
      token: null,
      profile: 'full',
      timeout_ms: 10_000,
      only: ['server.preflight', 'server.http', 'server.runs', 'server.submission'],
    })
    const workflows = await (await fetch(`${server.url}/api/workflows`)).json()
    const jobs = await (await fetch(`${server.url}/api/jobs`)).json()
    const secrets = (await (await fetch(`${server.url}/api/secrets`)).json()) as { is_set: boolean }[]
    assert.deepEqual([workflows, jobs, secrets.filter(({ is_set }) => is_set)], [[], [], []])
  })
})

/** A job that has ended, by a run over HTTP. */
async function anyJob(url: string): Promise<string> {
  const post = async (path: string, body: object) => {
    const headers = { 'Content-Type': 'application/json' }
    return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  const { id } = (await post('/api/workflows', { name: 'aged', graph: sampleGraphs.anything })) as { id: string }
  return ((await post(`/api/workflows/${id}/run`, { params: { value: 1 } })) as { job_id: string }).job_id
}
