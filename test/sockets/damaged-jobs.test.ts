// Sockets that follow a job whose row is damaged get an error, since they can get no more events.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { withoutTriggers } from '../helpers/checksums.ts'
import { until } from '../helpers/server.ts'
import { connect, frameName } from '../helpers/socket.ts'
import { gated, Saboteur, submit } from '../jobs/kit.ts'
import { startPreview } from '../lifecycle/jobs-kit.ts'

const TOLD = 'The stored data is damaged and is not served.'

test('a follower and a subscription of a job whose row is damaged end with the error of the service', async () => {
  await using server = await startPreview()
  const job = submit(server, { graph: gated })
  const { id: job_id } = job.row
  const firing = await until('the firing', () => server.gate.waiting[0])
  await job.flushed()
  await using follower = await connect(server)
  follower.command('reconnect_job', { job_id })
  await follower.next({ type: 'job_update', job_id })
  await using subscriber = await connect(server)
  await subscriber.ask('subscribe_job', { job_id })
  await subscriber.next({ type: 'job_event', job_id })
  using saboteur = new Saboteur(server)
  saboteur.break()
  const db = new Database(join(server.data_dir, 'svc.db'))
  withoutTriggers(db, () => db.prepare("update job set name = 'changed' where id = ?").run(job_id))
  db.close()
  firing.open()
  const failed = await follower.next({ type: 'job_update', job_id, status: 'failed' })
  assert.equal(failed.error, TOLD)
  const refused = await subscriber.next({ error: 'unavailable', job_id })
  assert.deepEqual([frameName(refused), refused.code, refused.message], ['command_refused', 'DATA_DAMAGED', TOLD])
  // Once: the job is not read any more.
  const before = server.context.store.statements
  const end = performance.now() + 2_500
  await until('some time to pass', () => performance.now() > end)
  assert.ok(server.context.store.statements - before < 4, `${server.context.store.statements - before} statements`)
})
