// Stored events as items of a history, made one by one when they are asked for.
import type { JobEventTable } from '../db/schema.ts'
import type { FeedItem } from './feed.ts'
import { eventOf, type SnapshotOf } from './stored.ts'

/** Those who read the end of one job at the same time share it: its result may be large. */
export class StoredItems {
  readonly #snapshotOf: SnapshotOf
  readonly #ends = new Map<number, WeakRef<FeedItem>>()
  readonly #dropped = new FinalizationRegistry<number>((job_key) => {
    if (!this.#ends.get(job_key)?.deref()) this.#ends.delete(job_key)
  })

  constructor(snapshotOf: SnapshotOf) {
    this.#snapshotOf = snapshotOf
  }

  /** Null where it is the end of a job that was removed meanwhile. */
  of(row: JobEventTable): FeedItem | null {
    if (row.type !== 'job_terminal') return this.#made(row)
    const known = this.#ends.get(row.job_key)?.deref()
    if (known) return known
    const made = this.#made(row)
    if (!made) return null
    this.#ends.set(row.job_key, new WeakRef(made))
    this.#dropped.register(made, row.job_key)
    return made
  }

  #made(row: JobEventTable): FeedItem | null {
    const event = eventOf(row, this.#snapshotOf)
    return event && { sequence: row.sequence, event, frame: null, timestamp: row.created_at }
  }
}
