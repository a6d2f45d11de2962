// What the tests of jobs over HTTP share: rows of jobs and events that are simply there.
import { insertJobEvent, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import type { JobEventTable, JobTable } from '../../src/db/schema.ts'
import type { Tx } from '../../src/db/store.ts'
import type { TestServer } from '../helpers/server.ts'
import { putJob } from '../helpers/store.ts'

/** Puts rows of jobs into the server's database. */
export async function put({ context }: TestServer, ...rows: JobTable[]): Promise<void> {
  await context.store.write((tx) => putJob(tx, ...rows))
}

/** The first event that is stored of a job, or null. */
export function eventRow(tx: Tx, job_key: number): JobEventTable | null {
  return listJobEventsAfter(tx, job_key, 0, 1)[0] ?? null
}

const AT = '2026-01-01T00:00:00.000Z'

/** Gives a job that has failed the event of its end. */
export function putEnd(tx: Tx, job_key: number, sequence: number): void {
  const payload = JSON.stringify({ status: 'failed' })
  insertJobEvent(tx, { job_key, sequence, type: 'job_terminal', payload, created_at: AT })
}

/** Gives a job `count` events, the first an acceptance, the others outputs of `size` characters; of the first `gone` nothing is stored. */
export function putEvents(tx: Tx, job_key: number, count: number, gone = 0, size = 0): void {
  for (let sequence = gone + 1; sequence <= count; sequence++) {
    const first = sequence === 1
    const accepted = { status: 'accepted', queue_position: null, message: null }
    const body = first ? accepted : { output_name: 'out', value: `text ${sequence}`.padEnd(size, '.') }
    const type = first ? 'job_status' : 'output_update'
    insertJobEvent(tx, { job_key, sequence, type, payload: JSON.stringify(body), created_at: AT })
  }
}
