// Encodes large frames in steps: small values by the encoder at once, large ones member by member.

import { LazyEvent } from '../../events/lazy-event.ts'
import { ReaderWork, type ResponseReader } from '../../net/response-buffers.ts'
import { stringifyWithBase64Steps } from '../../shared/incremental-json.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../shared/value-size.ts'
import { encodeBinary, type FrameMode } from './codec.ts'

/** Types of frames that contain values of jobs, messages of threads or parts of them, or all jobs. */
const FRAMES_WITH_VALUES: ReadonlySet<unknown> = new Set([
  'output_update',
  'job_update',
  'job_event',
  'node_update',
  'tool_result_update',
  'rpc_response',
  'message',
  'chunk',
  'status',
])

/** Whether a frame takes long to be encoded. */
export function isLargeFrame(frame: object): boolean {
  return 'type' in frame && FRAMES_WITH_VALUES.has(frame.type) && !isSmallValue(frame)
}

/** Sends frames to a peer. */
export interface FrameSender {
  /** `common`: other connections are sent the same object. */
  send(frame: object, common?: boolean): void
  /** Whether a frame takes long to be encoded. */
  isLarge(frame: object): boolean
  /** Encodes a large frame in time slices. Returns a function that sends it. */
  encodeLarge(frame: object): Promise<() => void>
  /** Accounts for a large frame until it is sent. Returns a function that releases it. */
  holdLarge(frame: object): Promise<() => void>
  /** Accounts for held data. */
  readonly reader: ResponseReader
  /** Aborts when the socket is closed. */
  readonly closed: AbortSignal
  /** Whether so much is unsent that large frames wait, and frames that are not durable are dropped. */
  readonly congested: boolean
  /** Waits until the peer has taken enough. */
  drained(): Promise<void>
}

/** Accounts for an event whose values have to be loaded; null if it is not large. Followers of a job may share the event. */
export function holdLazyEvent({ reader }: FrameSender, event: unknown): (() => void) | null {
  return event instanceof LazyEvent && event.isLarge ? reader.share(event, 2 * event.length) : null
}

/** Sends answers to a peer. */
interface AnswerSender extends FrameSender {
  /** Queues large answers: each waits until earlier ones are sent. */
  readonly large_answers: AsyncMutex
}

/** Sends a frame. A large frame is encoded in time slices, after earlier ones were sent and the peer has read enough. */
export async function sendFrameInSlices(connection: AnswerSender, frame: object): Promise<void> {
  if (!connection.isLarge(frame)) return connection.send(frame)
  const release = await connection.holdLarge(frame)
  const leave = await connection.large_answers.acquire()
  try {
    while (connection.congested && !connection.closed.aborted) await connection.drained()
    if (connection.closed.aborted) return
    const send = await connection.encodeLarge(frame)
    if (!connection.closed.aborted) send()
  } finally {
    leave()
    release()
  }
}

/** A mutex for large frames of a connection, in order of `acquire`: an encoded frame waits in memory as well. */
export class AsyncMutex {
  #last: Promise<void> = Promise.resolve()
  #pending = 0

  /** Holders and waiters. */
  get pending(): number {
    return this.#pending
  }

  /** Resolves when all present holders and waiters have released the mutex. */
  get idle(): Promise<void> {
    return this.#last
  }

  /** Resolves when earlier holders have released the mutex. Returns the release function. */
  async acquire(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = this.#last
    this.#last = before.then(() => promise)
    this.#pending++
    await before
    return () => {
      this.#pending--
      resolve()
    }
  }
}

/** Pending encodings, by frame. */
const pendingEncodings: Readonly<Record<FrameMode, Map<object, ReaderWork<Uint8Array>>>> = {
  binary: new Map(),
  text: new Map(),
}

/** Encodes a frame in time slices of its owner, once for all readers that request it meanwhile; stops if no reader is left. */
export function encodeLargeFrame(
  slices: TimeSliceScheduler,
  reader: ResponseReader,
  frame: object,
  mode: FrameMode,
): Promise<Uint8Array> {
  const frames = pendingEncodings[mode]
  const pending = frames.get(frame)
  if (pending) return pending.waitFor(reader)
  const run = (work: Steps<Uint8Array>) => slices.run(reader.owner, work)
  const encoding = new ReaderWork(encodeFrameSteps(frame, mode), run, () => void frames.delete(frame))
  frames.set(frame, encoding)
  return encoding.waitFor(reader)
}

/** Encodes a frame in steps. */
export function* encodeFrameSteps(frame: object, mode: FrameMode): Steps<Uint8Array> {
  if (mode === 'text') return Buffer.from(yield* stringifyWithBase64Steps(frame))
  const parts: Uint8Array[] = []
  yield* packValue(frame, parts)
  return Buffer.concat(parts)
}

function* packValue(value: unknown, parts: Uint8Array[]): Steps<void> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || isSmallValue(value)) {
    parts.push(encodeBinary(value))
    yield
    return
  }
  const members = value as Readonly<Record<string | number, unknown>>
  const keys = Array.isArray(value) ? null : Object.keys(value).filter((key) => members[key] !== undefined)
  const count = keys ? keys.length : (value as unknown[]).length
  parts.push(keys ? encodeContainerHeader(count, MAP_HEADER) : encodeContainerHeader(count, ARRAY_HEADER))
  yield
  for (const { from, to, isSmall } of splitIntoSmallRanges(count, (at) => members[keys ? keys[at]! : at])) {
    if (!isSmall) {
      if (keys) parts.push(encodeBinary(keys[from]))
      yield* packValue(members[keys ? keys[from]! : from], parts)
      continue
    }
    const some = keys
      ? Object.fromEntries(keys.slice(from, to).map((key) => [key, members[key]]))
      : (value as unknown[]).slice(from, to)
    parts.push(encodeBinary(some).subarray(encodeContainerHeader(to - from, MAP_HEADER).length))
    yield
  }
}

interface ContainerHeader {
  /** Added to the number of members, if this is below 16. */
  readonly few: number
  readonly long: number
  readonly longest: number
}

const MAP_HEADER: ContainerHeader = { few: 0x80, long: 0xde, longest: 0xdf }
const ARRAY_HEADER: ContainerHeader = { few: 0x90, long: 0xdc, longest: 0xdd }

/** The header of an array or map (MessagePack format). */
function encodeContainerHeader(count: number, { few, long, longest }: ContainerHeader): Uint8Array {
  if (count < 16) return Buffer.of(few + count)
  const head = Buffer.alloc(count < 0x1_0000 ? 3 : 5)
  if (count < 0x1_0000) head.writeUInt16BE(count, 1)
  else head.writeUInt32BE(count, 1)
  head[0] = count < 0x1_0000 ? long : longest
  return head
}
