// The history of a job as server-sent events (WHATWG HTML, section 9.2) and as a JSON array. Both follow the job through the same feed.
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import type { FeedItem } from '../../events/job-feed.ts'
import {
  createEventSerializer,
  type EventJobFields,
  isEventItem,
  type JobEventItem,
} from '../../jobs/history/event-serializer.ts'
import { LARGE_RESPONSE_BYTES, type ResponseReader } from '../../net/response-buffers.ts'
import { chunkText } from '../../shared/text-chunks.ts'
import type { OwnerTimeSlices } from '../../shared/time-slices.ts'

/** Milliseconds between comments in a silent stream: intermediaries cut silent connections. */
export const EVENT_KEEP_ALIVE_MS = 15_000
/**
 * Milliseconds between writes after the client has half-closed: a client that is gone answers the first write with a reset, and the second write
 * fails.
 */
const PROBE_MS = 500
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'
/** Milliseconds after which a browser reconnects. */
const RETRY_MS = 2_000
/** Characters that are joined for one write. The history is not read further before these are taken. */
const MAX_WRITE_LENGTH = 65_536

/** Accounts for large events that wait; created on first use. */
type ReaderGetter = () => Pick<ResponseReader, 'share' | 'took'>

interface EventStreamOptions {
  /** Aborts when the client has half-closed the connection. */
  half_closed?: AbortSignal
  keep_alive_ms?: number
  reader?: ReaderGetter
  /** Time slices of the reader's owner, in which a long history is read and written. */
  turns?: OwnerTimeSlices
}

/**
 * Streams `items`, which follow the event of sequence `after`, as server-sent events. Events of one turn of the event loop go into one write, with
 * backpressure. The stream ends at a gap left by events that were removed meanwhile.
 */
export async function* streamJobEvents(
  job: EventJobFields,
  items: AsyncIterable<FeedItem>,
  after: number,
  { half_closed, keep_alive_ms = EVENT_KEEP_ALIVE_MS, reader, turns }: EventStreamOptions = {},
): AsyncGenerator<string, void, void> {
  const buffer = new EventTextBuffer(reader, turns)
  const write = createEventSerializer(job)
  const keepAlive = () => buffer.addIfEmpty(KEEP_ALIVE_COMMENT)
  let timer = setInterval(keepAlive, keep_alive_ms)
  const probe = () => {
    clearInterval(timer)
    keepAlive()
    timer = setInterval(keepAlive, PROBE_MS)
  }
  half_closed?.addEventListener('abort', probe, { once: true })
  void buffer.fill(items, after, (item) => {
    const [head, rest] = write(item)
    return [
      `id: ${item.sequence}\nevent: ${item.event.type}\ndata: ${head}`,
      ...chunkText(rest, MAX_WRITE_LENGTH),
      '\n\n',
    ]
  })
  try {
    yield `retry: ${RETRY_MS}\n\n`
    for (;;) {
      await buffer.waitForText()
      // Other events of this turn go into the same write.
      await setImmediate()
      while (turns?.areUsed && !buffer.isLong) await turns.next()
      const { ended } = buffer
      const text = buffer.takeText()
      if (text !== '') yield text
      if (ended === null) continue
      if (ended.error !== null) throw ended.error
      return
    }
  } finally {
    half_closed?.removeEventListener('abort', probe)
    clearInterval(timer)
  }
}

interface EventArrayOptions {
  readonly after: number
  readonly last: number
  readonly reader?: ReaderGetter
  readonly turns?: OwnerTimeSlices
}

/**
 * Streams the events of `items` up to sequence `last` as a JSON array, in parts.
 * @throws REPLAY_EXPIRED if events are removed while it reads
 */
