// Events as they are stored. A terminal event holds no snapshot: the row never changes after it, so the snapshot is made of the row.
import type { JobSnapshot } from '../../generated/types.ts'
import type { JobEventTable } from '../db/schema.ts'
import { jsonText } from '../json.ts'
import type { EventBody } from './types.ts'

/** The JSON text that is stored of an event. @throws what the writer throws */
export function payloadOf(event: EventBody): string {
  if (event.type === 'job_terminal') return JSON.stringify({ status: event.status })
  const { type: _, ...rest } = event
  return jsonText(rest)
}

/** A stored event; `snapshotOf` gives the snapshot of a job that has ended. */
export function eventOf(row: JobEventTable, snapshotOf: (job_key: number) => JobSnapshot): EventBody {
  const rest = JSON.parse(row.payload) as object
  if (row.type !== 'job_terminal') return { ...rest, type: row.type } as EventBody
  return { ...rest, snapshot: snapshotOf(row.job_key), type: row.type } as EventBody
}
