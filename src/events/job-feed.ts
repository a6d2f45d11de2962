// The history of one living job, as a queue in memory: durable events, which are seen once they are committed, and provisional
// frames between them, which are never stored. It owns order and visibility; the event log owns storage and followers of jobs that have ended.
import { encodeEventPayload } from './stored-event-codec.ts'
import type { EventBody, EventFrame, JobFrame } from './types.ts'

/** One entry of a job's history. `event` and `sequence` are null for a provisional frame, `frame` where no socket shows the event. */
export interface FeedItem {
  readonly sequence: number | null
  readonly event: EventBody | null
  readonly frame: JobFrame | null
  readonly timestamp: string
}

/** An item with its event's JSON text, which is kept until it is committed. */
export interface StagedItem extends FeedItem {
  payload: string | null
}

/** A place in a feed, behind what was staged until then. */
export interface FeedMark {
  readonly end: number
  /** Of the last event before it. */
  readonly sequence: number
}

/** How many committed items stay in memory for followers; older ones are read from the database. */
export const TAIL_ITEMS = 1024

export class JobFeed {
  readonly job_key: number
  /** Whether a job writes to it; else it is only listened to, until the job goes on. */
  hasWriter = false
  /** Whether events that are too old are removed: they are counted then, which none that is damaged can be. */
  canTrim = true
  #items: StagedItem[] = []
  /** The position of `#items[0]`, counted from the job's start in this process. */
  #base = 0
  /** Items below this position may be seen. */
  #visible = 0
  /** The sequence of the first event of this feed; earlier ones are in the database only. */
  readonly #first: number
  #sequence: number
  #committed: number
  #staged_length = 0
  #hasEnded = false
  #isAbandoned = false
  #expectsFollower: boolean
  readonly #listeners = new Set<() => void>()

  /** `expected`: a follower will come, so that provisional frames are kept for it from the start. */
  constructor(job_key: number, last_sequence: number, expected: boolean) {
    this.#expectsFollower = expected
    this.job_key = job_key
    this.#first = last_sequence + 1
    this.#sequence = last_sequence
    this.#committed = last_sequence
  }

  /** The last sequence given out; it may not be committed yet. */
  get sequence(): number {
    return this.#sequence
  }

  /** The last sequence that a follower may see. */
  get committed(): number {
    return this.#committed
  }

  /** How many characters the texts of events have that wait for a commit. */
  get staged_length(): number {
    return this.#staged_length
  }

  /** Whether the terminal event has been committed: nothing follows. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the history could not be written: what is staged is never seen, and nothing follows. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** How many listen. */
  get listeners(): number {
    return this.#listeners.size
  }

  /** Whether anybody sees provisional frames. */
  get hasFollowers(): boolean {
    return this.#expectsFollower || this.#listeners.size > 0
  }

  /**
   * Stages a durable event; it is seen after `commit`, and its frame has its sequence. One that cannot be written as text is refused here,
   * where it can still be told from the rest of the history.
   * @throws what the writer throws; nothing is staged then
   */
  append(event: EventBody, frame: EventFrame | null, timestamp: string): void {
    const payload = encodeEventPayload(event)
    this.#sequence++
    if (frame) frame.sequence = this.#sequence
    this.#staged_length += payload.length
    this.#items.push({ sequence: this.#sequence, event, frame, timestamp, payload })
  }

  /** Adds a frame that is never stored. It is dropped where nobody follows. */
  provisional(frame: JobFrame, timestamp: string): void {
    if (!this.hasFollowers) return
    const nothingStaged = this.#visible === this.#end
    this.#items.push({ sequence: null, event: null, frame, timestamp, payload: null })
    if (nothingStaged) this.#show(this.#end)
  }

  /** How far it goes at this moment. */
  get mark(): FeedMark {
    return { end: this.#end, sequence: this.#sequence }
  }

  /** What waits for a commit, up to a mark. */
  staged({ end }: Pick<FeedMark, 'end'>): readonly StagedItem[] {
    return this.#items.slice(this.#visible - this.#base, end - this.#base)
  }

  /** Makes everything below `end` visible: its events have been committed. So are frames behind it that wait for no event. */
  commit(end: number): void {
    while (end < this.#end && this.#items[end - this.#base]!.sequence === null) end++
    for (const item of this.staged({ end })) {
      this.#staged_length -= item.payload?.length ?? 0
      item.payload = null
    }
    for (let at = end; at > this.#visible; at--) {
      const item = this.#items[at - 1 - this.#base]!
      if (item.sequence === null) continue
      this.#committed = item.sequence
      if (item.event?.type === 'job_terminal') this.#hasEnded = true
      break
    }
    this.#show(end)
  }

  /** Drops what is staged and wakes all followers, who find nothing more. */
  abandon(): void {
    this.#isAbandoned = true
    this.truncate()
    this.wake()
  }

  /** Drops what is staged, all or what was staged after a mark: the history goes on in another way. */
  truncate({ end, sequence }: FeedMark = { end: this.#visible, sequence: this.#committed }): void {
    for (const { payload } of this.#items.slice(end - this.#base)) this.#staged_length -= payload?.length ?? 0
    this.#items.length = end - this.#base
    this.#sequence = sequence
  }

  /** Lets all followers look again. */
  wake(): void {
    for (const ring of this.#listeners) ring()
  }

  #show(end: number): void {
    this.#visible = end
    const surplus = this.#visible - this.#base - TAIL_ITEMS
    // Trimmed in large steps: cutting an array's head moves all the rest.
    if (surplus > TAIL_ITEMS) {
      this.#items = this.#items.slice(surplus)
      this.#base += surplus
    }
    this.wake()
  }

  get #end(): number {
    return this.#base + this.#items.length
  }

  /** Registers a bell that rings whenever there is more to see. Returns its removal. */
  listen(ring: () => void): () => void {
    this.#expectsFollower = false
    this.#listeners.add(ring)
    return () => this.#listeners.delete(ring)
  }

  /**
   * Where a follower that has seen everything up to `after` goes on, or null when that is no longer in memory.
   * One that has seen all that is committed starts at the present: older provisional frames are superseded.
   */
  positionAfter(after: number): number | null {
    if (after >= this.#committed && this.#committed > 0) return this.#visible
    for (let at = this.#base; at < this.#visible; at++) {
      const sequence = this.#items[at - this.#base]!.sequence
      if (sequence === null) continue
      return sequence <= after + 1 ? this.#seek(at, after) : null
    }
    return this.#base === 0 && after + 1 >= this.#first ? 0 : null
  }

  #seek(from: number, after: number): number {
    for (let at = from; at < this.#visible; at++) {
      const sequence = this.#items[at - this.#base]!.sequence
      if (sequence !== null && sequence > after) return at
    }
    return this.#visible
  }

  /** Up to `limit` visible items from `position` on, or null when they have left the memory. */
  read(position: number, limit: number): readonly FeedItem[] | null {
    if (position < this.#base) return null
    const start = position - this.#base
    return this.#items.slice(start, Math.min(start + limit, this.#visible - this.#base))
  }
}
