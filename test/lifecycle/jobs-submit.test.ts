// Tests submissions of the lifecycle profile: submitJob and submit_job, getJobSnapshot and get_job_snapshot, requestJobCancellation and
// request_job_cancellation. It covers the order of the checks, idempotency keys, and what is stored.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { CancelJobResponse, JobSnapshot, SubmitJobRequest, SubmitJobResponse } from '../../generated/types.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { ended, type GatedServer, OWNER, valid } from '../jobs/kit.ts'
import {
  GATED,
  post,
  QUICK,
  refusedWith,
  type SdkErrorBody,
  STRICT,
  startPreview,
  submissionOf,
  submitted,
  workflow,
} from './jobs-kit.ts'

let server: GatedServer
before(async () => {
  server = await startPreview()
})
after(() => server[Symbol.asyncDispose]())

function snapshot(job_id: string) {
  return call<JobSnapshot>(server, 'GET', `/api/sdk/v1/jobs/${encodeURIComponent(job_id)}`)
}

function cancel(job_id: string) {
  return call<CancelJobResponse>(server, 'POST', `/api/sdk/v1/jobs/${encodeURIComponent(job_id)}/cancel`)
}

/** Opens one gate as soon as a job waits at it. */
async function open(): Promise<void> {
  const waiting = await until('a gate', () => server.gate.waiting[0])
  waiting.open()
}

describe('a submission', () => {
  test('is answered with 202, its place in the queue, its ids and its preflight, and runs', async () => {
    const of = await workflow(server, QUICK)
    const body = submissionOf(of, { inputs: { in: 'Ada' } })
    const { status, headers, body: answer } = await post(server, body)
    assert.equal(status, 202)
    assert.equal(headers.location, `/api/sdk/v1/jobs/${answer.job_id}`)
    assert.deepEqual(
      [answer.client_request_id, answer.status, answer.queue_position, answer.duplicate],
      [body.client_request_id, 'accepted', null, false],
    )
    const { preflight } = answer
    assert.deepEqual([preflight.level, preflight.runnable, preflight.workflow_etag], ['execution', true, of.etag])
    await ended(server, answer.job_id)
    const { body: shown } = await snapshot(answer.job_id)
    assert.equal(shown.status, 'completed')
    assert.deepEqual(shown.preflight, preflight)
    assert.deepEqual([shown.created_at, shown.workflow_etag], [answer.accepted_at, of.etag])
    assert.deepEqual((shown.result as { outputs: object }).outputs, { out: 'Ada' })
  })

  test('is the same over the socket, in both encodings', async () => {
    const of = await workflow(server, QUICK)
    for (const mode of ['binary', 'text'] as const) {
      await using client = await connect(server, { mode })
      const body = submissionOf(of, { inputs: { in: mode } })
      const frame = await client.ask('submit_job', body)
      const result = frame.result as SubmitJobResponse
      assert.equal(result.duplicate, false)
      await ended(server, result.job_id)
      const again = await submitted(server, body)
      assert.deepEqual(again, { ...result, duplicate: true })
      const shown = (await client.ask('get_job_snapshot', { job_id: result.job_id })).result
      assert.deepEqual(shown, (await snapshot(result.job_id)).body)
      const cancelled = (await client.ask('request_job_cancellation', { job_id: result.job_id })).result
      assert.deepEqual(cancelled, {
        job_id: result.job_id,
        status: 'completed',
        cancel_requested: false,
        snapshot: shown,
      })
    }
  })

  test('waits behind a job of its workflow unless it says otherwise, and is shown with its place', async () => {
    const of = await workflow(server, GATED)
    const first = await submitted(server, submissionOf(of, { inputs: { in: 1 } }))
    const beside = await submitted(server, submissionOf(of, { inputs: { in: 3 }, options: { concurrent: true } }))
    assert.equal(beside.status, 'accepted')
    const second = submissionOf(of, { inputs: { in: 2 } })
    const { status, queue_position, job_id } = await submitted(server, second)
    assert.deepEqual([status, queue_position], ['queued', 1])
    assert.deepEqual((await submitted(server, second)).queue_position, 1)
    for (const id of [first.job_id, beside.job_id]) {
      assert.equal((await cancel(id)).body.job_id, id)
      await ended(server, id)
    }
    await open()
    await ended(server, job_id)
    const later = await submitted(server, second)
    assert.deepEqual([later.status, later.queue_position, later.duplicate], ['accepted', null, true])
  })

  test('keeps generated files temporarily if only the result counts, else as usual', async () => {
    const of = await workflow(server, QUICK)
    for (const [options, kept] of [
      [undefined, 'temporary'],
      [{ require_terminal_result: true }, 'temporary'],
      [{ require_terminal_result: false }, 'auto'],
    ] as const) {
      const { job_id } = await submitted(server, submissionOf(of, { options: options ?? null }))
      const { row } = await server.context.runs.jobs.get(OWNER, job_id)
      assert.equal(JSON.parse(row.options).asset_persistence, kept)
    }
  })
})

