// Large bodies and frames, judged in a worker thread while the main thread serves everybody else. Owners take turns; nothing of what is judged
// is copied into the main thread but its bytes and what is wrong with it.
import { SHARE_ENV, Worker } from 'node:worker_threads'
import { ServiceError } from '../errors.ts'
import type { BodyVerdict, FrameVerdict, ValidationRequest } from './body-and-frame-validation.ts'
import { FairExecutor } from './fair-executor.ts'
import { FairMemoryAccount, heapShareBytes } from './fair-memory-account.ts'

export interface ValidationReply {
  readonly verdict: BodyVerdict | FrameVerdict
  readonly bytes: Uint8Array
}

/** What is larger, in bytes, is judged in the thread and parsed in time slices. Less than this takes two milliseconds or so. */
export const LARGE_PAYLOAD_BYTES = 262_144

/** How long a thread without work stays, in milliseconds: to start one takes about 100. */
const IDLE_MS = 30_000
/** The bytes are no part of the heap, and grow with it all the same: a small one is for a small machine. */
const RECEIVED_HEAP_FRACTION = 0.25
/** So many of the largest have room in any case: two of one owner, and one of another, who may have an eighth. */
const MANY = 8
/** A value takes up to 20 times its text. */
const HEAP_MB = 4_096

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export class PayloadValidator {
  /** What the values of requests take. */
  readonly memory = new FairMemoryAccount()
  /** What the bytes of large bodies and messages take, from before they are read until they are parsed. */
  readonly received: FairMemoryAccount
  readonly #queue = new FairExecutor()
  #worker: Worker | null = null
  #idleTimer: NodeJS.Timeout | null = null

  /** `largest`: bytes that a body or a message may have. */
  constructor(largest: number) {
    this.received = new FairMemoryAccount(Math.max(heapShareBytes(RECEIVED_HEAP_FRACTION), MANY * largest))
  }

  /** The verdict on a body, and its bytes. @throws REQUEST_TOO_LARGE where there is not enough memory to parse it */
  async validateBody(
    owner: string,
    of: { operation: string; passed_on: boolean; bytes: Buffer },
  ): Promise<{ verdict: BodyVerdict; bytes: Buffer }> {
    return (await this.#validate(owner, { kind: 'body', ...of, bytes: toTransferableBytes(of.bytes) })) as never
  }

  /** The verdict on a frame, and its bytes. @throws REQUEST_TOO_LARGE where there is not enough memory to parse it */
  async validateFrame(
    owner: string,
    of: { channel: string; binary: boolean; bytes: Buffer },
  ): Promise<{ verdict: FrameVerdict; bytes: Buffer }> {
    return (await this.#validate(owner, { kind: 'frame', ...of, bytes: toTransferableBytes(of.bytes) })) as never
  }

  async #validate(
    owner: string,
    request: ValidationRequest,
  ): Promise<{ verdict: ValidationReply['verdict']; bytes: Buffer }> {
    const { verdict, bytes } = await this.#queue.run(owner, () => this.#callWorker(request))
    return { verdict, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
  }

  #callWorker(request: ValidationRequest): Promise<ValidationReply> {
    const worker = this.#ensureWorker()
    const { promise, resolve, reject } = Promise.withResolvers<ValidationReply>()
    const failed = (error: Error) => {
      if (this.#worker === worker) this.#worker = null
      reject('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? outOfMemoryError() : error)
    }
    const exited = () => failed(new Error('the thread that judges large payloads ended'))
    worker.once('message', resolve).once('error', failed).once('exit', exited)
    worker.postMessage(request, [request.bytes.buffer as ArrayBuffer])
    return promise.finally(() => {
      worker.off('message', resolve).off('error', failed).off('exit', exited)
      this.#scheduleShutdown()
    })
  }

  #ensureWorker(): Worker {
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    this.#worker ??= startWorker()
    return this.#worker
  }

  #scheduleShutdown(): void {
    this.#idleTimer ??= setTimeout(() => this.close(), IDLE_MS).unref()
  }

  /** Ends the thread. What it judges at the moment fails. */
  close(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    const worker = this.#worker
    this.#worker = null
    void worker?.terminate()
  }
}

/** Its output streams are its own and nobody reads them. It prints nothing. It keeps no process alive. */
function startWorker(): Worker {
  const worker = new Worker(SCRIPT, {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    // It names the cache of compiled sources: without, a thread starts later and takes twice the memory.
    env: SHARE_ENV,
    execArgv: [],
    stdout: true,
    stderr: true,
  })
  worker.unref()
  // Without a listener, the failure of a thread that nobody waits for would end the process.
  worker.on('error', () => {})
  return worker
}

/** Bytes with memory of their own, which can be handed to another thread. */
function toTransferableBytes(bytes: Buffer): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes
  const isAlone = byteOffset === 0 && byteLength === buffer.byteLength
  return isAlone ? new Uint8Array(buffer) : Uint8Array.from(bytes)
}

function outOfMemoryError(): ServiceError {
  return new ServiceError('REQUEST_TOO_LARGE', { message: 'The request holds more values than can be read.' })
}
