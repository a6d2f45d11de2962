// Checks the structure of a database in a thread while the server runs, because a large database takes seconds.
import { SHARE_ENV, Worker } from 'node:worker_threads'
import type { DatabaseDamages } from './structure-damage.ts'

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './structure-check-worker.ts' : './structure-check-worker.js',
  import.meta.url,
)

/** The first message of the thread. */
export const WORKER_READY = 'ready'

export interface StructureCheckThreadOptions {
  readonly path: string
  /** Receives the findings. */
  readonly onFound: (damages: DatabaseDamages) => void
  /** Receives the error of a check that could not be made. */
  readonly onFailed: (error: unknown) => void
}

export class StructureCheckThread implements AsyncDisposable {
  readonly #options: StructureCheckThreadOptions
  #worker: Worker | null = null
  #started = false
  /** Resolves when the thread may be ended: ending a thread while it loads a native library ends the process. */
  #loaded: Promise<void> = Promise.resolve()

  constructor(options: StructureCheckThreadOptions) {
    this.#options = options
  }

  /** Starts the check, once; it does not keep the process alive. */
  start(): void {
    if (this.#started) return
    this.#started = true
    try {
      this.#worker = this.#run()
    } catch (error) {
      // The system has no room for a thread.
      this.#options.onFailed(error)
    }
  }

  #run(): Worker {
    const { path, onFound, onFailed } = this.#options
    const worker = new Worker(SCRIPT, {
      workerData: path,
      env: SHARE_ENV,
      execArgv: [],
      stdout: true,
      stderr: true,
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#loaded = promise
    worker.on('message', (message: typeof WORKER_READY | DatabaseDamages) =>
      message === WORKER_READY ? resolve() : onFound(message),
    )
    worker.on('error', onFailed)
    worker.on('exit', () => {
      this.#worker = null
      resolve()
    })
    worker.unref()
    return worker
  }

  /** Ends the check, so that the store has the last connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#started = true
    // The thread does not keep the process alive, which must wait for it now.
    this.#worker?.ref()
    await this.#loaded
    await this.#worker?.terminate()
  }
}
