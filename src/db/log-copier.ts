// The thread that copies the write-ahead log into the database's file, as the event loop sees it: started when there is
// something to copy, asked for one pass at a time, ended when it was of no use for long. When to ask is left to wal.ts.
import { channel } from 'node:diagnostics_channel'
import { SHARE_ENV, Worker } from 'node:worker_threads'
import type { Durability } from './connection.ts'

/** What the thread is started with. */
export interface CopierData {
  readonly path: string
  readonly durability: Durability
}

export type ToCopier = 'copy' | 'end'

/** How much of the log there is, and how much of that is in the database's file, in pages. */
export interface Copied {
  readonly pages: number
  readonly copied: number
}

export type FromCopier =
  | { readonly kind: 'opened'; readonly synchronous: unknown }
  /** `copied` is null where another connection was at it. */
  | { readonly kind: 'passed'; readonly copied: Copied | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

export interface CopierEars {
  /** A pass is over: how the log was at its begin, and what was copied of it; null where another connection was at it. */
  passed(copied: Copied | null): void
  /** A pass came to nothing: `error` has SQLite's code. */
  failed(error: unknown): void
  /** The thread ended by itself. */
  lost(error: unknown): void
}

/** Hears of the connection of each such thread, `{ name, synchronous }`: a test looks at all of them. */
export const copiers = channel('svc:log-copier')

/** So long nothing is asked of it after a pass that failed, and so long no other is started after one that was lost. */
const AFTER_FAILURE_MS = 5_000
const AFTER_LOSS_MS = 60_000

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './copy-worker.ts' : './copy-worker.js', import.meta.url)

/** Its output streams are its own and nobody reads them: reading would keep the process alive. It prints nothing. */
function start(data: CopierData): Worker {
  return new Worker(SCRIPT, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
    // It names the cache of compiled sources: without, a thread starts later and takes twice the memory.
    env: SHARE_ENV,
    execArgv: [],
    stdout: true,
    stderr: true,
  })
}

export class LogCopier {
  readonly #data: CopierData
  readonly #now: () => number
  readonly #ears: CopierEars
  #worker: Worker | null = null
  /** Threads that were told to end and have their connection yet. */
  readonly #leaving = new Set<Worker>()
  #busy = false
  #askedAt = Number.NEGATIVE_INFINITY
  #failingUntil = Number.NEGATIVE_INFINITY

  constructor(data: CopierData, now: () => number, ears: CopierEars) {
    this.#data = data
    this.#now = now
    this.#ears = ears
  }

  /** Whether a pass is being made. */
  get busy(): boolean {
    return this.#busy
  }

  /** Whether it failed a moment ago, so that somebody else has to do its work. */
  get failing(): boolean {
    return this.#now() < this.#failingUntil
  }

  /** Asks for a pass, of which `passed`, `failed` or `lost` hears; without effect while one is being made. */
  copy(): void {
    if (this.#busy) return
    this.#busy = true
    this.#askedAt = this.#now()
    try {
      this.#worker ??= this.#start()
      this.#order(this.#worker, 'copy')
    } catch (error) {
      // There is no room for a thread.
      this.#lose(this.#worker, error)
    }
  }

  /** Ends the thread if nothing was asked of it for `ms`. */
  rest(ms: number): void {
    if (this.#worker !== null && !this.#busy && this.#now() - this.#askedAt >= ms) this.#leave(this.#worker)
  }

  /** Ends the thread after the pass that it makes; null where there is none. Nothing may be asked afterwards. */
  end(): Promise<unknown> | null {
    if (this.#worker !== null) this.#leave(this.#worker)
    if (this.#leaving.size === 0) return null
    return Promise.all(
      [...this.#leaving].map((worker) => {
        worker.ref()
        return new Promise((resolve) => worker.once('exit', resolve))
      }),
    )
  }

  #leave(worker: Worker): void {
    this.#worker = null
    this.#leaving.add(worker)
    this.#order(worker, 'end')
  }

  #start(): Worker {
    const worker = start(this.#data)
    worker.on('message', (message: FromCopier) => this.#hear(worker, message))
    worker.on('error', (error) => this.#lose(worker, error))
    worker.on('exit', () => {
      this.#leaving.delete(worker)
      this.#lose(worker, new Error('it ended'))
    })
    // After that, as listening to it keeps the process alive.
    worker.unref()
    return worker
  }

  #order(worker: Worker, order: ToCopier): void {
    worker.postMessage(order)
  }

  #hear(worker: Worker, message: FromCopier): void {
    if (message.kind === 'opened') copiers.publish({ name: this.#data.path, synchronous: message.synchronous })
    if (message.kind === 'opened' || worker !== this.#worker) return
    this.#busy = false
    if (message.kind === 'passed') return this.#ears.passed(message.copied)
    this.#failingUntil = this.#now() + AFTER_FAILURE_MS
    this.#ears.failed(Object.assign(new Error(message.message), { code: message.code }))
  }

  #lose(worker: Worker | null, error: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = null
    this.#busy = false
    this.#failingUntil = this.#now() + AFTER_LOSS_MS
    this.#ears.lost(error)
  }
}
