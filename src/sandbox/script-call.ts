// One call of code, as seen from outside: waits for a worker, receives its messages, and delivers results. A stream whose worker pauses has
// no permit until it resumes. A call settles once; later messages of the worker are ignored.
import { NodeError } from '../engine/node-api/node-error.ts'
import type { SandboxScript } from '../engine/node-api/services/sandbox.ts'
import { runToCompletion, type Steps } from '../shared/time-slices.ts'
import { isSmallValue } from '../shared/value-size.ts'
import { decodeOutputs, encodeInputs, encodeInputsSteps } from './json-values.ts'
import {
  LARGEST_MEMORY_LIMIT_MB,
  LONGEST_CODE,
  LONGEST_TIME_LIMIT_MS,
  MAX_ITEMS_AHEAD,
  MAX_LOG_LINES,
} from './limits.ts'
import type { SandboxWorkerListener } from './worker-handle.ts'
import type { SandboxWorkerPool, WorkerLease } from './worker-pool.ts'
import type { FromSandboxWorker, ScriptCallRequest } from './worker-protocol.ts'

type OutputRecord = Record<string, unknown>
type LogLine = FromSandboxWorker & { kind: 'log' }
type CallEnding = { readonly json: string | null } | { readonly error: unknown }

interface PendingNext {
  resolve(result: IteratorResult<OutputRecord, OutputRecord>): void
  reject(error: unknown): void
}

const BUSY_MESSAGE =
  'Too many streaming code nodes wait for their consumers at the same time. Run fewer of them side by side, or give them ' +
  'less memory_limit_mb.'

/** The owner of code without an owner. */
const NO_OWNER = ''

/** After this many items the worker is told that they were consumed, even if more are ready. */
const ACKNOWLEDGE_AFTER = MAX_ITEMS_AHEAD / 2

/** Encodes the inputs; large ones in the time slices of the run. @throws NodeError */
function encodeScriptInputs({ inputs, inSlices }: SandboxScript): string | Promise<string> {
  return inSlices && !isSmallValue(inputs) ? inSlices(encodeInputsSteps(inputs)) : encodeInputs(inputs)
}

function createCallRequest(script: SandboxScript, inputs: string, streams: boolean): ScriptCallRequest {
  const { code, seed, syntax_only = false } = script
  if (code.length > LONGEST_CODE) {
    throw new NodeError(`The code has more than ${LONGEST_CODE.toLocaleString('en')} characters.`, 'too_large')
  }
  const time_limit_ms = Math.min(script.time_limit_ms, LONGEST_TIME_LIMIT_MS)
  const memory_limit_mb = Math.min(script.memory_limit_mb, LARGEST_MEMORY_LIMIT_MB)
  return { kind: 'call', code, syntax_only, inputs, seed, time_limit_ms, memory_limit_mb, streams }
}

export class ScriptCall implements SandboxWorkerListener {
  readonly #script: SandboxScript
  readonly #pool: SandboxWorkerPool
  readonly #abort = () => this.fail(this.#script.signal.reason)
  #lease: WorkerLease | null = null
  #lines = 0
  /** Lines that are not logged yet. Each is searched for secrets, so thousands of lines take long. */
  #unloggedLines: LogLine[] = []
  #isLogging = false
  /** JSON of items that are not delivered yet, and counts of delivered items that the worker was not told of. */
  #items: string[] = []
  #unacknowledged = { items: 0, characters: 0 }
  /** The worker pauses and holds no permit. */
  #isPaused = false
  /** A permit to continue was requested. */
  #isResuming = false
  #ending: CallEnding | null = null
  /** Whether the worker may take another call; null before the worker has reported the end. */
  #isWorkerHealthy: boolean | null = null
  readonly #pendingNexts: PendingNext[] = []

  constructor(script: SandboxScript, pool: SandboxWorkerPool) {
    this.#script = script
    this.#pool = pool
  }

