// The main thread's handle of one compute thread: starts it, runs firings on it, kills it. Inputs and outputs cross in pieces; between
// pieces, other work of the main thread has its turn.
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { NodeError, NonRetryableError } from '../engine/node-api/node-error.ts'
import type { ComputeTask } from '../engine/node-api/services/compute.ts'
import { splitValue, ValueAssembler, type ValueFragment } from '../engine/node-api/values/fragments.ts'
import { MAX_VALUE_DEPTH, MeasureSum } from '../engine/node-api/values/measure.ts'
import { MAX_VALUE_SIZE } from '../engine/node-api/values/value-excess.ts'
import { TimeSlice } from '../engine/runtime/time-slice.ts'
import { WorkerPriority } from '../shared/thread-priority.ts'
import type { PooledWorker } from '../workers/worker-pool.ts'
import type { ComputeLimits } from './limits.ts'
import type { ComputeError, ExcessOutput, FromComputeWorker, ToComputeWorker } from './worker-protocol.ts'

type Values = Record<string, unknown>

/** The sources run both as TypeScript and compiled. */
const WORKER_SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** The worker's call stack must be at least as large as that of the main thread. */
const WORKER_STACK_MB = 8

export class ComputeWorker implements PooledWorker<ComputeTask, Values> {
  readonly #worker: Worker
  readonly #fragmentPort: MessagePort
  readonly #whenExited = Promise.withResolvers<void>()
  readonly #reportFailure: (detail: string) => void
  #priority = new WorkerPriority(null)
  #pendingResult: PromiseWithResolvers<Extract<FromComputeWorker, { kind: 'done' }>> | null = null
  #isEnded = false

  /** `failed` is called, for the log, when the thread ends unexpectedly. */
  constructor({ heap_mb }: ComputeLimits, failed: (detail: string) => void, script: URL = WORKER_SCRIPT) {
    this.#reportFailure = failed
    const { port1, port2 } = new MessageChannel()
    this.#fragmentPort = port1
    this.#worker = new Worker(script, {
      workerData: { pieces: port2 },
      transferList: [port2],
      resourceLimits: { maxOldGenerationSizeMb: heap_mb, stackSizeMb: WORKER_STACK_MB },
      env: {},
      execArgv: [],
      // These streams are not read: reading them would keep the process alive.
      stdout: true,
      stderr: true,
    })
    this.#worker.on('message', (message: FromComputeWorker) => this.#receive(message))
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.#end(toNodeError(error), String(error)))
    this.#worker.once('exit', () => this.#onExit())
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

  /** The worker loads everything when it starts. */
  preload(): void {}

  /** @throws NodeError as ComputeAccess says; the signal's reason */
  async run({ node_type, inputs, owner, signal }: ComputeTask): Promise<Values> {
    signal.throwIfAborted()
    const stop = () => this.#end(signal.reason)
    signal.addEventListener('abort', stop)
    try {
      const slice = new TimeSlice(owner)
      this.#pendingResult = Promise.withResolvers()
      const { promise } = this.#pendingResult
      // Prevents an unhandled rejection when the firing is aborted while its inputs are still being sent.
      promise.catch(() => {})
      await this.#sendInputs(node_type, inputs, slice)
      return await this.#receiveOutputs(await promise, slice)
    } finally {
      this.#pendingResult = null
      this.#priority.end()
      signal.removeEventListener('abort', stop)
    }
  }

  kill(): void {
    this.#end(createWorkerEndedError())
  }

  async #sendInputs(node_type: string, inputs: Values, slice: TimeSlice): Promise<void> {
    let last: ValueFragment = []
    for (const ops of splitValue(inputs)) {
      if (last.length > 0) {
        this.#post({ kind: 'piece', ops: last })
        await slice.waitForTurn()
      }
      last = ops
    }
    this.#post({ kind: 'run', node_type, ops: last })
    this.#priority.begin()
  }

  #post(message: ToComputeWorker): void {
    if (!this.#isEnded) this.#worker.postMessage(message)
  }

  /** Reads the outputs whenever the main thread has time for them. */
  async #receiveOutputs(
    { ops, excess }: Extract<FromComputeWorker, { kind: 'done' }>,
    slice: TimeSlice,
  ): Promise<Values> {
    const assembly = new ValueAssembler()
    for (;;) {
      await slice.waitForTurn()
      const piece = receiveMessageOnPort(this.#fragmentPort) as { message: ValueFragment } | undefined
      if (!piece) break
      assembly.add(piece.message)
    }
    assembly.add(ops)
    const outputs = assembly.value as Values
    for (const one of excess) outputs[one.handle] = createExcessStandIn(one)
    return outputs
  }

  #receive(message: FromComputeWorker): void {
    if (message.kind === 'ready') {
      this.#priority = new WorkerPriority(message.thread)
      if (this.#pendingResult) this.#priority.begin()
    } else if (message.kind === 'done') this.#pendingResult?.resolve(message)
    else this.#pendingResult?.reject(toThrownError(message.error))
  }

  #onExit(): void {
    this.#end(createWorkerEndedError(), 'the thread ended')
    this.#whenExited.resolve()
  }

  /** `detail` is for the log; null: the end is expected. */
  #end(reason: unknown, detail: string | null = null): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (detail !== null) this.#reportFailure(`compute thread failed: ${detail}`)
    this.#pendingResult?.reject(reason)
    this.#fragmentPort.close()
    void this.#worker.terminate()
  }
}

function createWorkerEndedError(): NodeError {
  return new NodeError('The thread that ran the node ended.', 'compute_failed')
}

function toNodeError(error: NodeJS.ErrnoException): NodeError {
  if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return createWorkerEndedError()
  const text = 'The node exceeds its memory limit. Shorten its inputs, or process them in parts.'
  return new NodeError(text, 'compute_memory')
}

function toThrownError({ type, final, message, detail }: ComputeError): Error {
  if (type !== null)
    return new (final ? NonRetryableError : NodeError)(message, type, detail === '' ? {} : { cause: detail })
  const error = new Error(message)
  error.stack = detail
  return error
}

/** Replaces a value that was too deep or too large to be sent. Measuring the stand-in finds the same excess. */
function createExcessStandIn({ kind, excess }: ExcessOutput): unknown {
  const container = kind === 'list' ? [] : {}
  const sum = new MeasureSum()
  const measures = {
    too_deep: { depth: MAX_VALUE_DEPTH, size: 0, memory: 0 },
    too_large: { depth: 0, size: MAX_VALUE_SIZE, memory: 0 },
    too_many_keys: { depth: 0, size: Number.POSITIVE_INFINITY, memory: 0 },
  }
  sum.add(measures[excess], null)
  sum.close(container)
  return container
}
