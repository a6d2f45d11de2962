// Large values of suspended jobs that cannot be read for a while: the jobs wait longer, and the fault is logged once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Health } from '../../generated/types.ts'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import { TransientFileError } from '../../src/jobs/recovery/transient-faults.ts'
import { UnreadableJobs } from '../../src/jobs/recovery/unreadable-jobs.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { closed } from '../helpers/closed-folder.ts'
import { inFolder } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { until } from '../helpers/server.ts'
import { coded, ended, gated, OWNER, outputs, startGated, submit } from './kit.ts'

const approval = graph(
  [source('in', 'x'), node('ask', 'human.Approval', { message: 'Send it?' }), sink('yes')],
  ['in.output->ask.value', 'ask.approved->yes.value'],
)

const TEXT = 'much'.repeat(300_000)
const ANSWER = { node_id: null, name: null, value: true, at: '/body' }

describe('a waiting job whose values cannot be read for a while', () => {
  test('is neither resumed nor cancelled meanwhile, and is logged once', async () => {
    const { log, lines } = keptLog()
    await using server = await startGated({ log })
    const { jobs } = server.context.runs
    const { row } = submit(server, { graph: approval, params: { in: TEXT } })
    await until('it to wait', async () => {
      const handle = await jobs.get(OWNER, row.id)
      return handle.row.status === 'paused' && handle.active === null
    })
    {
      using _ = closed(journalFolderPath(server.data_dir))
      for (let times = 0; times < 3; times++)
        await assert.rejects(jobs.resume(OWNER, row.id, ANSWER), coded('SERVICE_UNAVAILABLE'))
      await assert.rejects(jobs.cancel(OWNER, row.id), coded('SERVICE_UNAVAILABLE'))
    }
    assert.equal(lines.filter((line) => line.includes('a file of a job cannot be read now')).length, 1)
    assert.ok(!lines.some((line) => line.includes('could not be written')), 'nothing was to be written')
    await jobs.resume(OWNER, row.id, ANSWER)
    assert.deepEqual(outputs(await ended(server, row.id)), { yes: TEXT })
  })
})

const twice = graph(
  [source('in', 'x'), node('one', 'test.Gate'), node('two', 'test.Gate'), sink('out')],
  ['in.output->one.value', 'one.output->two.value', 'two.output->out.value'],
)

describe('a running job of an earlier process, of which a file cannot be read', () => {
  /** Runs a job until its first large value is stored, and returns its id. */
  async function interrupted(data_dir: string, of: 'parameters' | 'value'): Promise<string> {
    await using server = await startGated({ data_dir })
    const { gate } = server
    const job = submit(server, of === 'value' ? { graph: twice } : { graph: gated, params: { in: TEXT } })
    const first = await until('the gate', () => gate.waiting[0])
    if (of === 'value') {
      first.open(TEXT)
      await until('the second gate', () => gate.waiting.find((entry) => entry !== first))
    }
    await job.flushed()
    return job.row.id
  }

  const journalOf = async (server: { url: string }) => {
    const { status, body } = await call<Health>(server, 'GET', '/health')
    return [status, body.services.journal]
  }

  for (const what of ['parameters', 'value'] as const)
    test(
      `waits, is logged once, is retried seldom, and continues by itself: ${what}`,
      inFolder(async (data_dir) => {
        const id = await interrupted(data_dir, what)
        const { log, lines } = keptLog()
        const told = (words: string) => lines.filter((line) => line.includes(words)).length
        const files = closed(journalFolderPath(data_dir))
        try {
          await using server = await startGated({ data_dir, log })
          await until('it to be lost', () => told('a file of a job cannot be read now') === 1)
          assert.deepEqual(await journalOf(server), [200, 'unreadable'])
          const { tried } = files
          const began = performance.now()
          for (let times = 0; times < 20; times++) {
            const { status, body } = await call<{ status: string }>(server, 'GET', `/api/jobs/${id}`)
            assert.deepEqual([status, /^(running|recovering)$/.test(body.status)], [200, true], body.status)
          }
          const pauses = Math.ceil((performance.now() - began) / 1_000)
          assert.ok(files.tried - tried <= pauses, `${files.tried - tried} tries in ${pauses} s`)
          await until('it to be tried again', () => files.tried > tried)
          assert.deepEqual(
            [told('a file of a job'), told('cannot continue'), told('could not be written'), told('a node failed')],
            [1, 0, 0, 0],
          )
          files[Symbol.dispose]()
          const entry = await until('the gate', () => server.gate.waiting[0])
          assert.deepEqual(await journalOf(server), [200, undefined])
          entry.open('over')
          assert.deepEqual(outputs(await ended(server, id)), { out: 'over' })
          assert.equal(told('has continued'), 1)
        } finally {
          files[Symbol.dispose]()
        }
      }),
    )
})

describe('jobs whose files cannot be read', () => {
  const fault = (path: string) => new TransientFileError(Object.assign(new Error('EACCES'), { code: 'EACCES', path }))

  test('are retried after pauses that grow to a minute, and logged every ten minutes', () => {
    const { log, lines } = keptLog()
    let now = 0
    const jobs = new UnreadableJobs(log, () => now)
    jobs.failed({ key: 1, id: 'job_1' }, fault('/nothing/here'))
    for (; now < 3_600_000; now += 1_000) assert.equal(jobs.canTry(1), false, 'its file cannot be opened')
    assert.equal(lines.length, 1 + 5, 'an hour has five tens of minutes between its ends')
    assert.equal(jobs.hasWaiting, true)
    jobs.failed({ key: 1, id: 'job_1' }, fault(process.execPath))
    assert.equal(jobs.canTry(1), false, 'its pause is not over')
    now += 60_000
    assert.equal(jobs.canTry(1), true)
    jobs.markContinued(1)
    assert.equal(jobs.hasWaiting, false)
  })
})
