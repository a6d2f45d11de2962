// Large frames, encoded in steps: what is light is left to the encoder, what is not is taken apart.

import { LazyEvent } from '../../events/lazy-event.ts'
import { ReaderWork, type ResponseReader } from '../../net/response-buffers.ts'
import { stringifyWithBase64Steps } from '../../shared/incremental-json.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../shared/value-size.ts'
import { encodeBinary, type FrameMode } from './codec.ts'

/** Frames that have values of jobs, or messages of threads and pieces of them, in them; or all jobs. */
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

/** What frames are sent on. */
export interface FrameSender {
  /** `common`: others are sent the very same object. */
  send(frame: object, common?: boolean): void
  /** Whether a frame takes long to be encoded. */
  isLarge(frame: object): boolean
  /** Encodes a large frame without holding up others, and gives what sends it. */
  encodeLarge(frame: object): Promise<() => void>
  /** Tells that a large frame is held until it is sent, and gives what says that it no longer is. */
  holdLarge(frame: object): Promise<() => void>
  /** Who is told of what is held. */
  readonly reader: ResponseReader
  /** Aborts when the socket is closed. */
  readonly closed: AbortSignal
  /** Whether so much waits to be sent that large frames wait, and what is not durable is better dropped. */
  readonly congested: boolean
  /** Waits until the peer has taken enough. */
  drained(): Promise<void>
}

/** Tells that an event of which values have to be made is held; null where it is not large. Several who follow a job may have the very same. */
export function holdLazyEvent({ reader }: FrameSender, event: unknown): (() => void) | null {
  return event instanceof LazyEvent && event.isLarge ? reader.share(event, 2 * event.length) : null
}

/** What answers are sent on. */
interface AnswerSender extends FrameSender {
  /** The line of large answers: each waits until the ones before it are sent. */
  readonly large_answers: AsyncMutex
}

/** Sends a frame, encoded in time slices where it is large; large ones one after the other, each when the peer has taken enough. */
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

/** One large frame of a connection is made at a time, in the order of those who ask: what is made waits for room as well. */
export class AsyncMutex {
  #last: Promise<void> = Promise.resolve()
  #pending = 0

  /** How many have asked and not left. */
  get pending(): number {
    return this.#pending
  }

  /** Resolves when all who have asked until now have left. */
  get idle(): Promise<void> {
    return this.#last
  }

  /** Resolves when those before have left, and gives how to leave. */
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

/** By frame, while it is encoded. */
const pendingEncodings: Readonly<Record<FrameMode, Map<object, ReaderWork<Uint8Array>>>> = {
  binary: new Map(),
  text: new Map(),
}

/** A frame in the given mode, encoded in time slices of its owner, once for all who ask for it meanwhile; not at all where none of them is left. */
export function encodeLargeFrame(
  slices: TimeSliceScheduler,
  reader: ResponseReader,
  frame: object,
  mode: FrameMode,
): Promise<Uint8Array> {
  const frames = pendingEncodings[mode]
  const known = frames.get(frame)
  if (known) return known.waitFor(reader)
  const run = (work: Steps<Uint8Array>) => slices.run(reader.owner, work)
  const made = new ReaderWork(encodeFrameSteps(frame, mode), run, () => void frames.delete(frame))
  frames.set(frame, made)
  return made.waitFor(reader)
}

/** As `encode`, in steps. */
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
  for (const { from, to, isSmall: light } of splitIntoSmallRanges(count, (at) => members[keys ? keys[at]! : at])) {
    if (!light) {
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
  /** Of few members: added to their number. */
  readonly few: number
  readonly long: number
  readonly longest: number
}

const MAP_HEADER: ContainerHeader = { few: 0x80, long: 0xde, longest: 0xdf }
const ARRAY_HEADER: ContainerHeader = { few: 0x90, long: 0xdc, longest: 0xdd }

/** What stands before the members (MessagePack, the formats of arrays and maps). */
function encodeContainerHeader(count: number, { few, long, longest }: ContainerHeader): Uint8Array {
  if (count < 16) return Buffer.of(few + count)
  const head = Buffer.alloc(count < 0x1_0000 ? 3 : 5)
  if (count < 0x1_0000) head.writeUInt16BE(count, 1)
  else head.writeUInt32BE(count, 1)
  head[0] = count < 0x1_0000 ? long : longest
  return head
}
