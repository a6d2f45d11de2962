// The body of an answer while it comes: pieces in their order, no more of them in memory than somebody reads, and let go of at any time.
import { Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { TimeSlices } from '../time-slices.ts'
import { KeptPieces } from './kept-pieces.ts'
import { UpstreamFailure, upstreamFailure } from './upstream-failure.ts'

/** So many bytes wait for a reader before the server is not read any further, and so few before it is again. */
const MOST_WAITING = 262_144
const FEW_WAITING = 65_536
/** So many of them are joined for whoever reads, and what goes beyond. */
const MOST_AT_ONCE = 16_384
/** How long the end of an answer is waited for that nobody reads any more, so that its connection can be used again. */
const RELEASE_MS = 1_000
/** And so many bytes of it: where more come it does not end. */
const MOST_DROPPED = 16_384

/** Where the pieces come from. */
export interface Flow {
  pause(): void
  resume(): void
  /** Breaks the connection. */
  abort(reason: Error): void
}

/** Where bodies wait for each other. */
export type Turns = Pick<TimeSlices, 'isTurnUsed' | 'turn'>

type Step = IteratorResult<Uint8Array, undefined>

/** To be read to its end, or let go of with `destroy` or `release`. */
export interface UpstreamBody extends AsyncIterable<Uint8Array> {
  /** @throws UpstreamFailure; the reason of the call's signal */
  next(): Promise<Step>
  /** Nobody reads on: the connection is broken. */
  destroy(): void
  /** Nobody reads on, and the answer is about to end: its connection is kept if it does. */
  release(): void
}

export class ReplyBody implements UpstreamBody {
  readonly #flow: Flow
  readonly #turns: Turns
  readonly #pieces: Uint8Array[] = []
  #waiting = 0
  #dropped = 0
  #paused = false
  #state: 'open' | 'dropped' | 'over' = 'open'
  #error: unknown = null
  #reader: PromiseWithResolvers<Step> | null = null
  /** Whether it waits for its turn. */
  #queued = false

  constructor(flow: Flow, turns: Turns) {
    this.#flow = flow
    this.#turns = turns
  }

  push(piece: Uint8Array): void {
    if (this.#state === 'dropped') this.#pass(piece.length)
    if (this.#state !== 'open') return
    this.#pieces.push(piece)
    this.#waiting += piece.length
    if (this.#reader && this.#pieces.length === 1) queueMicrotask(() => this.#wakeInTurn())
    if (this.#waiting < MOST_WAITING || this.#paused) return
    this.#paused = true
    this.#flow.pause()
  }

  end(): void {
    this.#state = 'over'
    if (this.#pieces.length === 0) this.#settle({ done: true, value: undefined })
  }

  /** What came before is still read, unless somebody wanted it to end `at_once`. */
  fail(error: unknown, at_once = false): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    if (at_once) this.#pieces.length = 0
    this.#error = error
    if (this.#pieces.length > 0) return
    this.#reader?.reject(error)
    this.#reader = null
  }

  #settle(step: Step): void {
    this.#reader?.resolve(step)
    this.#reader = null
  }

  next(): Promise<Step> {
    if (this.#pieces.length === 0) {
      if (this.#error !== null) return Promise.reject(this.#error)
      if (this.#state !== 'open') return Promise.resolve({ done: true, value: undefined })
    }
    this.#reader ??= Promise.withResolvers()
    const { promise } = this.#reader
    if (this.#pieces.length > 0) this.#wakeInTurn()
    return promise
  }

  /** A fast server brings megabytes in one turn of the event loop: whoever reads them must not hold up everybody else. */
  #wakeInTurn(): void {
    if (this.#queued) return
    if (!this.#turns.isTurnUsed) return this.#wake()
    this.#queued = true
    void this.#turns.turn('').then(() => {
      this.#queued = false
      this.#wake()
    })
  }

  /** What a connection brings at once is one piece, in however many chunks it comes: whoever reads pays for each. */
  #wake(): void {
    if (this.#reader && this.#pieces.length > 0) this.#settle({ done: false, value: this.#taken() })
  }

  #taken(): Uint8Array {
    let length = 0
    let count = 0
    while (count < this.#pieces.length && length < MOST_AT_ONCE) length += this.#pieces[count++]!.length
    const pieces = this.#pieces.splice(0, count)
    this.#waiting -= length
    if (this.#paused && this.#waiting < FEW_WAITING) this.#flowOn()
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length)
  }

  #flowOn(): void {
    this.#paused = false
    this.#flow.resume()
  }

  destroy(): void {
    const open = this.#state !== 'over'
    this.#drop('over')
    if (open) this.#flow.abort(new Error('nobody reads the answer any more'))
  }

  release(): void {
    if (this.#state !== 'open') return this.#drop(this.#state)
    if (this.#waiting > MOST_DROPPED) return this.destroy()
    this.#dropped = this.#waiting
    this.#drop('dropped')
    if (this.#paused) this.#flowOn()
    setTimeout(() => {
      if (this.#state === 'dropped') this.destroy()
    }, RELEASE_MS).unref()
  }

  /** What comes behind the end that was said. */
  #pass(bytes: number): void {
    this.#dropped += bytes
    if (this.#dropped > MOST_DROPPED) this.destroy()
  }

  #drop(state: 'dropped' | 'over'): void {
    this.#state = state
    this.#pieces.length = 0
    this.#waiting = 0
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

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
}

/** The body as it was before it was compressed; itself where it was not. @throws UpstreamFailure for what nobody asked for */
export function decodedBody(body: UpstreamBody, encoding: string): UpstreamBody {
  const name = encoding.trim().toLowerCase()
  if (name === '' || name === 'identity') return body
  if (!Object.hasOwn(DECODERS, name))
    throw new UpstreamFailure('broken', 'sent an answer that is compressed in a way that is not understood')
  return decoded(body, DECODERS[name]!())
}

function decoded(body: UpstreamBody, decoder: Transform): UpstreamBody {
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
      throw isOurs(error) ? error : upstreamFailure(error)
    })
  const result: UpstreamBody = {
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

/** Not of the decoder, but of what is decoded: the reason of a signal may be anything. */
function isOurs(error: unknown): boolean {
  return !(error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(Z_|ERR_)/.test(error.code))
}

/** The whole body. @throws UpstreamFailure `too_large` where it has more bytes than `most`; as `next` */
export async function wholeBody(body: UpstreamBody, most: number): Promise<Buffer> {
  const kept = new KeptPieces()
  let length = 0
  for (let step = await body.next(); !step.done; step = await body.next()) {
    length += step.value.length
    if (length > most) {
      body.destroy()
      throw new UpstreamFailure('too_large', `sent an answer of more than ${most.toLocaleString('en')} bytes`)
    }
    kept.add(step.value)
  }
  const pieces = kept.all()
  return pieces.length === 1
    ? Buffer.from(pieces[0]!.buffer, pieces[0]!.byteOffset, length)
    : Buffer.concat(pieces, length)
}
