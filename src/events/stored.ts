// Events as they are stored. A terminal event holds no snapshot: the row never changes after it, so the snapshot is made of the row.
import type { JobSnapshot } from '../../generated/types.ts'
import type { JobEventTable } from '../db/schema.ts'
import { jsonText } from '../json.ts'
import { knownText, textAround } from '../json-steps.ts'
import type { EventBody } from './types.ts'

/** The JSON text that is stored of an event. @throws what the writer throws */
export function payloadOf(event: EventBody): string {
  if (event.type === 'job_terminal') return JSON.stringify({ status: event.status })
  const { type: _, ...rest } = event
  return event.type === 'output_update' && knownText(event.value) !== undefined ? textAround(rest, 1) : jsonText(rest)
}

/** Gives the snapshot of a job that has ended; null when it was removed. */
export type SnapshotOf = (job_key: number) => JobSnapshot | null

/** A stored event, or null where it is the end of a job that was removed meanwhile. */
export function eventOf(row: JobEventTable, snapshotOf: SnapshotOf): EventBody | null {
  const rest = JSON.parse(row.payload) as object
  // The type first, as writers have it: an event reads the same live and later.
  if (row.type !== 'job_terminal') return { type: row.type, ...rest } as EventBody
  const snapshot = snapshotOf(row.job_key)
  return snapshot && ({ type: row.type, ...rest, snapshot } as EventBody)
}
