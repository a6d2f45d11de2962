// The moment between the request for a cancellation and the job's end is too short for a random kill. A
// trigger, added from outside of the server, slows the commit of that end. Most jobs have no such moment,
// because both happen in one commit. A job that is about to begin unsafe calls has one.
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { overHttp, overSocket, type Strike } from '../acknowledgements/moment.ts'
import { changeKilled } from '../helpers/killed-database.ts'
import { cancel } from './attend.ts'
import { databaseOf } from './census.ts'
import type { TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'

/** The number of calls of a burst before it is cancelled. */
const UNDER_WAY = 20
/** The longest wait for the burst, and then for the request, in milliseconds. */
const PATIENCE_MS = 2_500
const MOMENT_MS = 1_500
/** The polling interval is short against the slowed second, but leaves the server its processor. */
const LOOK_EVERY_MS = 3

const TRIGGER = 'crash_slow_end'

/** About a second of counting. */
const SLOW = `create trigger if not exists ${TRIGGER} before update on job
  when old.status = 'cancel_requested' and new.status = 'cancelled'
  begin select count(*) from (select 1 from job_event a, job_event b, job_event c limit 20000000); end`

export function slowDown(db: Database.Database): void {
  db.exec(SLOW)
}

/** Removes the trigger, after the server has ended. */
export function relent(data_dir: string): void {
  changeKilled(data_dir, (db) => db.exec(`drop trigger if exists ${TRIGGER}`))
}

/** Cancels a job over the socket or HTTP, and kills the server at its acknowledgement. Returns the time of the kill. */
export async function cancelAndKill(life: Life, job: TrackedJob, socket: boolean): Promise<number | null> {
  job.cancel_wanted = true
  let killed: Promise<number> | null = null
  const kill: Strike = () => {
    killed = life.kill()
  }
  if (socket) {
    const frame = await overSocket(life.server, { command: 'cancel_job', data: { job_id: job.job_id } }, kill)
    if (frame.error !== undefined) life.ledger.complain(`the cancel of ${job.job_id}: ${JSON.stringify(frame)}`)
  } else {
    const path = `/api/jobs/${job.job_id}/cancel`
    const { status } = await overHttp(life.server, { method: 'POST', path }, kill)
    if (status !== 200) life.ledger.complain(`the cancel of ${job.job_id} was answered with ${status}`)
  }
  job.cancelled = true
  life.ledger.cut_cancellations++
  return killed
}

/** Cancels a job. Returns true in that moment, so that the caller can kill the server, and false where there was none. */
export async function strike(life: Life, job: TrackedJob, data_dir: string): Promise<boolean> {
  const calls = () => life.ledger.counter.of(job.work.label).length
  const patience = performance.now() + PATIENCE_MS
  const begun = () => job.acknowledged && calls() >= UNDER_WAY
  await life.until(() => begun() || performance.now() > patience)
  if (!begun()) return false
  const db = new Database(databaseOf(data_dir))
  // Only the server copies its log into the file.
  db.pragma('wal_autocheckpoint = 0')
  try {
    slowDown(db)
    const requested = db.prepare("select count(*) from job where status = 'cancel_requested'").pluck()
    life.spawn(`the cancel of ${job.job_id}`, () => cancel(life, job))
    const deadline = performance.now() + MOMENT_MS
    while (performance.now() < deadline && !job.cancelled) {
      if (requested.get() !== 0) return true
      await sleep(LOOK_EVERY_MS)
    }
    return requested.get() !== 0
  } finally {
    db.close()
  }
}
