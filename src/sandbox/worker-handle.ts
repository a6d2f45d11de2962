// The main thread's handle of one worker: starts it, gives it a call, watches its time limit, kills it. script-call.ts handles its
// messages.
import { Worker } from 'node:worker_threads'
import { NodeError } from '../engine/node-api/node-error.ts'
import { WorkerPriority } from '../shared/thread-priority.ts'
import type { IdleWorker } from '../workers/idle-workers.ts'
import { TIME_LIMIT_GRACE_MS, WORKER_HEAP_MB, WORKER_STACK_MB, WORKER_START_MS } from './limits.ts'
import type { FromSandboxWorker, ScriptCallRequest, ToSandboxWorker } from './worker-protocol.ts'

/** Receives the messages of the worker that runs a call. */
export interface SandboxWorkerListener {
  onMessage(message: Exclude<FromSandboxWorker, { kind: 'ready' }>): void
  /** The worker has ended, or is about to end. */
  onWorkerLost(error: NodeError): void
}

/** The sources run both as TypeScript and compiled. */
const WORKER_SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** The worker's output streams are separate and not read: reading would keep the process alive. It prints nothing. */
function startWorker(engine: WebAssembly.Module): Worker {
  return new Worker(WORKER_SCRIPT, {
    workerData: engine,
    resourceLimits: { stackSizeMb: WORKER_STACK_MB, maxOldGenerationSizeMb: WORKER_HEAP_MB },
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  })
}

export class SandboxWorker implements IdleWorker {
  readonly #worker: Worker
  readonly #whenExited = Promise.withResolvers<void>()
  #priority = new WorkerPriority(null)
  /** True from a message to the worker until it waits or is idle. */
  #isWorking = false
  #isEnded = false
  #listener: SandboxWorkerListener | null = null
  #time_limit_ms = 0
  #isReady = false
  /** The number of received messages: shows whether one arrived before the timer's callback ran. */
  #messageCount = 0
  #timer: NodeJS.Timeout | null = null
  /** How often the worker was told of consumed items. Its `waiting` messages from before the last time are stale. */
  #acknowledgedCount = 0

  constructor(engine: WebAssembly.Module) {
    this.#worker = startWorker(engine)
    this.#worker.on('message', (message: FromSandboxWorker) => this.#receive(message))
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.#onError(error))
    this.#worker.on('exit', () => this.#onExit())
  }

  get isReusable(): boolean {
    return !this.#isEnded && !this.#priority.isStuckAtLow
  }

  get whenExited(): Promise<void> {
    return this.#whenExited.promise
  }

  setKeepAlive(held: boolean): void {
    if (held) this.#worker.ref()
    else this.#worker.unref()
  }

  begin(request: ScriptCallRequest, listener: SandboxWorkerListener): void {
    this.#listener = listener
    this.#time_limit_ms = request.time_limit_ms
    this.#acknowledgedCount = 0
    this.#post(request)
  }

  /** Reports consumed items, so that a waiting worker continues. */
  acknowledge(items: number, characters: number): void {
    this.#acknowledgedCount++
    this.#post({ kind: 'took', items, characters })
  }

  stop(): void {
    this.#post({ kind: 'stop' })
  }

  /** Ends the call: the worker may take another one if it is reusable, and does not keep the process alive. */
  finishCall(): void {
    this.#listener = null
    this.#becomeIdle()
  }

  /** Ends the worker in any state. Resolves when its thread has ended. */
  kill(): Promise<void> {
    this.#stopTimer()
    this.#listener = null
    if (!this.#isEnded) this.#priority.end()
    this.#isEnded = true
    void this.#worker.terminate()
    return this.#whenExited.promise
  }

  #post(message: ToSandboxWorker): void {
    this.setKeepAlive(true)
    this.#worker.postMessage(message)
    if (!this.#isWorking) this.#priority.begin()
    this.#isWorking = true
    this.#startTimer()
  }

  /** Marks the worker as idle: it no longer keeps the process alive. */
  #becomeIdle(): void {
    this.#stopTimer()
    this.#isWorking = false
    this.#priority.end()
    this.setKeepAlive(false)
  }

  #receive(message: FromSandboxWorker): void {
    if (this.#isEnded) return
    if (message.kind === 'waiting' && message.told !== this.#acknowledgedCount) return
    this.#messageCount++
    if (message.kind === 'ready') this.#onReady(message.thread)
    if (message.kind === 'waiting') this.#becomeIdle()
    else if (message.kind === 'ready' || message.kind === 'item') this.#startTimer()
    else if (message.kind === 'end' || message.kind === 'fault') this.#stopTimer()
    if (message.kind !== 'ready') this.#listener?.onMessage(message)
  }

  #onReady(thread: number | null): void {
    this.#isReady = true
    this.#priority = new WorkerPriority(thread)
    if (this.#isWorking) this.#priority.begin()
  }

  #startTimer(): void {
    if (!this.#listener) return
    this.#stopTimer()
    const limit = this.#isReady ? this.#time_limit_ms + TIME_LIMIT_GRACE_MS : WORKER_START_MS
    this.#timer = setTimeout(() => this.#timeOut(this.#messageCount), limit)
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** If this thread was busy, timely messages of the worker may still be queued: they are processed first. */
  #timeOut(heard: number): void {
    setImmediate(() => {
      if (this.#messageCount !== heard || !this.#timer) return
      const limit = this.#time_limit_ms.toLocaleString('en')
      if (!this.#isReady) this.#endWithError('unavailable', 'The worker for the code did not start in time.')
      else
        this.#endWithError(
          'code_timeout',
          `The code ran longer than ${limit} ms in one step that nothing could interrupt.`,
        )
    })
  }

  #onExit(): void {
    this.#endWithError('unavailable', 'The worker that ran the code ended.')
    this.#whenExited.resolve()
  }

  #onError(error: NodeJS.ErrnoException): void {
    const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    if (memory)
      this.#endWithError(
        'code_memory',
        'The result of the code exceeds the memory of its worker. Return less at a time.',
      )
    else this.#endWithError('unavailable', 'The worker that ran the code failed.')
  }

  #endWithError(type: string, message: string): void {
    const listener = this.#listener
    void this.kill()
    listener?.onWorkerLost(new NodeError(message, type))
  }
}
