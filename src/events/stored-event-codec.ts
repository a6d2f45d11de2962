// Events as they are stored. A terminal event holds no snapshot: the row never changes after it, so the snapshot is made of the row.
import type { JobEventTable } from '../db/schema.ts'
import { cachedJsonText, stringifyWithCachedMembers } from '../shared/incremental-json.ts'
import { appendJsonMember, stringifyWithBase64 } from '../shared/json.ts'
import { type EndSnapshot, isLargeText, LazyEvent, LazyOutputEvent, LazyTerminalEvent } from './lazy-event.ts'
import type { EventBody } from './types.ts'

/** JSON texts of the values of events, where these are long texts. */
const valueTexts = new WeakMap<EventBody, string>()

/** Remembers the JSON text of the value of an event, which is one long text. */
export function setValueText(event: EventBody, text: string): void {
  valueTexts.set(event, text)
}

/** The JSON text that is stored of an event. @throws what the writer throws */
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

/** Gives the snapshot of a job that has ended; null when it was removed. */
export type EndSnapshotReader = (job_key: number) => Promise<EndSnapshot | null>

/** A stored event but for the end of a job. */
export function decodeStoredEvent(row: JobEventTable): EventBody {
  if (row.type === 'output_update' && isLargeText(row.payload)) return new LazyOutputEvent(row.payload) as EventBody
  // The type first, as writers have it: an event reads the same live and later.
  return { type: row.type, ...(JSON.parse(row.payload) as object) } as EventBody
}

/** The stored end of a job, or null where that was removed meanwhile. */
export async function decodeStoredEnd(row: JobEventTable, snapshotOf: EndSnapshotReader): Promise<EventBody | null> {
  const { status } = JSON.parse(row.payload) as LazyTerminalEvent
  const snapshot = await snapshotOf(row.job_key)
  return snapshot && (new LazyTerminalEvent(status, snapshot) as EventBody)
}
