// Converts stored events to feed items, one by one on request.
import type { JobEventTable } from '../db/tables/jobs.ts'
import type { FeedItem } from './job-feed.ts'
import { decodeStoredEnd, decodeStoredEvent, type EndSnapshotReader } from './stored-event-codec.ts'
import type { EventBody } from './types.ts'

/** Concurrent readers of one job's end share the item, since its result may be large. */
export class StoredEventItems {
  readonly #snapshotOf: EndSnapshotReader
  readonly #ends = new Map<number, WeakRef<FeedItem>>()
  /** Reads of terminal events that are under way. */
  readonly #reading = new Map<number, Promise<FeedItem | null>>()
  readonly #dropped = new FinalizationRegistry<number>((job_key) => {
    if (!this.#ends.get(job_key)?.deref()) this.#ends.delete(job_key)
  })

  constructor(snapshotOf: EndSnapshotReader) {
    this.#snapshotOf = snapshotOf
  }

  /** The item of an event. A terminal event may have to be read, and is null where the job was removed meanwhile. */
  of(row: JobEventTable): FeedItem | Promise<FeedItem | null> {
    return row.type === 'job_terminal' ? this.#end(row) : toFeedItem(row, decodeStoredEvent(row))
  }

  #end(row: JobEventTable): FeedItem | Promise<FeedItem | null> {
    const { job_key } = row
    const known = this.#ends.get(job_key)?.deref() ?? this.#reading.get(job_key)
    if (known) return known
    const reading = this.#read(row).finally(() => this.#reading.delete(job_key))
    this.#reading.set(job_key, reading)
    return reading
  }

  async #read(row: JobEventTable): Promise<FeedItem | null> {
    const event = await decodeStoredEnd(row, this.#snapshotOf)
    if (!event) return null
    const item = toFeedItem(row, event)
    this.#ends.set(row.job_key, new WeakRef(item))
    this.#dropped.register(item, row.job_key)
    return item
  }
}

function toFeedItem(row: JobEventTable, event: EventBody): FeedItem {
  return { sequence: row.sequence, event, frame: null, timestamp: row.created_at }
}
