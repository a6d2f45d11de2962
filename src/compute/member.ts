// One thread that computes, as the server sees it: started, given a firing, killed. Inputs and outputs cross in pieces, between which
// other work of the main thread has its turn.
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { DEEPEST_VALUE, LARGEST_VALUE, MeasureSum } from '../engine/measure.ts'
import { Final, NodeError } from '../engine/node-error.ts'
import { Assembly, type Ops, piecesOf } from '../engine/pieces.ts'
import type { ComputeTask } from '../engine/services.ts'
import { Slice } from '../engine/slice.ts'
import { WorkerPriority } from '../thread-priority.ts'
import type { PooledWorker } from '../workers/pool.ts'
import type { ComputeLimits } from './limits.ts'
import type { Excess, FromWorker, ThrownError, ToWorker } from './protocol.ts'

type Values = Record<string, unknown>

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** The call stack of a worker is as large as that of the main thread, or larger. */
const STACK_MB = 8

export class Member implements PooledWorker<ComputeTask, Values> {
  readonly #worker: Worker
  readonly #pieces: MessagePort
  readonly #gone = Promise.withResolvers<void>()
  readonly #failed: (detail: string) => void
  #priority = new WorkerPriority(null)
  #answer: PromiseWithResolvers<Extract<FromWorker, { kind: 'done' }>> | null = null
  #over = false

  /** `failed` is told, for the log, where the thread ends by itself. */
  constructor({ heap_mb }: ComputeLimits, failed: (detail: string) => void, script: URL = SCRIPT) {
    this.#failed = failed
    const { port1, port2 } = new MessageChannel()
    this.#pieces = port1
    this.#worker = new Worker(script, {
      workerData: { pieces: port2 },
      transferList: [port2],
      resourceLimits: { maxOldGenerationSizeMb: heap_mb, stackSizeMb: STACK_MB },
      env: {},
      execArgv: [],
      // Nobody reads them: reading would keep the process alive.
      stdout: true,
      stderr: true,
    })
    this.#worker.on('message', (message: FromWorker) => this.#hear(message))
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.#end(errorOf(error), String(error)))
    this.#worker.once('exit', () => this.#exited())
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

  /** It reads all that it needs when it starts. */
  warm(): void {}

  /** @throws NodeError as ComputeAccess says; the signal's reason */
  async run({ node_type, inputs, owner, signal }: ComputeTask): Promise<Values> {
    signal.throwIfAborted()
    const stop = () => this.#end(signal.reason)
    signal.addEventListener('abort', stop)
    try {
      const slice = new Slice(owner)
      this.#answer = Promise.withResolvers()
      const { promise } = this.#answer
      // Where it is given up while the inputs are still on their way.
      promise.catch(() => {})
      await this.#send(node_type, inputs, slice)
      return await this.#received(await promise, slice)
    } finally {
      this.#answer = null
      this.#priority.end()
      signal.removeEventListener('abort', stop)
    }
  }

  kill(): void {
    this.#end(failure())
  }

  async #send(node_type: string, inputs: Values, slice: Slice): Promise<void> {
    let last: Ops = []
    for (const ops of piecesOf(inputs)) {
      if (last.length > 0) {
        this.#order({ kind: 'piece', ops: last })
        await slice.turn()
      }
      last = ops
    }
    this.#order({ kind: 'run', node_type, ops: last })
    this.#priority.begin()
  }

  #order(message: ToWorker): void {
    if (!this.#over) this.#worker.postMessage(message)
  }

  /** Takes the outputs in as the main thread has time for it. */
  async #received({ ops, excess }: Extract<FromWorker, { kind: 'done' }>, slice: Slice): Promise<Values> {
    const assembly = new Assembly()
    for (;;) {
      await slice.turn()
      const piece = receiveMessageOnPort(this.#pieces) as { message: Ops } | undefined
      if (!piece) break
      assembly.add(piece.message)
    }
    assembly.add(ops)
    const outputs = assembly.value as Values
    for (const one of excess) outputs[one.handle] = standIn(one)
    return outputs
  }

  #hear(message: FromWorker): void {
    if (message.kind === 'ready') {
      this.#priority = new WorkerPriority(message.thread)
      if (this.#answer) this.#priority.begin()
    } else if (message.kind === 'done') this.#answer?.resolve(message)
    else this.#answer?.reject(thrown(message.error))
  }

  #exited(): void {
    this.#end(failure(), 'the thread ended')
    this.#gone.resolve()
  }

  /** `detail` is for the log; without it nothing is wrong. */
  #end(reason: unknown, detail: string | null = null): void {
    if (this.#over) return
    this.#over = true
    if (detail !== null) this.#failed(`a thread that computes failed: ${detail}`)
    this.#answer?.reject(reason)
    this.#pieces.close()
    void this.#worker.terminate()
  }
}

function failure(): NodeError {
  return new NodeError('The thread that ran the node ended.', 'compute_failed')
}

function errorOf(error: NodeJS.ErrnoException): NodeError {
  if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return failure()
  const text = 'The node needs more memory than there is for it. Shorten what goes in, or work on parts of it.'
  return new NodeError(text, 'compute_memory')
}

function thrown({ type, final, message, detail }: ThrownError): Error {
  if (type !== null) return new (final ? Final : NodeError)(message, type, detail === '' ? {} : { cause: detail })
  const error = new Error(message)
  error.stack = detail
  return error
}

/** Stands for a value that is too deep or too large to be sent: whoever measures it finds the same. */
function standIn({ kind, excess }: Excess): unknown {
  const container = kind === 'list' ? [] : {}
  const sum = new MeasureSum()
  const measures = {
    too_deep: { depth: DEEPEST_VALUE, size: 0, memory: 0 },
    too_large: { depth: 0, size: LARGEST_VALUE, memory: 0 },
    too_many_keys: { depth: 0, size: Number.POSITIVE_INFINITY, memory: 0 },
  }
  sum.add(measures[excess], null)
  sum.close(container)
  return container
}
