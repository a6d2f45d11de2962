// What the tests of jobs over HTTP share: rows of jobs and events that are simply there.
import { insertJobEvent, jobEventsAfter } from '../../src/db/job-events.ts'
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
  return jobEventsAfter(tx, job_key, 0, 1)[0] ?? null
}

/** Gives a job `count` events, the first an acceptance, the others outputs. */
export function putEvents(tx: Tx, job_key: number, count: number, created_at = '2026-01-01T00:00:00.000Z'): void {
  for (let sequence = 1; sequence <= count; sequence++) {
    const [type, body] =
      sequence === 1
        ? ['job_status', { status: 'accepted', queue_position: null, message: null }]
        : ['output_update', { output_name: 'out', value: `text number ${sequence}` }]
    insertJobEvent(tx, { job_key, sequence, type: type as string, payload: JSON.stringify(body), created_at })
  }
}
