// The body of an answer as a stream. Its chunks stay in order, it holds only a
// little unread data, and the reader may release it at any time.
import { Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import { ChunkBuffer } from '../chunk-buffer.ts'
import { toUpstreamFailure, UpstreamFailure } from './failure.ts'

/** Reading from the server pauses at HIGH_WATER_BYTES of unread data, and resumes at LOW_WATER_BYTES. */
const HIGH_WATER_BYTES = 262_144
const LOW_WATER_BYTES = 65_536
/** Chunks are joined up to this size. */
const MAX_JOINED_BYTES = 16_384
/** How long a released answer may take to end, in milliseconds, so that its connection can be used again. */
const RELEASE_TIMEOUT_MS = 1_000
/** The most bytes of a released answer that are read before its connection is broken. */
const MAX_DRAINED_BYTES = 16_384

/** Controls the source of the chunks. */
export interface FlowControl {
  pause(): void
  resume(): void
  /** Breaks the connection. */
  abort(reason: Error): void
}

/** The time slices that bodies share. */
export type BodyTimeSlices = Pick<TimeSliceScheduler, 'isTurnUsed' | 'turn'>

type BodyReadResult = IteratorResult<Uint8Array, undefined>

/** The reader reads the body to its end, or ends it with `destroy` or `release`. */
export interface UpstreamResponseBody extends AsyncIterable<Uint8Array> {
  /** @throws UpstreamFailure; the reason of the call's signal */
  next(): Promise<BodyReadResult>
  /** Ends the body and breaks the connection. */
  destroy(): void
  /** Ends the body and keeps the connection, if the answer ends soon. */
  release(): void
}

export class QueuedResponseBody implements UpstreamResponseBody {
  readonly #flow: FlowControl
  readonly #timeSlices: BodyTimeSlices
  readonly #chunks: Uint8Array[] = []
  #queued_bytes = 0
  #drained_bytes = 0
  #isPaused = false
  #state: 'open' | 'dropped' | 'over' = 'open'
  #error: unknown = null
  #reader: PromiseWithResolvers<BodyReadResult> | null = null
  /** Whether the body waits for its turn. */
  #isAwaitingTurn = false

  constructor(flow: FlowControl, turns: BodyTimeSlices) {
    this.#flow = flow
    this.#timeSlices = turns
  }

  push(piece: Uint8Array): void {
    if (this.#state === 'dropped') this.#countDrained(piece.length)
    if (this.#state !== 'open') return
    this.#chunks.push(piece)
    this.#queued_bytes += piece.length
    if (this.#reader && this.#chunks.length === 1) queueMicrotask(() => this.#deliverInTurn())
    if (this.#queued_bytes < HIGH_WATER_BYTES || this.#isPaused) return
    this.#isPaused = true
    this.#flow.pause()
  }

  end(): void {
    this.#state = 'over'
    if (this.#chunks.length === 0) this.#settle({ done: true, value: undefined })
  }

  /** Fails the body. Earlier chunks are still read, unless `at_once` is set. */
  fail(error: unknown, at_once = false): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    if (at_once) this.#chunks.length = 0
    this.#error = error
    if (this.#chunks.length > 0) return
    this.#reader?.reject(error)
    this.#reader = null
  }

  #settle(step: BodyReadResult): void {
    this.#reader?.resolve(step)
    this.#reader = null
  }

  next(): Promise<BodyReadResult> {
    if (this.#chunks.length === 0) {
      if (this.#error !== null) return Promise.reject(this.#error)
      if (this.#state !== 'open') return Promise.resolve({ done: true, value: undefined })
    }
    this.#reader ??= Promise.withResolvers()
    const { promise } = this.#reader
    if (this.#chunks.length > 0) this.#deliverInTurn()
    return promise
  }

  /** A fast server delivers megabytes in one turn of the event loop. Their reader must not delay all others. */
  #deliverInTurn(): void {
    if (this.#isAwaitingTurn) return
    if (!this.#timeSlices.isTurnUsed) return this.#deliver()
    this.#isAwaitingTurn = true
    void this.#timeSlices.turn('').then(() => {
      this.#isAwaitingTurn = false
      this.#deliver()
    })
  }

  /** Joins the chunks that come at once, because each chunk costs its reader time. */
  #deliver(): void {
    if (this.#reader && this.#chunks.length > 0) this.#settle({ done: false, value: this.#takeJoined() })
  }

  #takeJoined(): Uint8Array {
    let length = 0
    let count = 0
    while (count < this.#chunks.length && length < MAX_JOINED_BYTES) length += this.#chunks[count++]!.length
    const pieces = this.#chunks.splice(0, count)
    this.#queued_bytes -= length
    if (this.#isPaused && this.#queued_bytes < LOW_WATER_BYTES) this.#resumeFlow()
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length)
  }

  #resumeFlow(): void {
    this.#isPaused = false
    this.#flow.resume()
  }

  destroy(): void {
    const open = this.#state !== 'over'
    this.#discardQueue('over')
    if (open) this.#flow.abort(new Error('nobody reads the answer any more'))
  }

  release(): void {
    if (this.#state !== 'open') return this.#discardQueue(this.#state)
    if (this.#queued_bytes > MAX_DRAINED_BYTES) return this.destroy()
    this.#drained_bytes = this.#queued_bytes
    this.#discardQueue('dropped')
    if (this.#isPaused) this.#resumeFlow()
    setTimeout(() => {
      if (this.#state === 'dropped') this.destroy()
    }, RELEASE_TIMEOUT_MS).unref()
  }

  /** Counts bytes that come after the release. */
  #countDrained(bytes: number): void {
    this.#drained_bytes += bytes
    if (this.#drained_bytes > MAX_DRAINED_BYTES) this.destroy()
  }

  #discardQueue(state: 'dropped' | 'over'): void {
    this.#state = state
    this.#chunks.length = 0
    this.#queued_bytes = 0
    this.#settle({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => this.next(),
      return: async () => {
        this.destroy()
        return { done: true, value: undefined }
      },
    }
  }
}

const DECODER_FACTORIES: Readonly<Record<string, () => Transform>> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
}

/** Decompresses the body. @throws UpstreamFailure for an encoding that was not requested */
export function decodeResponseBody(body: UpstreamResponseBody, encoding: string): UpstreamResponseBody {
  const name = encoding.trim().toLowerCase()
  if (name === '' || name === 'identity') return body
  if (!Object.hasOwn(DECODER_FACTORIES, name))
    throw new UpstreamFailure('broken', 'sent an answer with an unsupported encoding')
  return createDecodedBody(body, DECODER_FACTORIES[name]!())
}

function createDecodedBody(body: UpstreamResponseBody, decoder: Transform): UpstreamResponseBody {
  const source = Readable.from(body, { objectMode: false })
  source.on('error', (error) => decoder.destroy(error))
  source.pipe(decoder)
  const pieces = decoder[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>
  const destroy = () => {
    body.destroy()
    decoder.on('error', () => {}).destroy()
  }
  const next = () =>
    pieces.next().catch((error) => {
      destroy()
      throw isSourceError(error) ? error : toUpstreamFailure(error)
    })
  const result: UpstreamResponseBody = {
    next,
    destroy,
    release: destroy,
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        destroy()
        return { done: true, value: undefined }
      },
    }),
  }
  return result
}

/** Whether the source failed, and not the decoder. The reason of a signal may be any value. */
function isSourceError(error: unknown): boolean {
  return !(error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(Z_|ERR_)/.test(error.code))
}

/** Reads the whole body. @throws UpstreamFailure `too_large` where it has more than `max_bytes`; otherwise as `next` */
export async function readWholeBody(body: UpstreamResponseBody, max_bytes: number): Promise<Buffer> {
  const kept = new ChunkBuffer()
  let length = 0
  for (let step = await body.next(); !step.done; step = await body.next()) {
    length += step.value.length
    if (length > max_bytes) {
      body.destroy()
      throw new UpstreamFailure('too_large', `sent an answer of more than ${max_bytes.toLocaleString('en')} bytes`)
    }
    kept.add(step.value)
  }
  const pieces = kept.chunks()
  return pieces.length === 1
    ? Buffer.from(pieces[0]!.buffer, pieces[0]!.byteOffset, length)
    : Buffer.concat(pieces, length)
}
