// Histories that cannot be written: no unstored change is acknowledged, no request waits for ever, and the service continues.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Health, JobError, RunResult } from '../../generated/types.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { mapType, node, graph as of, sink, source } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { coded, gated, history, OWNER, plain, Saboteur, startGated, submit, words } from './kit.ts'

describe('a history that cannot be written', () => {
  test('gives the submitter SERVICE_UNAVAILABLE, and leaves no job', async () => {
    await using server = await startGated()
    using saboteur = new Saboteur(server)
    saboteur.break()
    const job = submit(server, { graph: plain, job_id: 'mine' })
    await assert.rejects(job.accepted(), coded('SERVICE_UNAVAILABLE'))
    await assert.rejects(job.settled(), coded('SERVICE_UNAVAILABLE'))
    await assert.rejects(server.context.runs.jobs.get(OWNER, 'mine'), coded('JOB_NOT_FOUND'))
    assert.deepEqual(runToCompletion(server.context.runs.jobs.listActive(OWNER)), [])
    saboteur.mend()
    const again = submit(server, { graph: plain, job_id: 'mine' })
    await again.settled()
    assert.equal(again.row.status, 'completed')
  })

  test('answers a run over HTTP with 503, without the cause', async () => {
    await using server = await startGated()
    using saboteur = new Saboteur(server)
    saboteur.break()
    const run = (body: object) =>
      call(server, 'POST', '/api/workflows/greeting/run', { body: { params: { name: 'Ada' }, ...body } })
    for (const body of [{}, { background: true }]) {
      const { status, text } = await run(body)
      assert.equal(status, 503)
      assert.match(text, /service_unavailable/)
      assert.ok(!text.includes('disk'))
    }
    saboteur.mend()
    assert.equal((await run({})).status, 200)
  })

  test('does not affect other jobs of the same turn', async () => {
    await using server = await startGated()
    const good = submit(server, { graph: plain })
    // The row breaks the foreign key of its graph, so only this part of the transaction fails.
    const bad = submit(server, { graph: plain })
    bad.row.graph_sha256 = 'no such graph'
    await assert.rejects(bad.accepted(), coded('SERVICE_UNAVAILABLE'))
    await good.settled()
    assert.equal((await server.context.runs.jobs.get(OWNER, good.row.id)).row.status, 'completed')
  })

  test('stops a running job, ends its waiters and followers, and lets it continue when it can be written again', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    using saboteur = new Saboteur(server)
    const { jobs, events } = server.context.runs
    const job = submit(server, { graph: gated })
    const entry = await until('the firing', () => server.gate.waiting[0])
    await job.flushed()
    const watched = (async () => {
      const seen: (number | null)[] = []
      try {
        for await (const item of events.follow(job.row.key, 0, AbortSignal.timeout(60_000))) {
          if (item.event) seen.push(item.sequence)
        }
      } catch (error) {
        coded('SERVICE_UNAVAILABLE')(error)
        return seen
      }
      return 'it ended'
    })()
    const settled = job.settled()
    saboteur.break()
    entry.open()
    // The job is stored, and continues, so the error for a waiter names it.
    await assert.rejects(settled, coded('OUTCOME_UNKNOWN'))
    assert.deepEqual(await watched, [1, 2, 3, 4, 5])
    // A read needs no free slot.
    assert.equal((await jobs.get(OWNER, job.row.id)).row.status, 'running')
    saboteur.mend()
    const { row } = await jobs.get(OWNER, job.row.id)
    const again = await until('the firing, once more', () => server.gate.waiting[0])
    again.open()
    await until('its end', () => jobs.living(OWNER, row.id) === null)
    assert.deepEqual((await history(server, row)).map(words).slice(5), [
      'status recovering',
      'status running',
      'node gate completed',
      'node out running',
      'output out "x"',
      'node out completed',
      'end completed',
    ])
    await submit(server, { graph: plain }).settled()
  })

  test('lets an interrupted job that is queued again publish `running` once, when it runs', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    using saboteur = new Saboteur(server)
    const job = submit(server, { graph: gated })
    const first = await until('the firing', () => server.gate.waiting[0])
    await job.flushed()
    saboteur.break()
    first.open()
    await until('the loss', () => server.context.runs.jobs.living(OWNER, job.row.id) === null)
    saboteur.mend()
    // One job runs, and another job is queued before the interrupted job.
    for (const another of [gated, gated]) submit(server, { graph: another })
    const second = await until('the firing of another job', () => server.gate.waiting[0])
    const told: unknown[] = []
    const follower = (async () => {
      const signal = AbortSignal.timeout(60_000)
      for await (const { frame } of server.context.runs.events.follow(job.row.key, job.feed.committed, signal))
        if (frame?.type === 'job_update') told.push([frame.status, 'queue_position' in frame])
    })()
    await until('that it is back', () => server.context.runs.jobs.living(OWNER, job.row.id))
    second.open()
    const third = await until('the firing of the next one', () => server.gate.waiting[0])
    third.open()
    const last = await until('the firing, once more', () => server.gate.waiting[0])
    last.open()
    await follower
    assert.deepEqual(told, [
      ['running', false],
      ['completed', false],
    ])
  })

  test('keeps a queued job from starting', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    using saboteur = new Saboteur(server)
    const first = submit(server, { graph: gated })
    const entry = await until('the firing', () => server.gate.waiting[0])
    await first.flushed()
    saboteur.break()
    const second = submit(server, { graph: gated })
    await assert.rejects(second.accepted(), coded('SERVICE_UNAVAILABLE'))
    saboteur.mend()
    const third = submit(server, { graph: plain })
    entry.open()
    await third.settled()
    assert.equal(server.gate.started, 1)
    assert.equal(first.row.status, 'completed')
  })

  test('a closed store answers in the same way', async () => {
    await using server = await startGated()
    await server.context.store[Symbol.asyncDispose]()
    const job = submit(server, { graph: plain, workflow_id: 'label' })
    await assert.rejects(job.accepted(), coded('SERVICE_UNAVAILABLE'))
    const health = await call<Health>(server, 'GET', '/health')
    assert.deepEqual([health.status, health.body.services.database], [503, 'unhealthy'])
  })

  for (const [what, good, node_id] of [
    ['an output that no text can hold fails its job at its node', 0, 'out'],
    ['a result that no text can hold fails its job', 1, null],
  ] as const) {
    test(what, async () => {
      let texts = 0
      const fragile = {
        toJSON() {
          if (texts++ === good) throw new RangeError('Invalid string length')
          return 'written'
        },
      }
      await using server = await startGated({ types: [mapType('test.Huge', () => fragile)] })
      const graph = of(
        [source('in', 'x'), node('huge', 'test.Huge'), sink('out')],
        ['in.output->huge.value', 'huge.output->out.value'],
      )
      const job = submit(server, { graph })
      await job.settled()
      assert.equal(job.row.status, 'failed')
      const error = JSON.parse(job.row.error!) as JobError
      assert.deepEqual([error.type, error.node_id], ['result_too_large', node_id])
      assert.equal((await history(server, job.row)).map(words).at(-1), 'end failed')
    })
  }

  for (const [what, lengths, node_id, message] of [
    [
      'an output fails its job at its node',
      [2_800_000],
      'out0',
      /^A value of the output "out0" cannot be stored\. The JSON of an output has 16,800,002 bytes, more than 16,777,216\. Hand /,
    ],
    [
      'outputs together fail their job',
      [2_700_000, 2_700_000],
      null,
      /^The JSON of all outputs has 32,4\d\d,\d{3} bytes, more than 32,000,000\. Hand /,
    ],
  ] as const) {
    test(`${what}, where the JSON of its characters has more bytes than one row may have`, async () => {
      await using server = await startGated({
        types: lengths.map((length, at) => mapType(`test.Huge${at}`, () => '\u001f'.repeat(length))),
      })
      const graph = of(
        [source('in', 'x'), ...lengths.flatMap((_, at) => [node(`huge${at}`, `test.Huge${at}`), sink(`out${at}`)])],
        lengths.flatMap((_, at) => [`in.output->huge${at}.value`, `huge${at}.output->out${at}.value`]),
      )
      const job = submit(server, { graph })
      await job.settled()
      const error = JSON.parse(job.row.error!) as JobError
      assert.deepEqual([job.row.status, error.type, error.node_id], ['failed', 'result_too_large', node_id])
      assert.match(error.message, message)
      await submit(server, { graph: plain }).settled()
    })
  }

  test('an output nested deeper than the writer goes fails its own job alone, over HTTP as well', async () => {
    const deep = () => {
      let value: unknown = 1
      for (let level = 0; level < 100_000; level++) value = [value]
      return value
    }
    await using server = await startGated({ types: [mapType('test.Deep', deep)] })
    const graph = of(
      [source('in', 'x'), node('deep', 'test.Deep'), sink('out')],
      ['in.output->deep.value', 'deep.output->out.value'],
    )
    const { record } = await server.context.runs.workflows.create(OWNER, { name: 'Deep', graph: graph as never })
    const { status, body } = await call<RunResult>(server, 'POST', `/api/workflows/${record.id}/run`, { body: {} })
    assert.deepEqual([status, body.status, body.error?.node_id !== undefined], [200, 'failed', true])
    await submit(server, { graph: plain }).settled()
  })
})
