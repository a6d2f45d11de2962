// PayloadValidator validates large bodies and frames in a worker thread, while the main thread serves other requests. Owners take turns.
// Only the bytes and the verdict return to the main thread.
import { SHARE_ENV, Worker } from 'node:worker_threads'
import { ServiceError } from '../errors.ts'
import type { BodyVerdict, FrameVerdict, ValidationRequest } from './body-and-frame-validation.ts'
import { FairExecutor } from './fair-executor.ts'
import { FairMemoryAccount, heapShareBytes } from './fair-memory-account.ts'

export interface ValidationReply {
  readonly verdict: BodyVerdict | FrameVerdict
  readonly bytes: Uint8Array
}

/** Larger payloads, in bytes, are validated in the thread and parsed in time slices. A smaller one takes about two milliseconds. */
export const LARGE_PAYLOAD_BYTES = 262_144

/** How long an idle thread stays, in milliseconds. Starting a thread takes about 100. */
const IDLE_MS = 30_000
/** The limit for received bytes, as a part of the heap. The bytes lie outside of the heap, but a small heap means a small machine. */
const RECEIVED_HEAP_FRACTION = 0.25
/** The number of largest payloads that always have room: two of one owner, and one of another owner, who may have an eighth. */
const MANY = 8
/** Megabytes of the thread's heap. A value takes up to 20 times its text. */
const HEAP_MB = 4_096

/** The script is the source or its compiled form. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export class PayloadValidator {
  /** Memory of the values of requests. */
  readonly memory = new FairMemoryAccount()
  /** Memory of the bytes of large bodies and messages, from before they are read until they are parsed. */
  readonly received: FairMemoryAccount
  readonly #queue = new FairExecutor()
  #worker: Worker | null = null
  #idleTimer: NodeJS.Timeout | null = null

  /** `largest`: the maximum bytes of a body or a message. */
  constructor(largest: number) {
    this.received = new FairMemoryAccount(Math.max(heapShareBytes(RECEIVED_HEAP_FRACTION), MANY * largest))
  }

  /** Returns the verdict on a body, and its bytes. @throws REQUEST_TOO_LARGE if there is not enough memory to parse it */
  async validateBody(
    owner: string,
    of: { operation: string; passed_on: boolean; bytes: Buffer },
  ): Promise<{ verdict: BodyVerdict; bytes: Buffer }> {
    return (await this.#validate(owner, { kind: 'body', ...of, bytes: toTransferableBytes(of.bytes) })) as never
  }

  /** Returns the verdict on a frame, and its bytes. @throws REQUEST_TOO_LARGE if there is not enough memory to parse it */
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
    const exited = () => failed(new Error('the thread that validates large payloads ended'))
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

  /** Ends the thread. A validation that is under way fails. */
  close(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    const worker = this.#worker
    this.#worker = null
    void worker?.terminate()
  }
}

/** The thread has output streams of its own, which are not read because it prints nothing. It does not keep the process alive. */
function startWorker(): Worker {
  const worker = new Worker(SCRIPT, {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    // The environment names the cache of compiled sources. Without it, a thread starts later and takes twice the memory.
    env: SHARE_ENV,
    execArgv: [],
    stdout: true,
    stderr: true,
  })
  worker.unref()
  // Without a listener, an error of an idle thread would end the process.
  worker.on('error', () => {})
  return worker
}

/** Returns the bytes in a buffer of their own, which can be transferred to another thread. */
function toTransferableBytes(bytes: Buffer): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes
  const isAlone = byteOffset === 0 && byteLength === buffer.byteLength
  return isAlone ? new Uint8Array(buffer) : Uint8Array.from(bytes)
}

function outOfMemoryError(): ServiceError {
  return new ServiceError('REQUEST_TOO_LARGE', {
    message: 'The request contains more values than the server can read.',
  })
}