  async start(streams: boolean): Promise<void> {
    const { signal } = this.#script
    try {
      signal.throwIfAborted()
      const inputs = encodeScriptInputs(this.#script)
      const request = createCallRequest(this.#script, typeof inputs === 'string' ? inputs : await inputs, streams)
      if (this.#ending) return
      const { owner = NO_OWNER, run } = this.#script
      const lease = await this.#pool.lease({ owner, run, memory_limit_mb: request.memory_limit_mb, signal })
      if (this.#ending) return this.#pool.returnLease(lease, true)
      this.#lease = lease
      signal.addEventListener('abort', this.#abort, { once: true })
      lease.worker.begin(request, this)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Returns the next item, or the result at the end. */
  next(): Promise<IteratorResult<OutputRecord, OutputRecord>> {
    return new Promise((resolve, reject) => {
      this.#pendingNexts.push({ resolve, reject })
      this.#deliver()
    })
  }

  /** Ends the stream, whose rest is not wanted. */
  cancel(): void {
    this.#items = []
    this.#unloggedLines = []
    if (this.#ending) return
    const lease = this.#lease
    this.#settle({ json: null })
    if (!lease || !this.#isPaused) return this.#returnWorker(false)
    // A paused worker is stopped and reused instead of killed.
    lease.worker.stop()
  }

  fail(error: unknown): void {
    if (this.#isOver) return
    this.#items = []
    this.#unloggedLines = []
    this.#ending = null
    this.#settle({ error })
    this.#returnWorker(false)
  }

  /** Whether the call has ended and all of its lines are logged. */
  get #isOver(): boolean {
    return this.#ending !== null && this.#unloggedLines.length === 0
  }

  onWorkerLost(error: NodeError): void {
    this.#settle({ error })
    this.#returnWorker(false)
  }

  onMessage(message: Exclude<FromSandboxWorker, { kind: 'ready' }>): void {
    if (message.kind === 'end') this.#end({ json: message.json }, message.spent)
    else if (message.kind === 'fault')
      this.#end({ error: new NodeError(String(message.message), message.type) }, message.spent)
    else if (this.#ending) return
    else if (message.kind === 'log') this.#addLine(message)
    else {
      if (message.kind === 'item') this.#items.push(message.json)
      else this.#pause(this.#lease!)
      this.#deliver()
    }
  }

  #pause(lease: WorkerLease): void {
    if (this.#items.length === 0 && !this.#pool.hasOtherWaiters(lease)) this.#acknowledge()
    else if (this.#pool.holdStream(lease)) this.#isPaused = true
    else this.fail(new NodeError(BUSY_MESSAGE, 'code_busy'))
  }

  #addLine(line: LogLine): void {
    if (++this.#lines > MAX_LOG_LINES + 1) return
    this.#unloggedLines.push(line)
    if (!this.#isLogging) void this.#logLines()
  }

  /** Logs the lines in order, in the time slices of the run. */
  async #logLines(): Promise<void> {
    const { inSlices = async (steps) => runToCompletion(steps) } = this.#script
    this.#isLogging = true
    try {
      while (this.#unloggedLines.length > 0) await inSlices(this.#logSteps())
    } catch (error) {
      this.fail(error)
    }
    this.#isLogging = false
    this.#deliver()
  }

  *#logSteps(): Steps<void> {
    for (let line = this.#unloggedLines[0]; line; line = this.#unloggedLines[0]) {
      this.#script.log(line.severity, line.content)
      this.#unloggedLines.shift()
      yield
    }
  }

  /** The worker is returned only after its lines are logged, which limits the number of waiting lines. */
  #end(ending: CallEnding, spent: boolean): void {
    this.#isWorkerHealthy = !spent
    this.#settle(ending)
  }

  #settle(ending: CallEnding): void {
    this.#ending ??= ending
    this.#deliver()
  }

  #returnWorker(healthy: boolean): void {
    const lease = this.#lease
    this.#lease = null
    if (lease) this.#pool.returnLease(lease, healthy)
  }

  #finish(): void {
    this.#script.signal.removeEventListener('abort', this.#abort)
    if (this.#isWorkerHealthy !== null) this.#returnWorker(this.#isWorkerHealthy)
  }

  /** Delivers items and the ending to callers of `next`, in their order. */
  #deliver(): void {
    if (this.#unloggedLines.length > 0) return
    if (this.#ending) this.#finish()
    while (this.#pendingNexts.length > 0 && (this.#items.length > 0 || this.#ending))
      this.#deliverOne(this.#pendingNexts.shift()!)
    if (this.#ending || !this.#lease) return
    const many = this.#unacknowledged.items >= ACKNOWLEDGE_AFTER
    if (this.#isPaused && (many || this.#items.length === 0)) this.#resume()
    // A worker that is not told pauses soon, and its permit becomes free.
    else if (!this.#isPaused && many && !this.#pool.hasOtherWaiters(this.#lease)) this.#acknowledge()
  }

  #resume(): void {
    if (this.#isResuming) return
    this.#isResuming = true
    this.#pool.resume(this.#lease!, () => {
      this.#isResuming = false
      if (this.#ending) return
      this.#isPaused = false
      this.#acknowledge()
    })
  }

  #deliverOne(asking: PendingNext): void {
    const { resolve, reject } = asking
    try {
      const json = this.#items.shift()
      if (json !== undefined) {
        this.#unacknowledged.items++
        this.#unacknowledged.characters += json.length
        return this.#deliverJson(asking, json, false)
      }
      const ending = this.#ending!
      if ('error' in ending) {
        this.#ending = { json: null }
        return reject(ending.error)
      }
      this.#ending = { json: null }
      if (ending.json === null) resolve({ done: true, value: {} })
      else this.#deliverJson(asking, ending.json, true)
    } catch (error) {
      reject(error)
    }
  }

  #deliverJson({ resolve, reject }: PendingNext, json: string, done: boolean): void {
    const value = decodeOutputs(json, this.#script.inSlices)
    if (value instanceof Promise) value.then((read) => resolve({ done, value: read }), reject)
    else resolve({ done, value })
  }

  #acknowledge(): void {
    const { items, characters } = this.#unacknowledged
    this.#unacknowledged = { items: 0, characters: 0 }
    this.#lease!.worker.acknowledge(items, characters)
  }
}
