// One thread that computes, as the server sees it: started, given a firing, killed. Inputs and outputs cross in pieces, between which
// other work of the main thread has its turn.
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { NodeError, NonRetryableError } from '../engine/node-api/node-error.ts'
import type { ComputeTask } from '../engine/node-api/node-services.ts'
import { splitValue, ValueAssembler, type ValueFragment } from '../engine/node-api/values/fragments.ts'
import { MAX_VALUE_DEPTH, MAX_VALUE_SIZE, MeasureSum } from '../engine/node-api/values/measure.ts'
import { TimeSlice } from '../engine/runtime/time-slice.ts'
import { WorkerPriority } from '../shared/thread-priority.ts'
import type { PooledWorker } from '../workers/worker-pool.ts'
import type { ComputeLimits } from './limits.ts'
import type { ComputeError, ExcessOutput, FromComputeWorker, ToComputeWorker } from './worker-protocol.ts'

type Values = Record<string, unknown>

/** Sources run as they are, or compiled. */
const WORKER_SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** The call stack of a worker is as large as that of the main thread, or larger. */
const WORKER_STACK_MB = 8

export class ComputeWorker implements PooledWorker<ComputeTask, Values> {
  readonly #worker: Worker
  readonly #fragmentPort: MessagePort
  readonly #whenExited = Promise.withResolvers<void>()
  readonly #reportFailure: (detail: string) => void
  #priority = new WorkerPriority(null)
  #pendingResult: PromiseWithResolvers<Extract<FromComputeWorker, { kind: 'done' }>> | null = null
  #isEnded = false

  /** `failed` is told, for the log, where the thread ends by itself. */
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
      // Nobody reads them: reading would keep the process alive.
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

  /** It reads all that it needs when it starts. */
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
      // Where it is given up while the inputs are still on their way.
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

  /** Takes the outputs in as the main thread has time for it. */
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

  /** `detail` is for the log; without it nothing is wrong. */
  #end(reason: unknown, detail: string | null = null): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (detail !== null) this.#reportFailure(`a thread that computes failed: ${detail}`)
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
  const text = 'The node needs more memory than there is for it. Shorten what goes in, or work on parts of it.'
  return new NodeError(text, 'compute_memory')
}

function toThrownError({ type, final, message, detail }: ComputeError): Error {
  if (type !== null)
    return new (final ? NonRetryableError : NodeError)(message, type, detail === '' ? {} : { cause: detail })
  const error = new Error(message)
  error.stack = detail
  return error
}

/** Stands for a value that is too deep or too large to be sent: whoever measures it finds the same. */
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