export async function* streamJobEventArray(
  job: EventJobFields,
  items: AsyncIterable<FeedItem>,
  { after, last, reader, turns }: EventArrayOptions,
): AsyncGenerator<string, void, void> {
  const write = createEventSerializer(job)
  let text = '['
  let seen = after
  if (after < last) {
    for await (const item of items) {
      if (!isEventItem(item)) continue
      if (item.sequence !== seen + 1) break
      seen = item.sequence
      const [head, rest] = write(item)
      text += seen === after + 1 ? head : `,${head}`
      const held = holdLargeEvent(reader, item, rest.length)
      for (const part of chunkText(rest, MAX_WRITE_LENGTH)) {
        text += part
        if (text.length < MAX_WRITE_LENGTH) continue
        yield text
        text = ''
        held?.took()
        if (turns?.over) await turns.next()
      }
      held?.release()
      if (seen === last) break
    }
    if (seen !== last) throw new ServiceError('REPLAY_EXPIRED')
  }
  yield `${text}]`
}

interface HeldEvent {
  took(): void
  release(): void
}

/** Holds an event of `length` characters that is sent in parts; null if it is not large. All followers of a running job share its item and text. */
function holdLargeEvent(reader: ReaderGetter | undefined, item: JobEventItem, length: number): HeldEvent | null {
  if (!reader || length < LARGE_RESPONSE_BYTES) return null
  const holder = reader()
  return { took: () => holder.took(), release: holder.share(item, 2 * length) }
}

/** The text buffer between the feed of a job and the response. */
class EventTextBuffer {
  ended: { error: unknown } | null = null
  #text = ''
  #onFilled: (() => void) | null = null
  #onTaken: (() => void) | null = null
  readonly #reader: ReaderGetter | undefined
  readonly #turns: OwnerTimeSlices | undefined

  constructor(reader: ReaderGetter | undefined, turns: OwnerTimeSlices | undefined) {
    this.#reader = reader
    this.#turns = turns
  }

  /** Adds the texts of each event, and waits while too much text is not taken. */
  async fill(items: AsyncIterable<FeedItem>, after: number, textsOf: (item: JobEventItem) => string[]): Promise<void> {
    let seen = after
    /** Whether the event was so long that other requests had a turn meanwhile. */
    let isLong = false
    try {
      for await (const item of items) {
        if (!isEventItem(item)) continue
        if (item.sequence !== seen + 1) break
        seen = item.sequence
        const texts = textsOf(item)
        const length = texts.reduce((sum, text) => sum + text.length, 0)
        const held = holdLargeEvent(this.#reader, item, length)
        for (const text of texts) {
          this.#add(text)
          // The next part is added in the turn in which this part is taken: nothing comes between parts of an event.
          if (this.#text.length < MAX_WRITE_LENGTH) continue
          await this.#waitUntilTaken()
          held?.took()
          isLong = true
        }
        held?.release()
        // Thousands of clients may read the events of the same job.
        if (isLong ? this.#turns?.over : this.#turns?.areUsed) await this.#turns!.next()
        isLong = false
      }
      this.#end(null)
    } catch (error) {
      this.#end(error)
    }
  }

  /** Whether the buffer holds a part of a long event, which counts among what is held for its reader. */
  get isLong(): boolean {
    return this.#text.length >= MAX_WRITE_LENGTH
  }

  addIfEmpty(text: string): void {
    if (this.#text === '') this.#add(text)
  }

  /** Resolves when there is text, or the feed has ended. */
  waitForText(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#text !== '' || this.ended) resolve()
      else this.#onFilled = resolve
    })
  }

  takeText(): string {
    const text = this.#text
    this.#text = ''
    this.#onTaken?.()
    this.#onTaken = null
    return text
  }

  #add(text: string): void {
    this.#text += text
    this.#wake()
  }

  #end(error: unknown): void {
    this.ended = { error }
    this.#wake()
  }

  #wake(): void {
    this.#onFilled?.()
    this.#onFilled = null
  }

  #waitUntilTaken(): Promise<void> {
    return new Promise((resolve) => {
      this.#onTaken = resolve
    })
  }
}
