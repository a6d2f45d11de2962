// The checkpoint thread as the event loop sees it: it starts when there is something to copy, makes one pass per request, and ends after a long idle
// time. `CheckpointScheduler` decides when to request a pass.
import { channel } from 'node:diagnostics_channel'
import { SHARE_ENV, Worker } from 'node:worker_threads'
import type { Durability } from '../connection.ts'

export interface CheckpointWorkerData {
  readonly path: string
  readonly durability: Durability
}

export type CheckpointCommand = 'copy' | 'end'

/** The length of the log, and its part that is copied into the database file, in pages. */
export interface WalProgress {
  readonly pages: number
  readonly copied: number
}

export type CheckpointMessage =
  | { readonly kind: 'opened'; readonly synchronous: unknown }
  /** `copied` is null if another connection was making a checkpoint. */
  | { readonly kind: 'passed'; readonly copied: WalProgress | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

export interface CheckpointListener {
  /** A pass has ended: the length of the log at its beginning, and the copied part; null: another connection was making a checkpoint. */
  passEnded(copied: WalProgress | null): void
  /** A pass failed: `error` has SQLite's code. */
  passFailed(error: unknown): void
  /** The thread ended by itself. */
  threadLost(error: unknown): void
}

/** Publishes the connection of each such thread, `{ name, synchronous }`, so that tests can inspect all of them. */
export const checkpointThreadChannel = channel('svc:log-copier')

/** Milliseconds without passes after a failed pass, and without a new thread after a lost one. */
const AFTER_FAILURE_MS = 5_000
const AFTER_LOSS_MS = 60_000

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js',
  import.meta.url,
)

/** The worker has output streams of its own, which are not read: reading would keep the process alive. The worker prints nothing. */
function startWorker(data: CheckpointWorkerData): Worker {
  return new Worker(SCRIPT, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
    // The environment names the cache of compiled sources: without it, a thread starts later and takes twice the memory.
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
  /** Threads that were told to end and still have their connection. */
  readonly #endingWorkers = new Set<Worker>()
  #isBusy = false
  #requestedAt = Number.NEGATIVE_INFINITY
  #failingUntil = Number.NEGATIVE_INFINITY

  constructor(data: CheckpointWorkerData, now: () => number, ears: CheckpointListener) {
    this.#data = data
    this.#now = now
    this.#listener = ears
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Whether a pass failed a moment ago, so that the caller must do its work. */
  get isFailing(): boolean {
    return this.#now() < this.#failingUntil
  }

  /** Requests a pass, whose outcome goes to the listener; no effect during a pass. */
  requestPass(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#requestedAt = this.#now()
    try {
      this.#worker ??= this.#start()
      this.#send(this.#worker, 'copy')
    } catch (error) {
      // The system has no room for a thread.
      this.#handleLoss(this.#worker, error)
    }
  }

  /** Ends the thread if no pass was requested for `ms`. */
  endIfIdle(ms: number): void {
    if (this.#worker !== null && !this.#isBusy && this.#now() - this.#requestedAt >= ms) this.#endWorker(this.#worker)
  }

  /** Ends the thread after its current pass; null: there is none. No pass may be requested afterwards. */
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
    // Must follow the listeners, because adding them keeps the process alive.
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
