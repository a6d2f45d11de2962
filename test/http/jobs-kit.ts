// Shared by the tests of jobs over HTTP: inserted rows of jobs and events.
import { insertJobEvent, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import type { Tx } from '../../src/db/store.ts'
import type { JobEventTable, JobTable } from '../../src/db/tables/jobs.ts'
import type { TestServer } from '../helpers/server.ts'
import { putJob } from '../helpers/store.ts'

/** Inserts rows of jobs into the server's database. */
export async function put({ context }: TestServer, ...rows: JobTable[]): Promise<void> {
  await context.store.write((tx) => putJob(tx, ...rows))
}

/** The first stored event of a job, or null. */
export function eventRow(tx: Tx, job_key: number): JobEventTable | null {
  return listJobEventsAfter(tx, job_key, 0, 1)[0] ?? null
}

const AT = '2026-01-01T00:00:00.000Z'

/** Adds the end event of a failed job. */
export function putEnd(tx: Tx, job_key: number, sequence: number): void {
  const payload = JSON.stringify({ status: 'failed' })
  insertJobEvent(tx, { job_key, sequence, type: 'job_terminal', payload, created_at: AT })
}

/** Adds `count` events to a job: an acceptance, then outputs of `size` characters. The first `gone` of them are not stored. */
export function putEvents(tx: Tx, job_key: number, count: number, gone = 0, size = 0): void {
  for (let sequence = gone + 1; sequence <= count; sequence++) {
    const first = sequence === 1
    const accepted = { status: 'accepted', queue_position: null, message: null }
    const body = first ? accepted : { output_name: 'out', value: `text ${sequence}`.padEnd(size, '.') }
    const type = first ? 'job_status' : 'output_update'
    insertJobEvent(tx, { job_key, sequence, type, payload: JSON.stringify(body), created_at: AT })
  }
}
