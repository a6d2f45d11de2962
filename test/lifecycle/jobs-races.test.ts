// Tests submissions under one key that meet each other, a restart, a lost disk or the end of the key's time. There is one job, and all
// clients get it.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { SubmitJobResponse } from '../../generated/types.ts'
import { IDEMPOTENCY_RETENTION_SECONDS } from '../../src/jobs/submission/earlier-submissions.ts'
import { submitJob } from '../../src/lifecycle/submissions.ts'
import { systemPlatform } from '../../src/platform.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { ended, OWNER, Saboteur } from '../jobs/kit.ts'
import {
  faults,
  GATED,
  post,
  QUICK,
  type SdkErrorBody,
  STRICT,
  startPreview,
  submissionOf,
  submitted,
  workflow,
} from './jobs-kit.ts'

const COUNT = 50
const many = <T>(make: (at: number) => Promise<T>) => Promise.all(Array.from({ length: COUNT }, (_, at) => make(at)))

describe('submissions under one key', () => {
  test('fifty at once, over both transports: one job, and one of them is not a duplicate', async () => {
    await using server = await startPreview()
    await using client = await connect(server)
    const body = submissionOf(await workflow(server, QUICK), { inputs: { in: 1 } })
    const answers = await many(async (at): Promise<SubmitJobResponse> => {
      const own = { ...body, client_request_id: `attempt ${at}` }
      if (at % 2 === 0) return submitted(server, own)
      return (await client.ask('submit_job', own)).result as SubmitJobResponse
    })
    assert.equal(new Set(answers.map(({ job_id }) => job_id)).size, 1)
    assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 1)
    assert.deepEqual(
      answers.map(({ client_request_id }) => client_request_id),
      answers.map((_, at) => `attempt ${at}`),
    )
    assert.equal(new Set(answers.map(({ preflight }) => JSON.stringify(preflight))).size, 1)
    await ended(server, answers[0]!.job_id)
    assert.deepEqual(await faults(server), [])
  })

  test('two at once with different requests: one is accepted, the other is a conflict', async () => {
    await using server = await startPreview()
    const body = submissionOf(await workflow(server, QUICK), { inputs: { in: 1 } })
    const answers = await Promise.all(
      [1, 2].map((value) => post<SdkErrorBody>(server, { ...body, inputs: { in: value } })),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
    assert.equal(answers.find(({ status }) => status === 409)!.body.code, 'IDEMPOTENCY_CONFLICT')
  })

  // Both submissions have passed the lookup, the etag and the preflight before either is admitted; or the later one fails after the earlier
  // one succeeded.
  test('that pass, or fail, their preflights at the same time: the loser reads the job of the winner', async () => {
    await using server = await startPreview({ config: { max_concurrent_jobs: 1, max_queued_jobs: 1 } })
    const { context } = server
    const body = submissionOf(await workflow(server, GATED), { inputs: { in: 1 } })
    const begun: (() => void)[] = []
    const preflight = {
      async check(...asked: Parameters<typeof context.runs.preflight.check>) {
        const { promise, resolve } = Promise.withResolvers<void>()
        begun.push(resolve)
        await promise
        const summary = await context.runs.preflight.check(...asked)
        return begun.length === 3 ? { ...summary, runnable: false } : summary
      },
    }
    const door = { at: '/body', signal: new AbortController().signal }
    const submit = () => submitJob({ ...context.runs, preflight }, OWNER, body, door)
    const both = [submit(), submit()]
    await until('both preflights', () => begun.length === 2)
    for (const go of begun) go()
    const [winner, loser] = await Promise.all(both)
    assert.equal(winner!.job_id, loser!.job_id)
    assert.deepEqual([winner!.duplicate, loser!.duplicate].sort(), [false, true])
    const other = { ...body, idempotency_key: 'of the third' }
    const third = submitJob({ ...context.runs, preflight }, OWNER, other, door)
    await until('its preflight', () => begun.length === 3)
    const { job_id } = await submitted(server, other)
    begun[2]!()
    assert.deepEqual(await third.then((answer) => [answer.job_id, answer.duplicate]), [job_id, true])
  })

  test('whose workflow changes during their preflight are refused', async () => {
    await using server = await startPreview()
    const { context } = server
    const of = await workflow(server, STRICT)
    const preflight = {
      async check(...asked: Parameters<typeof context.runs.preflight.check>) {
        const summary = await context.runs.preflight.check(...asked)
        await context.runs.workflows.update(OWNER, of.id, { name: 'Changed', graph: QUICK as never }, null)
        return summary
      },
    }
    const door = { at: '/body', signal: new AbortController().signal }
    const submission = submissionOf(of, { inputs: { n: 1 } })
    await assert.rejects(submitJob({ ...context.runs, preflight }, OWNER, submission, door), {
      code: 'WORKFLOW_REVISION_CONFLICT',
    })
  })

  test('whose clients no longer wait are not admitted', async () => {
    await using server = await startPreview()
    const gone = new AbortController()
    const { context } = server
    const preflight = {
      async check(...asked: Parameters<typeof context.runs.preflight.check>) {
        const summary = await context.runs.preflight.check(...asked)
        gone.abort()
        return summary
      },
    }
    const door = { at: '/body', signal: gone.signal }
    const body = submissionOf(await workflow(server, QUICK))
    await assert.rejects(submitJob({ ...context.runs, preflight }, OWNER, body, door), { code: 'SERVICE_UNAVAILABLE' })
    assert.equal((await submitted(server, body)).duplicate, false)
  })

  test('before and after a restart, with the preflight and the time of the first', async () => {
    const data_dir = temporaryFolder()
    try {
      const first = await startPreview({ data_dir })
      const body = submissionOf(await workflow(first, GATED), { inputs: { in: 1 } })
      const answer = await submitted(first, body)
      await first.close(0)
      await using second = await startPreview({ data_dir })
      const answers = await many(() => submitted(second, body))
      for (const again of answers) assert.deepEqual({ ...again, status: 'accepted' }, { ...answer, duplicate: true })
      const { status } = await post(second, { ...body, inputs: { in: 2 } })
      assert.equal(status, 409)
      const waiting = await until('the gate', () => second.gate.waiting[0])
      waiting.open()
      await ended(second, answer.job_id)
      assert.deepEqual(await faults(second), [])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('after the time for which the key is kept: a new job', async () => {
    let later = 0
    const system = systemPlatform()
    const now = () => Date.now() + later
    const platform = { ...system, now, timestamp: () => new Date(now()).toISOString() }
    await using server = await startPreview({ platform })
    const body = submissionOf(await workflow(server, QUICK))
    const { job_id } = await submitted(server, body)
    await ended(server, job_id)
    later = IDEMPOTENCY_RETENTION_SECONDS * 1_000 - 60_000
    assert.equal((await submitted(server, body)).job_id, job_id)
    later = IDEMPOTENCY_RETENTION_SECONDS * 1_000 + 60_000
    const answers = await many(() => submitted(server, body))
    assert.ok(answers.every((answer) => answer.job_id === answers[0]!.job_id && answer.job_id !== job_id))
    assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 1)
    await ended(server, answers[0]!.job_id)
  })

  test('that cannot be stored are not acknowledged, and leave nothing behind', async () => {
    await using server = await startPreview()
    const body = submissionOf(await workflow(server, QUICK))
    using saboteur = new Saboteur(server)
    saboteur.break()
    const answers = await Promise.all([1, 2, 3].map(() => post<SdkErrorBody>(server, body)))
    for (const { status, body: error } of answers) assert.deepEqual([status, error.code], [503, 'SERVICE_UNAVAILABLE'])
    saboteur.mend()
    const { duplicate, job_id } = await submitted(server, body)
    assert.equal(duplicate, false)
    await ended(server, job_id)
    assert.deepEqual(await faults(server), [])
  })
})