describe('an idempotency key', () => {
  const equivalent: readonly [string, (body: SubmitJobRequest) => unknown][] = [
    ['as it is', (body) => body],
    ['of another attempt', (body) => ({ ...body, client_request_id: 'another attempt' })],
    ['with its keys in another order', (body) => Object.fromEntries(Object.entries(body).reverse())],
    ['with what absent means written out', (body) => ({ ...body, workspace_id: null, inputs: {}, options: {} })],
    ['with null for absent', (body) => ({ ...body, workspace_id: null, inputs: null, options: null })],
    ['with the defaults', (body) => ({ ...body, options: { concurrent: false, require_terminal_result: true } })],
    ['with null for defaults', (body) => ({ ...body, options: { concurrent: null, require_terminal_result: null } })],
  ]

  test('gives the same job for an equivalent request', async () => {
    const body = submissionOf(await workflow(server, QUICK))
    const { job_id, preflight } = await submitted(server, body)
    for (const [what, same] of equivalent) {
      const again = await submitted(server, same(body) as SubmitJobRequest)
      assert.deepEqual([again.job_id, again.duplicate, again.preflight], [job_id, true, preflight], what)
    }
  })

  test('gives the same job for inputs with another order of nested keys', async () => {
    const of = await workflow(server, QUICK)
    const body = submissionOf(of, { inputs: { in: { a: [{ b: 1, c: 2 }], d: null } } })
    const { job_id } = await submitted(server, body)
    const again = await submitted(server, { ...body, inputs: { in: { d: null, a: [{ c: 2, b: 1 }] } } })
    assert.deepEqual([again.job_id, again.duplicate], [job_id, true])
  })

  test('is a conflict for another request, before anything else is checked', async () => {
    const of = await workflow(server, QUICK)
    const other = await workflow(server, QUICK)
    const body = submissionOf(of, { inputs: { in: 1 } })
    await submitted(server, body)
    for (const change of [
      { workflow_id: other.id },
      { workflow_id: 'wf_missing' },
      { workflow_etag: 'another' },
      { workspace_id: 'another' },
      { inputs: { in: 2 } },
      { inputs: { in: null } },
      { inputs: { in: '1' } },
      { options: { concurrent: true } },
      { options: { require_terminal_result: false } },
    ]) {
      const what = JSON.stringify(change)
      const problems = await refusedWith(server, { ...body, ...change }, 'IDEMPOTENCY_CONFLICT')
      assert.deepEqual(problems, [], what)
    }
  })

  test('is a conflict for values that look alike: bytes and their text, null and no number, null and absent', async () => {
    const of = await workflow(server, QUICK)
    await using client = await connect(server)
    const codeOf = async (inputs: Record<string, unknown>, body: SubmitJobRequest) =>
      ((await client.ask('submit_job', { ...body, inputs })).error as { code: string } | undefined)?.code
    for (const [one, other] of [
      [{ in: new Uint8Array([1, 2]) }, { in: 'AQI=' }],
      [{ in: null }, { in: Number.NaN }],
      [{ in: null }, {}],
    ] as const) {
      const body = submissionOf(of)
      assert.deepEqual([await codeOf(one, body), await codeOf(one, body)], [undefined, undefined])
      assert.equal(await codeOf(other, body), 'IDEMPOTENCY_CONFLICT', JSON.stringify(other))
    }
  })

  test('gives its job even if the workflow was changed or deleted', async () => {
    const of = await workflow(server, QUICK)
    const body = submissionOf(of)
    const { job_id } = await submitted(server, body)
    await call(server, 'DELETE', `/api/workflows/${of.id}`)
    assert.equal((await submitted(server, body)).job_id, job_id)
    await refusedWith(server, submissionOf(of), 'WORKFLOW_NOT_FOUND')
  })

  test('of a refused submission stays free, and that of a deleted job stays used: nothing runs again', async () => {
    const of = await workflow(server, STRICT)
    const body = submissionOf(of, { inputs: { n: 10 } })
    await refusedWith(server, body, 'PREFLIGHT_FAILED')
    const { job_id } = await submitted(server, { ...body, inputs: { n: 9 } })
    await ended(server, job_id)
    assert.equal((await call(server, 'DELETE', `/api/jobs/${job_id}`)).status, 204)
    await refusedWith(server, { ...body, inputs: { n: 9 } }, 'JOB_NOT_FOUND')
    await refusedWith(server, { ...body, inputs: { n: 8 } }, 'IDEMPOTENCY_CONFLICT')
  })
})

