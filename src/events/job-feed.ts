// The history of one active job, as a queue in memory. Durable events become visible once they are committed; provisional frames between them are never
// stored. The feed owns order and visibility. The event log owns storage, and followers of ended jobs.
import { encodeEventPayload } from './stored-event-codec.ts'
import type { EventBody, EventFrame, JobFrame } from './types.ts'

/** One item of a job's history. `event` and `sequence` are null for a provisional frame, `frame` is null where sockets do not show the event. */
export interface FeedItem {
  readonly sequence: number | null
  readonly event: EventBody | null
  readonly frame: JobFrame | null
  readonly timestamp: string
}

/** An item with the JSON text of its event, which is kept until the commit. */
export interface StagedItem extends FeedItem {
  payload: string | null
}

/** A position in a feed, after the items that were staged until then. */
export interface FeedMark {
  readonly end: number
  /** The sequence of the last event before the mark. */
  readonly sequence: number
}

/** How many committed items stay in memory for followers; older ones are read from the database. */
export const TAIL_ITEMS = 1024

export class JobFeed {
  readonly job_key: number
  /** Whether an active job writes to the feed; otherwise it only has listeners, until the job is continued. */
  hasWriter = false
  /** Whether old events are trimmed. Trimming has to count them, which damaged events do not allow. */
  canTrim = true
  #items: StagedItem[] = []
  /** The position of `#items[0]`, counted from the opening of the feed. */
  #base = 0
  /** Items below this position are visible. */
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

  /** `expected`: a follower will come, so provisional frames are kept from the start. */
  constructor(job_key: number, last_sequence: number, expected: boolean) {
    this.#expectsFollower = expected
    this.job_key = job_key
    this.#first = last_sequence + 1
    this.#sequence = last_sequence
    this.#committed = last_sequence
  }

  /** The last sequence, which may not be committed yet. */
  get sequence(): number {
    return this.#sequence
  }

  /** The last committed sequence, which followers may see. */
  get committed(): number {
    return this.#committed
  }

  /** The characters of the event texts that wait for a commit. */
  get staged_length(): number {
    return this.#staged_length
  }

  /** Whether the terminal event is committed, so that no event follows. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the history could not be written: staged items are never shown, and no event follows. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** The number of listeners. */
  get listeners(): number {
    return this.#listeners.size
  }

  /** Whether a follower sees provisional frames, or is expected. */
  get hasFollowers(): boolean {
    return this.#expectsFollower || this.#listeners.size > 0
  }

  /**
   * Stages a durable event, which is visible after `commit`; its frame gets the sequence. An event that cannot be serialized is refused here, so that the rest
   * of the history is not affected.
   * @throws errors of the serialization; nothing is staged then
   */
  append(event: EventBody, frame: EventFrame | null, timestamp: string): void {
    const payload = encodeEventPayload(event)
    this.#sequence++
    if (frame) frame.sequence = this.#sequence
    this.#staged_length += payload.length
    this.#items.push({ sequence: this.#sequence, event, frame, timestamp, payload })
  }

  /** Adds a frame that is never stored. It is dropped where the feed has no followers. */
  provisional(frame: JobFrame, timestamp: string): void {
    if (!this.hasFollowers) return
    const nothingStaged = this.#visible === this.#end
    this.#items.push({ sequence: null, event: null, frame, timestamp, payload: null })
    if (nothingStaged) this.#show(this.#end)
  }

  /** The current end of the feed. */
  get mark(): FeedMark {
    return { end: this.#end, sequence: this.#sequence }
  }

  /** The items that wait for a commit, up to a mark. */
  staged({ end }: Pick<FeedMark, 'end'>): readonly StagedItem[] {
    return this.#items.slice(this.#visible - this.#base, end - this.#base)
  }

  /** Makes items below `end` visible, whose events are committed, and the provisional frames right after them. */
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

  /** Drops staged items, and wakes all followers, which then end. */
  abandon(): void {
    this.#isAbandoned = true
    this.truncate()
    this.wake()
  }

  /** Drops staged items, all of them or those after a mark: the history continues differently. */
  truncate({ end, sequence }: FeedMark = { end: this.#visible, sequence: this.#committed }): void {
    for (const { payload } of this.#items.slice(end - this.#base)) this.#staged_length -= payload?.length ?? 0
    this.#items.length = end - this.#base
    this.#sequence = sequence
  }

  /** Wakes all followers. */
  wake(): void {
    for (const ring of this.#listeners) ring()
  }

  #show(end: number): void {
    this.#visible = end
    const surplus = this.#visible - this.#base - TAIL_ITEMS
    // The head is cut in large steps, since each cut moves the rest of the array.
    if (surplus > TAIL_ITEMS) {
      this.#items = this.#items.slice(surplus)
      this.#base += surplus
    }
    this.wake()
  }

  get #end(): number {
    return this.#base + this.#items.length
  }

  /** Registers a listener that is called when more items are visible. It returns the function that removes the listener. */
  listen(ring: () => void): () => void {
    this.#expectsFollower = false
    this.#listeners.add(ring)
    return () => this.#listeners.delete(ring)
  }

  /**
   * The position after the event `after`, or null where that is no longer in memory.
   * A follower that has seen all committed events starts at the present: older provisional frames are superseded.
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

  /** Reads up to `limit` visible items from `position` on, or null where they are no longer in memory. */
  read(position: number, limit: number): readonly FeedItem[] | null {
    if (position < this.#base) return null
    const start = position - this.#base
    return this.#items.slice(start, Math.min(start + limit, this.#visible - this.#base))
  }
}
