// The thread that copies the write-ahead log into the database's file, as the event loop sees it: started when there is
// something to copy, asked for one pass at a time, ended when it was of no use for long. When to ask is left to wal.ts.
import { channel } from 'node:diagnostics_channel'
import { SHARE_ENV, Worker } from 'node:worker_threads'
import type { Durability } from '../connection.ts'

/** What the thread is started with. */
export interface CheckpointWorkerData {
  readonly path: string
  readonly durability: Durability
}

export type CheckpointCommand = 'copy' | 'end'

/** How much of the log there is, and how much of that is in the database's file, in pages. */
export interface WalProgress {
  readonly pages: number
  readonly copied: number
}

export type CheckpointMessage =
  | { readonly kind: 'opened'; readonly synchronous: unknown }
  /** `copied` is null where another connection was at it. */
  | { readonly kind: 'passed'; readonly copied: WalProgress | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

export interface CheckpointListener {
  /** A pass is over: how the log was at its begin, and what was copied of it; null where another connection was at it. */
  passEnded(copied: WalProgress | null): void
  /** A pass came to nothing: `error` has SQLite's code. */
  passFailed(error: unknown): void
  /** The thread ended by itself. */
  threadLost(error: unknown): void
}

/** Hears of the connection of each such thread, `{ name, synchronous }`: a test looks at all of them. */
export const checkpointThreadChannel = channel('svc:log-copier')

/** So long nothing is asked of it after a pass that failed, and so long no other is started after one that was lost. */
const AFTER_FAILURE_MS = 5_000
const AFTER_LOSS_MS = 60_000

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js',
  import.meta.url,
)

/** Its output streams are its own and nobody reads them: reading would keep the process alive. It prints nothing. */
function startWorker(data: CheckpointWorkerData): Worker {
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

export class CheckpointThread {
  readonly #data: CheckpointWorkerData
  readonly #now: () => number
  readonly #listener: CheckpointListener
  #worker: Worker | null = null
  /** Threads that were told to end and have their connection yet. */
  readonly #endingWorkers = new Set<Worker>()
  #isBusy = false
  #requestedAt = Number.NEGATIVE_INFINITY
  #failingUntil = Number.NEGATIVE_INFINITY

  constructor(data: CheckpointWorkerData, now: () => number, ears: CheckpointListener) {
    this.#data = data
    this.#now = now
    this.#listener = ears
  }

  /** Whether a pass is being made. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Whether it failed a moment ago, so that somebody else has to do its work. */
  get isFailing(): boolean {
    return this.#now() < this.#failingUntil
  }

  /** Asks for a pass, of which `passed`, `failed` or `lost` hears; without effect while one is being made. */
  requestPass(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#requestedAt = this.#now()
    try {
      this.#worker ??= this.#start()
      this.#send(this.#worker, 'copy')
    } catch (error) {
      // There is no room for a thread.
      this.#handleLoss(this.#worker, error)
    }
  }

  /** Ends the thread if nothing was asked of it for `ms`. */
  endIfIdle(ms: number): void {
    if (this.#worker !== null && !this.#isBusy && this.#now() - this.#requestedAt >= ms) this.#endWorker(this.#worker)
  }

  /** Ends the thread after the pass that it makes; null where there is none. Nothing may be asked afterwards. */
  end(): Promise<unknown> | null {
    if (this.#worker !== null) this.#endWorker(this.#worker)
    if (this.#endingWorkers.size === 0) return null
    return Promise.all(
      [...this.#endingWorkers].map((worker) => {
        worker.ref()
        return new Promise((resolve) => worker.once('exit', resolve))
      }),
    )
  }

  #endWorker(worker: Worker): void {
    this.#worker = null
    this.#endingWorkers.add(worker)
    this.#send(worker, 'end')
  }

  #start(): Worker {
    const worker = startWorker(this.#data)
    worker.on('message', (message: CheckpointMessage) => this.#receive(worker, message))
    worker.on('error', (error) => this.#handleLoss(worker, error))
    worker.on('exit', () => {
      this.#endingWorkers.delete(worker)
      this.#handleLoss(worker, new Error('it ended'))
    })
    // After that, as listening to it keeps the process alive.
    worker.unref()
    return worker
  }

  #send(worker: Worker, order: CheckpointCommand): void {
    worker.postMessage(order)
  }

  #receive(worker: Worker, message: CheckpointMessage): void {
    if (message.kind === 'opened')
      checkpointThreadChannel.publish({ name: this.#data.path, synchronous: message.synchronous })
    if (message.kind === 'opened' || worker !== this.#worker) return
    this.#isBusy = false
    if (message.kind === 'passed') return this.#listener.passEnded(message.copied)
    this.#failingUntil = this.#now() + AFTER_FAILURE_MS
    this.#listener.passFailed(Object.assign(new Error(message.message), { code: message.code }))
  }

  #handleLoss(worker: Worker | null, error: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = null
    this.#isBusy = false
    this.#failingUntil = this.#now() + AFTER_LOSS_MS
    this.#listener.threadLost(error)
  }
}