describe('a submission is refused', () => {
  test('in this order: key, workflow, etag, graph, preflight, queue', async () => {
    const of = await workflow(server, STRICT)
    const broken = await workflow(server, graph([node('a', 'no.SuchType'), sink('out')], ['a.output->out.value']))
    const wrong = { inputs: { n: 'text' } }
    await refusedWith(server, submissionOf(of, { workflow_id: 'wf_x', workflow_etag: 'x' }), 'WORKFLOW_NOT_FOUND')
    await refusedWith(server, submissionOf(of, { workspace_id: 'w', workflow_etag: 'x' }), 'WORKFLOW_NOT_FOUND')
    await refusedWith(server, submissionOf(of, { workflow_etag: 'x', ...wrong }), 'WORKFLOW_REVISION_CONFLICT')
    await refusedWith(server, submissionOf(broken, { workflow_etag: 'x' }), 'WORKFLOW_REVISION_CONFLICT')
    const graphs = await refusedWith(server, submissionOf(broken, wrong), 'INVALID_WORKFLOW_GRAPH')
    assert.ok(graphs.some(({ path }) => path === '/graph/nodes/a'))
    await refusedWith(server, submissionOf(of, wrong), 'PREFLIGHT_FAILED')
  })

  test('with everything that the preflight found, each with its place, over both transports', async () => {
    const of = await workflow(server, STRICT)
    const body = submissionOf(of, { inputs: { n: 10, 'a/b': 1 } })
    const problems = await refusedWith(server, body, 'PREFLIGHT_FAILED')
    assert.deepEqual(problems.map(({ path, code }) => [path, code]).sort(), [
      ['/body/inputs/a~1b', 'unknown_input'],
      ['/body/inputs/n', 'input_above_maximum'],
    ])
    await using client = await connect(server)
    const { error } = await client.ask('submit_job', body)
    const told = error as SdkErrorBody['error'] & { code: string; retryable: boolean; apiCode: string }
    assert.deepEqual([told.code, told.retryable, told.apiCode], ['PREFLIGHT_FAILED', false, 'PREFLIGHT_FAILED'])
    assert.deepEqual(told.problems?.map(({ path }) => path).sort(), ['/data/inputs/a~1b', '/data/inputs/n'])
  })

  test('for a requirement that is not met, which is named', async () => {
    const of = await workflow(server, QUICK)
    const body = submissionOf(of, { inputs: { in: { asset_id: 'asset_nowhere' } } })
    const problems = await refusedWith(server, body, 'PREFLIGHT_FAILED')
    assert.ok(
      problems.some(({ path, code }) => path.startsWith('/requirements/asset/') && code === 'requirement_missing'),
      JSON.stringify(problems),
    )
  })

  test('if the queue is full, after everything else', async () => {
    await using small = await startPreview({ config: { max_concurrent_jobs: 1, max_queued_jobs: 1 } })
    const of = await workflow(small, GATED)
    const bodies = [1, 2, 3].map((at) => submissionOf(of, { inputs: { in: at } }))
    const first = await submitted(small, bodies[0]!)
    const second = await submitted(small, bodies[1]!)
    assert.equal(second.status, 'queued')
    const { status, body } = await post<SdkErrorBody>(small, bodies[2])
    assert.deepEqual([status, body.code, body.retryable], [429, 'QUEUE_FULL', true])
    assert.equal((await submitted(small, bodies[0]!)).job_id, first.job_id)
    await refusedWith(small, { ...bodies[1], inputs: { in: 9 } }, 'IDEMPOTENCY_CONFLICT')
    await refusedWith(small, submissionOf(of, { workflow_etag: 'x' }), 'WORKFLOW_REVISION_CONFLICT')
  })

  test('while the server stops, unless it is known already', async () => {
    await using stopping = await startPreview()
    const of = await workflow(stopping, GATED)
    const known = submissionOf(of, { inputs: { in: 1 } })
    const { job_id } = await submitted(stopping, known)
    const closing = stopping.context.runs.jobs.drain(60_000)
    assert.equal((await submitted(stopping, known)).job_id, job_id)
    await refusedWith(stopping, submissionOf(of, { inputs: { in: 2 } }), 'SERVICE_UNAVAILABLE')
    const waiting = await until('the gate', () => stopping.gate.waiting[0])
    waiting.open()
    await closing
  })

  test('if the request does not match its schema, with every problem', async () => {
    const { body } = await post<SdkErrorBody>(server, { client_request_id: '', idempotency_key: 'k', extra: 1 })
    assert.equal(body.code, 'INVALID_REQUEST')
    const paths = (body.error.problems ?? []).map(({ path }) => path)
    for (const path of ['/body/client_request_id', '/body/extra', '/body/workflow_id'])
      assert.ok(paths.includes(path), `${path} in ${paths}`)
  })
})

