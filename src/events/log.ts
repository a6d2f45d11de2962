// The event log: the only writer of job events, and the only way to follow a job.
// Replay and live events take the same path, so no event is lost or doubled between them.
import { setImmediate } from 'node:timers/promises'
import { insertJobEvents, listJobEventsAfter } from '../db/jobs/events.ts'
import { trimJobEvents } from '../db/jobs/history-trimming.ts'
import { findUnfinishedJob } from '../db/jobs/rows.ts'
import { startTimeBudget } from '../db/row-batches.ts'
import type { Store, Tx } from '../db/store.ts'
import type { JobEventTable } from '../db/tables/jobs.ts'
import { ServiceError } from '../errors.ts'
import { ChurnMap } from '../shared/churn-map.ts'
import { type FeedItem, type FeedMark, JobFeed, type StagedItem } from './job-feed.ts'
import { LazyEvent } from './lazy-event.ts'
import { MAX_JOB_EVENTS } from './retention-limit.ts'
import type { EndSnapshotReader } from './stored-event-codec.ts'
import { StoredEventItems } from './stored-event-items.ts'

/** The most items that a follower reads at a time. */
const BATCH = 256
/** Milliseconds for which one commit trims old events, beyond as many as it adds. */
const TRIM_MS = 3

/**
 * Writes a job's row in the transaction that writes its events, and returns the mark up to which events are written. It may run more than once, with the
 * same effect. Null: it has written nothing, and no events are written.
 */
export type WriteJobRow = (tx: Tx) => FeedMark | null

export class EventLog {
  readonly #store: Store
  readonly #storedItems: StoredEventItems
  readonly #feeds = new ChurnMap<number, JobFeed>()
  readonly #max_events: number
  #closed = false

  /** `max_events`: only the last this many events of a job are kept. */
  constructor(store: Store, snapshotOf: EndSnapshotReader, max_events = MAX_JOB_EVENTS) {
    this.#store = store
    this.#max_events = max_events
    this.#storedItems = new StoredEventItems(snapshotOf)
  }

  /** Opens the feed of a job that becomes active. `expected`: a follower will come, and needs all items. */
  open(job_key: number, last_sequence: number, expected = false): JobFeed {
    const known = this.#feeds.get(job_key)
    if (known?.hasWriter) throw new Error(`job ${job_key} has a writer already`)
    const feed = known?.sequence === last_sequence ? known : new JobFeed(job_key, last_sequence, expected)
    feed.hasWriter = true
    this.#feeds.set(job_key, feed)
    return feed
  }

  /** Called when the job leaves the process: its feed is kept only while it has listeners. */
  release(feed: JobFeed): void {
    feed.hasWriter = false
    this.#dropIfIdle(feed)
  }

  /** Called when the process stops: followers get the committed events, and then end. */
  close(): void {
    this.#closed = true
    for (const feed of this.#feeds.values()) feed.wake()
  }

  #dropIfIdle(feed: JobFeed): void {
    if (!feed.hasWriter && feed.listeners === 0 && this.#feeds.get(feed.job_key) === feed)
      this.#feeds.delete(feed.job_key)
  }

  /** The number of followers of unfinished jobs. */
  get followers(): number {
    let count = 0
    for (const feed of this.#feeds.values()) count += feed.listeners
    return count
  }

  /** The feed of an unfinished job. A feed without a writer is opened for a job that this process does not hold. */
  #openForFollower(job_key: number): JobFeed | undefined {
    const known = this.#feeds.get(job_key)
    if (known) return known
    const job = this.#store.read((tx) => findUnfinishedJob(tx, job_key))
    if (!job) return undefined
    const feed = new JobFeed(job_key, job.last_sequence, false)
    this.#feeds.set(job_key, feed)
    return feed
  }

  /** Whether the feed was dropped after its job had left the process: the job continues in another feed. */
  #isDetached(feed: JobFeed): boolean {
    return !feed.hasWriter && !feed.hasEnded && !feed.isAbandoned && this.#feeds.get(feed.job_key) !== feed
  }

  /** The feed of a job, if it is open. */
  feed(job_key: number): JobFeed | undefined {
    return this.#feeds.get(job_key)
  }

