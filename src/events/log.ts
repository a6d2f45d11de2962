// The event log: the one writer of job events, and the one way to follow a job.
// Replay and live are the same path, so nothing is lost or doubled between them.
import { setImmediate } from 'node:timers/promises'
import { insertJobEvents, listJobEventsAfter } from '../db/jobs/events.ts'
import { trimJobEvents } from '../db/jobs/history-trimming.ts'
import { findUnfinishedJob } from '../db/jobs/rows.ts'
import { startTimeBudget } from '../db/row-batches.ts'
import type { JobEventTable } from '../db/schema.ts'
import type { Store, Tx } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import { ChurnMap } from '../shared/churn-map.ts'
import { type FeedItem, type FeedMark, JobFeed, type StagedItem } from './job-feed.ts'
import { LazyEvent } from './lazy-event.ts'
import { MAX_JOB_EVENTS } from './retention-limit.ts'
import type { EndSnapshotReader } from './stored-event-codec.ts'
import { StoredEventItems } from './stored-event-items.ts'

/** How many items a follower is handed at a time at the most. */
const BATCH = 256
/** How long what is too old of a history is removed at once, in milliseconds, beyond as much as is added. */
const TRIM_MS = 3

/**
 * Writes a job's row in the transaction that writes its events, and gives up to where these are to be written. It may run more than once, and must
 * do the same then. Null: it has written nothing, nor is anything else to be.
 */
export type WriteJobRow = (tx: Tx) => FeedMark | null

export class EventLog {
  readonly #store: Store
  readonly #storedItems: StoredEventItems
  readonly #feeds = new ChurnMap<number, JobFeed>()
  readonly #max_events: number
  #closed = false

  /** `max_events`: how many events are kept of one job, the last ones. */
  constructor(store: Store, snapshotOf: EndSnapshotReader, max_events = MAX_JOB_EVENTS) {
    this.#store = store
    this.#max_events = max_events
    this.#storedItems = new StoredEventItems(snapshotOf)
  }

  /** Opens the feed of a job that begins or goes on to live. `expected`: a follower will come and wants all of it. */
  open(job_key: number, last_sequence: number, expected = false): JobFeed {
    const known = this.#feeds.get(job_key)
    if (known?.hasWriter) throw new Error(`job ${job_key} has a writer already`)
    const feed = known?.sequence === last_sequence ? known : new JobFeed(job_key, last_sequence, expected)
    feed.hasWriter = true
    this.#feeds.set(job_key, feed)
    return feed
  }

  /** The job goes on later, if ever: its feed is kept only for those who listen. */
  release(feed: JobFeed): void {
    feed.hasWriter = false
    this.#dropIfIdle(feed)
  }

  /** The process stops: whoever follows is told what is committed, and no more. */
  close(): void {
    this.#closed = true
    for (const feed of this.#feeds.values()) feed.wake()
  }

  #dropIfIdle(feed: JobFeed): void {
    if (!feed.hasWriter && feed.listeners === 0 && this.#feeds.get(feed.job_key) === feed)
      this.#feeds.delete(feed.job_key)
  }

  /** How many follow a job that has not ended. */
  get followers(): number {
    let count = 0
    for (const feed of this.#feeds.values()) count += feed.listeners
    return count
  }

  /** The feed of a job that has not ended; one that nobody runs at present gets one to listen to. */
  #openForFollower(job_key: number): JobFeed | undefined {
    const known = this.#feeds.get(job_key)
    if (known) return known
    const job = this.#store.read((tx) => findUnfinishedJob(tx, job_key))
    if (!job) return undefined
    const feed = new JobFeed(job_key, job.last_sequence, false)
    this.#feeds.set(job_key, feed)
    return feed
  }

  /** Whether the job has come to rest without anybody listening: it will go on in another feed. */
  #isDetached(feed: JobFeed): boolean {
    return !feed.hasWriter && !feed.hasEnded && !feed.isAbandoned && this.#feeds.get(feed.job_key) !== feed
  }

  /** The feed of a living job. */
  feed(job_key: number): JobFeed | undefined {
    return this.#feeds.get(job_key)
  }

  /**
   * Commits what is staged in `feed`, up to the mark that `writeRow` gives, together with the job's row, in one transaction, shared with whatever
   * else is written in this turn of the event loop. `done` runs after the commit, when followers can see the events.
   * One commit of a feed waits at a time: the next is asked for when `writeRow` has run. Where that is to be done later, `done` does not run, and the
   * commit is asked for again.
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

  /** What is older than the events that are kept goes in the transaction that adds to them. */
  #trim(tx: Tx, job_key: number, sequence: number, rows: readonly JobEventTable[]): void {
    const below = sequence - this.#max_events + 1
    if (below <= 1 || rows.length === 0) return
    const bytes = rows.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0)
    trimJobEvents(tx, job_key, below, { events: rows.length, bytes }, startTimeBudget(TRIM_MS))
  }

  /** Forgets the feed of a job whose history could not be written. Its followers get SERVICE_UNAVAILABLE. */
  abandon(feed: JobFeed): void {
    if (this.#feeds.get(feed.job_key) === feed) this.#feeds.delete(feed.job_key)
    feed.abandon()
  }

  /** Drops what is staged of a job whose history cannot be written as it is. Its followers wait for its end, in the same feed. */
  truncate(feed: JobFeed): void {
    feed.truncate()
    this.release(feed)
  }

  /**
   * The history of a job from the event after `after` on: what is stored first, then what happens. It ends after the
   * terminal event, when `signal` aborts, or where the job was removed. A follower that falls behind loses provisional frames, never an event.
   * Whoever started the job hands in its feed, which may have ended already.
   * @throws SERVICE_UNAVAILABLE when the history could not be written any further
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
          // Made only now: a result may be large, and a slow reader not come so far for long.
          const made = 'job_key' in one ? this.#storedItems.of(one) : one
          const item = made instanceof Promise ? await made : made
          if (!item) return
          if (item.event instanceof LazyEvent && item.event.isLarge) {
            // To read it has taken its time.
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

/** Sleeps until the feed rings; a ring between two sleeps is kept, so none is missed. */
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
