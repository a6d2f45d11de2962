// One worker as the sandbox sees it: started, given a call, watched by a clock, killed. What a call makes of it is in call.ts.
import { Worker } from 'node:worker_threads'
import { NodeError } from '../engine/node-error.ts'
import { WorkerPriority } from '../thread-priority.ts'
import type { IdleWorker } from '../workers/idle.ts'
import { GRACE_MS, START_MS, WORKER_HEAP_MB, WORKER_STACK_MB } from './limits.ts'
import type { CallRequest, FromWorker, ToWorker } from './protocol.ts'

/** What a call hears of the worker that runs it. */
export interface Listener {
  heard(message: Exclude<FromWorker, { kind: 'ready' }>): void
  /** The worker is gone, or is about to be. */
  lost(error: NodeError): void
}

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** Its output streams are its own and nobody reads them: reading would keep the process alive. It prints nothing. */
function start(engine: WebAssembly.Module): Worker {
  return new Worker(SCRIPT, {
    workerData: engine,
    resourceLimits: { stackSizeMb: WORKER_STACK_MB, maxOldGenerationSizeMb: WORKER_HEAP_MB },
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  })
}

export class Member implements IdleWorker {
  readonly #worker: Worker
  readonly #gone = Promise.withResolvers<void>()
  #priority = new WorkerPriority(null)
  /** From an order until it waits or rests. */
  #working = false
  #over = false
  #listener: Listener | null = null
  #time_limit_ms = 0
  #ready = false
  /** How often the worker was heard: tells whether the clock rang for nothing. */
  #heard = 0
  #timer: NodeJS.Timeout | null = null
  /** How often the worker was told of items that were taken. What it said before it knew of the last time is stale. */
  #told = 0

  constructor(engine: WebAssembly.Module) {
    this.#worker = start(engine)
    this.#worker.on('message', (message: FromWorker) => this.#hear(message))
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.#fail(error))
    this.#worker.on('exit', () => this.#exited())
  }

  get fit(): boolean {
    return !this.#over && !this.#priority.spent
  }

  get gone(): Promise<void> {
    return this.#gone.promise
  }

  hold(held: boolean): void {
    if (held) this.#worker.ref()
    else this.#worker.unref()
  }

  begin(request: CallRequest, listener: Listener): void {
    this.#listener = listener
    this.#time_limit_ms = request.time_limit_ms
    this.#told = 0
    this.#order(request)
  }

  /** Tells of items that were taken, so that a waiting worker goes on. */
  took(items: number, characters: number): void {
    this.#told++
    this.#order({ kind: 'took', items, characters })
  }

  stop(): void {
    this.#order({ kind: 'stop' })
  }

  /** The call is over: the worker may take another one where it is still fit, and keeps nothing alive while it idles. */
  rest(): void {
    this.#listener = null
    this.#idle()
  }

  /** Ends the worker wherever it is. Resolves when its thread is gone. */
  kill(): Promise<void> {
    this.#unwatch()
    this.#listener = null
    if (!this.#over) this.#priority.end()
    this.#over = true
    void this.#worker.terminate()
    return this.#gone.promise
  }

  #order(message: ToWorker): void {
    this.hold(true)
    this.#worker.postMessage(message)
    if (!this.#working) this.#priority.begin()
    this.#working = true
    this.#watch()
  }

  /** It does nothing, and nothing is to stay alive for it. */
  #idle(): void {
    this.#unwatch()
    this.#working = false
    this.#priority.end()
    this.hold(false)
  }

  #hear(message: FromWorker): void {
    if (this.#over) return
    if (message.kind === 'waiting' && message.told !== this.#told) return
    this.#heard++
    if (message.kind === 'ready') this.#begun(message.thread)
    if (message.kind === 'waiting') this.#idle()
    else if (message.kind === 'ready' || message.kind === 'item') this.#watch()
    else if (message.kind === 'end' || message.kind === 'fault') this.#unwatch()
    if (message.kind !== 'ready') this.#listener?.heard(message)
  }

  #begun(thread: number | null): void {
    this.#ready = true
    this.#priority = new WorkerPriority(thread)
    if (this.#working) this.#priority.begin()
  }

  #watch(): void {
    if (!this.#listener) return
    this.#unwatch()
    const limit = this.#ready ? this.#time_limit_ms + GRACE_MS : START_MS
    this.#timer = setTimeout(() => this.#ring(this.#heard), limit)
  }

  #unwatch(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** If this thread was busy, what the worker said in time may still lie in the queue: it is heard before the verdict. */
  #ring(heard: number): void {
    setImmediate(() => {
      if (this.#heard !== heard || !this.#timer) return
      const limit = this.#time_limit_ms.toLocaleString('en')
      if (!this.#ready) this.#lose('unavailable', 'The worker for the code did not start in time.')
      else this.#lose('code_timeout', `The code ran longer than ${limit} ms in one step that nothing could interrupt.`)
    })
  }

  #exited(): void {
    this.#lose('unavailable', 'The worker that ran the code ended.')
    this.#gone.resolve()
  }

  #fail(error: NodeJS.ErrnoException): void {
    const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    if (memory) this.#lose('code_memory', 'What the code gives needs more memory than there is for it.')
    else this.#lose('unavailable', 'The worker that ran the code failed.')
  }

  #lose(type: string, message: string): void {
    const listener = this.#listener
    void this.kill()
    listener?.lost(new NodeError(message, type))
  }
}
