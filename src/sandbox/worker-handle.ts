// One worker as the sandbox sees it: started, given a call, watched by a clock, killed. What a call makes of it is in call.ts.
import { Worker } from 'node:worker_threads'
import { NodeError } from '../engine/node-api/node-error.ts'
import { WorkerPriority } from '../shared/thread-priority.ts'
import type { IdleWorker } from '../workers/idle-workers.ts'
import { TIME_LIMIT_GRACE_MS, WORKER_HEAP_MB, WORKER_STACK_MB, WORKER_START_MS } from './limits.ts'
import type { FromSandboxWorker, ScriptCallRequest, ToSandboxWorker } from './worker-protocol.ts'

/** What a call hears of the worker that runs it. */
export interface SandboxWorkerListener {
  onMessage(message: Exclude<FromSandboxWorker, { kind: 'ready' }>): void
  /** The worker is gone, or is about to be. */
  onWorkerLost(error: NodeError): void
}

/** Sources run as they are, or compiled. */
const WORKER_SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** Its output streams are its own and nobody reads them: reading would keep the process alive. It prints nothing. */
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
  /** From an order until it waits or rests. */
  #isWorking = false
  #isEnded = false
  #listener: SandboxWorkerListener | null = null
  #time_limit_ms = 0
  #isReady = false
  /** How often the worker was heard: tells whether the clock rang for nothing. */
  #messageCount = 0
  #timer: NodeJS.Timeout | null = null
  /** How often the worker was told of items that were taken. What it said before it knew of the last time is stale. */
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

  /** Tells of items that were taken, so that a waiting worker goes on. */
  acknowledge(items: number, characters: number): void {
    this.#acknowledgedCount++
    this.#post({ kind: 'took', items, characters })
  }

  stop(): void {
    this.#post({ kind: 'stop' })
  }

  /** The call is over: the worker may take another one where it is still fit, and keeps nothing alive while it idles. */
  finishCall(): void {
    this.#listener = null
    this.#becomeIdle()
  }

  /** Ends the worker wherever it is. Resolves when its thread is gone. */
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

  /** It does nothing, and nothing is to stay alive for it. */
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

  /** If this thread was busy, what the worker said in time may still lie in the queue: it is heard before the verdict. */
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
    if (memory) this.#endWithError('code_memory', 'What the code gives needs more memory than there is for it.')
    else this.#endWithError('unavailable', 'The worker that ran the code failed.')
  }

  #endWithError(type: string, message: string): void {
    const listener = this.#listener
    void this.kill()
    listener?.onWorkerLost(new NodeError(message, type))
  }
}
