// Encodes and decodes stored events. A terminal event is stored without its snapshot, which is built from the job's row: the row never changes after the
// end.
import type { JobEventTable } from '../db/tables/jobs.ts'
import { cachedJsonText, stringifyWithCachedMembers } from '../shared/incremental-json.ts'
import { appendJsonMember, stringifyWithBase64 } from '../shared/json.ts'
import { type EndSnapshot, isLargeText, LazyEvent, LazyOutputEvent, LazyTerminalEvent } from './lazy-event.ts'
import type { EventBody } from './types.ts'

/** JSON texts of event values that are long strings. */
const valueTexts = new WeakMap<EventBody, string>()

/** Caches the JSON text of an event's value that is one long string. */
export function setValueText(event: EventBody, text: string): void {
  valueTexts.set(event, text)
}

/** The stored JSON text of an event. @throws errors of the serialization */
export function encodeEventPayload(event: EventBody): string {
  if (event.type === 'job_terminal') return JSON.stringify({ status: event.status })
  const { type: _, ...rest } = event
  return encodeMembers(event, rest)
}

/** An event as JSON text. */
export function encodeEventText(event: EventBody): string {
  return event instanceof LazyEvent ? event.text : encodeMembers(event, event)
}

function encodeMembers(event: EventBody, members: object): string {
  const text = valueTexts.get(event)
  if (text !== undefined) return appendJsonMember({ ...members, value: undefined }, 'value', text)
  return event.type === 'output_update' && cachedJsonText(event.value) !== undefined
    ? stringifyWithCachedMembers(members, 1)
    : stringifyWithBase64(members)
}

/** Reads the snapshot of a job that has ended; null where the job was removed. */
export type EndSnapshotReader = (job_key: number) => Promise<EndSnapshot | null>

/** Decodes a stored event other than a terminal event. */
export function decodeStoredEvent(row: JobEventTable): EventBody {
  if (row.type === 'output_update' && isLargeText(row.payload)) return new LazyOutputEvent(row.payload) as EventBody
  // The type comes first, as in live events, so that both have the same text.
  return { type: row.type, ...(JSON.parse(row.payload) as object) } as EventBody
}

/** Decodes a terminal event; null where the job was removed meanwhile. */
export async function decodeStoredEnd(row: JobEventTable, snapshotOf: EndSnapshotReader): Promise<EventBody | null> {
  const { status } = JSON.parse(row.payload) as LazyTerminalEvent
  const snapshot = await snapshotOf(row.job_key)
  return snapshot && (new LazyTerminalEvent(status, snapshot) as EventBody)
}
