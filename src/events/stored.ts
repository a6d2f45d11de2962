// Events as they are stored. A terminal event holds no snapshot: the row never changes after it, so the snapshot is made of the row.
import type { JobEventTable } from '../db/schema.ts'
import { jsonText, jsonWith } from '../json.ts'
import { knownText, textAround } from '../json-steps.ts'
import { type EndSnapshot, isLargeText, JobEnd, LazyEvent, StoredOutput } from './lazy-event.ts'
import type { EventBody } from './types.ts'

/** JSON texts of the values of events, where these are long texts. */
const valueTexts = new WeakMap<EventBody, string>()

/** Remembers the JSON text of the value of an event, which is one long text. */
export function keepValueText(event: EventBody, text: string): void {
  valueTexts.set(event, text)
}

/** The JSON text that is stored of an event. @throws what the writer throws */
export function payloadOf(event: EventBody): string {
  if (event.type === 'job_terminal') return JSON.stringify({ status: event.status })
  const { type: _, ...rest } = event
  return written(event, rest)
}

/** An event as JSON text. */
export function eventText(event: EventBody): string {
  return event instanceof LazyEvent ? event.text : written(event, event)
}

function written(event: EventBody, members: object): string {
  const text = valueTexts.get(event)
  if (text !== undefined) return jsonWith({ ...members, value: undefined }, 'value', text)
  return event.type === 'output_update' && knownText(event.value) !== undefined
    ? textAround(members, 1)
    : jsonText(members)
}

/** Gives the snapshot of a job that has ended; null when it was removed. */
export type SnapshotOf = (job_key: number) => Promise<EndSnapshot | null>

/** A stored event but for the end of a job. */
export function eventOf(row: JobEventTable): EventBody {
  if (row.type === 'output_update' && isLargeText(row.payload)) return new StoredOutput(row.payload) as EventBody
  // The type first, as writers have it: an event reads the same live and later.
  return { type: row.type, ...(JSON.parse(row.payload) as object) } as EventBody
}

/** The stored end of a job, or null where that was removed meanwhile. */
export async function endOf(row: JobEventTable, snapshotOf: SnapshotOf): Promise<EventBody | null> {
  const { status } = JSON.parse(row.payload) as JobEnd
  const snapshot = await snapshotOf(row.job_key)
  return snapshot && (new JobEnd(status, snapshot) as EventBody)
}