describe('the answer and the log of a submission', () => {
  test('have no secrets', async () => {
    const secret = 'a-secret-of-the-user'
    await using own = await startPreview()
    await call(own, 'PUT', '/api/secrets/MY_SECRET', { body: { value: secret } })
    const of = await workflow(own, QUICK)
    const { job_id, preflight } = await submitted(own, submissionOf(of, { inputs: { in: secret } }))
    await ended(own, job_id)
    const { row } = await own.context.runs.jobs.get(OWNER, job_id)
    assert.ok(!`${JSON.stringify(preflight)}${row.preflight}${row.result}`.includes(secret))
  })
})

describe('getJobSnapshot and requestJobCancellation', () => {
  test('of a job that runs: cancel_requested or cancelled, and the same again; of an ended one: as it is', async () => {
    const of = await workflow(server, GATED)
    const { job_id } = await submitted(server, submissionOf(of, { inputs: { in: 1 } }))
    await until('it runs', () => server.gate.waiting.length > 0)
    const { status, body } = await cancel(job_id)
    assert.equal(status, 200)
    assert.ok(['cancel_requested', 'cancelled'].includes(body.status), body.status)
    assert.equal(body.cancel_requested, body.status === 'cancel_requested')
    assert.equal(body.snapshot.status, body.status)
    await ended(server, job_id)
    const first = await cancel(job_id)
    assert.deepEqual([first.body.status, first.body.cancel_requested], ['cancelled', false])
    assert.deepEqual((await cancel(job_id)).body, first.body)
    assert.deepEqual((await snapshot(job_id)).body, first.body.snapshot)
  })

  test('of a job that ignores it: cancel_requested, again and again, until it ends', async () => {
    const deaf = graph(
      [node('in', 'input.Any', { name: 'in' }), node('gate', 'test.Deaf'), sink('out')],
      ['in.output->gate.value', 'gate.output->out.value'],
    )
    const { job_id } = await submitted(server, submissionOf(await workflow(server, deaf), { inputs: { in: 1 } }))
    await until('it runs', () => server.deaf.waiting[0])
    for (const _ of [1, 2]) {
      const { body } = await cancel(job_id)
      assert.deepEqual(
        [body.status, body.cancel_requested, body.snapshot.status],
        ['cancel_requested', true, 'cancel_requested'],
      )
    }
    server.deaf.waiting[0]!.open()
    const { status } = await ended(server, job_id)
    assert.ok(['completed', 'cancelled'].includes(status))
  })

  test('of a queued job: cancelled at once', async () => {
    const of = await workflow(server, GATED)
    const first = await submitted(server, submissionOf(of, { inputs: { in: 1 } }))
    const second = await submitted(server, submissionOf(of, { inputs: { in: 2 } }))
    const { body: queued } = await snapshot(second.job_id)
    assert.deepEqual([queued.status, queued.queue_position], ['queued', 1])
    const { body } = await cancel(second.job_id)
    assert.deepEqual([body.status, body.cancel_requested], ['cancelled', false])
    await cancel(first.job_id)
    await ended(server, first.job_id)
  })

  test('of no job: the same not found', async () => {
    for (const id of ['job_none', 'a/b', 'ß %', '..x'])
      for (const answer of [await snapshot(id), await cancel(id)])
        assert.deepEqual(
          [answer.status, (answer.body as unknown as SdkErrorBody).code],
          [404, 'JOB_NOT_FOUND'],
          answer.text,
        )
  })

  test('show jobs of other transports, whose snapshots have no preflight', async () => {
    const of = await workflow(server, QUICK)
    const { body } = await call<{ job_id: string }>(server, 'POST', `/api/workflows/${of.id}/run`, { body: {} })
    const { body: shown } = await snapshot(body.job_id)
    valid('JobSnapshot', shown)
    assert.deepEqual([shown.status, shown.preflight], ['completed', null])
  })
})