  /**
   * Commits the staged items of `feed`, up to the mark from `writeRow`, together with the job's row. The transaction is shared with all other writes of this
   * turn of the event loop. `done` runs after the commit, when followers can see the events.
   * One commit of a feed is pending at a time: the next may be requested once `writeRow` has run. Where `writeRow` returns null, `done` does not run, and
   * the caller requests the commit again later.
   */
  commit(feed: JobFeed, writeRow: WriteJobRow, done: (error: unknown) => void): void {
    let end: number | null = null
    this.#store.writeThen(
      (tx) => {
        end = null
        const mark = writeRow(tx)
        if (!mark) return
        const rows = feed.staged(mark).flatMap((item) => (item.event === null ? [] : [toEventRow(feed.job_key, item)]))
        insertJobEvents(tx, rows)
        if (feed.canTrim) this.#trim(tx, feed.job_key, mark.sequence, rows)
        end = mark.end
      },
      (error) => {
        if (error === null && end === null) return
        if (error === null) {
          feed.commit(end!)
          if (feed.hasEnded) this.#feeds.delete(feed.job_key)
        }
        done(error)
      },
    )
  }

  /** Trims events beyond the limit, in the transaction that adds new events. */
  #trim(tx: Tx, job_key: number, sequence: number, rows: readonly JobEventTable[]): void {
    const below = sequence - this.#max_events + 1
    if (below <= 1 || rows.length === 0) return
    const bytes = rows.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0)
    trimJobEvents(tx, job_key, below, { events: rows.length, bytes }, startTimeBudget(TRIM_MS))
  }

  /** Drops the feed of a job whose history could not be written. Its followers get SERVICE_UNAVAILABLE. */
  abandon(feed: JobFeed): void {
    if (this.#feeds.get(feed.job_key) === feed) this.#feeds.delete(feed.job_key)
    feed.abandon()
  }

  /** Drops the staged items of a job that can only be ended. Its followers wait for its end in the same feed. */
  truncate(feed: JobFeed): void {
    feed.truncate()
    this.release(feed)
  }

  /**
   * The history of a job after the event `after`: stored items first, then live items. It ends after the terminal event, when `signal` aborts, or where the
   * job was removed. A slow follower loses provisional frames, but never an event.
   * The submitter of the job passes its feed as `own`, which may have ended already.
   * @throws SERVICE_UNAVAILABLE where the history could not be written any further
   */
  async *follow(
    job_key: number,
    after: number,
    signal: AbortSignal,
    own?: JobFeed,
  ): AsyncGenerator<FeedItem, void, void> {
    const feed = own && !this.#isDetached(own) ? own : this.#openForFollower(job_key)
    const bell = feed ? new FeedBell(feed, signal) : null
    try {
      let seen = after
      let position = feed?.positionAfter(after) ?? null
      while (!signal.aborted) {
        const kept = position === null ? null : (feed?.read(position, BATCH) ?? null)
        const items: readonly (FeedItem | JobEventTable)[] = kept ?? this.#readStored(job_key, seen)
        for (const one of items) {
          if (one.sequence !== null && one.sequence <= seen) continue
          // The item is made only now, since a result may be large, and a slow reader may come to it late.
          const made = 'job_key' in one ? this.#storedItems.of(one) : one
          const item = made instanceof Promise ? await made : made
          if (!item) return
          if (item.event instanceof LazyEvent && item.event.isLarge) {
            // Reading a large event has taken long.
            await setImmediate()
            if (signal.aborted) return
          }
          yield item
          if (item.sequence !== null) seen = item.sequence
          if (item.event?.type === 'job_terminal' || signal.aborted) return
        }
        if (kept) position! += kept.length
        else position = feed?.positionAfter(seen) ?? null
        if (items.length > 0) continue
        if (feed?.isAbandoned) throw new ServiceError('SERVICE_UNAVAILABLE')
        if (!bell || feed?.hasEnded || this.#closed) return
        await bell.waitForRing()
      }
    } finally {
      bell?.close()
      if (feed) this.#dropIfIdle(feed)
    }
  }

  #readStored(job_key: number, after: number): JobEventTable[] {
    return this.#store.read((tx) => listJobEventsAfter(tx, job_key, after, BATCH))
  }
}

function toEventRow(job_key: number, { event, sequence, payload, timestamp }: StagedItem) {
  return { job_key, sequence: sequence!, type: event!.type, payload: payload!, created_at: timestamp }
}

/** Waits until the feed has new items. A ring between two waits is kept, so that none is missed. */
class FeedBell {
  #rang = false
  #wake: (() => void) | null = null
  readonly #stop: () => void

  constructor(feed: JobFeed, signal: AbortSignal) {
    const unlisten = feed.listen(() => this.#ring())
    const onAbort = () => this.#ring()
    signal.addEventListener('abort', onAbort)
    this.#stop = () => {
      unlisten()
      signal.removeEventListener('abort', onAbort)
    }
  }

  #ring(): void {
    this.#rang = true
    this.#wake?.()
  }

  waitForRing(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null
        this.#rang = false
        resolve()
      }
      if (this.#rang) this.#wake()
    })
  }

  close(): void {
    this.#stop()
  }
}
