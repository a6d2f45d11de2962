// One call from outside: waits for a worker, takes in what it says, and hands results to whoever asks. A stream whose worker
// pauses has no place to run until it gets one again. A call settles once; what a worker says later is not heard.
import { NodeError } from '../engine/node-error.ts'
import type { Script } from '../engine/services.ts'
import { isLight } from '../light-parts.ts'
import { finish, type Steps } from '../time-slices.ts'
import { inputsJson, inputsJsonSteps, outputsOf } from './json.ts'
import { AHEAD_ITEMS, LARGEST_MEMORY_LIMIT_MB, LONGEST_CODE, LONGEST_TIME_LIMIT_MS, MOST_LINES } from './limits.ts'
import type { Listener } from './member.ts'
import type { Lease, Pool } from './pool.ts'
import type { CallRequest, FromWorker } from './protocol.ts'

type Record_ = Record<string, unknown>
type Line = FromWorker & { kind: 'log' }
type Ending = { readonly json: string | null } | { readonly error: unknown }

interface Asking {
  resolve(result: IteratorResult<Record_, Record_>): void
  reject(error: unknown): void
}

const BUSY =
  'Too many streaming code nodes wait for their consumers at the same time. Run fewer of them side by side, or give them ' +
  'less memory_limit_mb.'

/** Of code that is nobody's in particular. */
const NOBODY = ''

/** After this many items the worker is told that they were taken, even if more lie ready. */
const TELL_AFTER = AHEAD_ITEMS / 2

/** Large inputs are written in the turns of the run. @throws NodeError */
function inputsOf({ inputs, inSlices }: Script): string | Promise<string> {
  return inSlices && !isLight(inputs) ? inSlices(inputsJsonSteps(inputs)) : inputsJson(inputs)
}

function requestOf(script: Script, inputs: string, streams: boolean): CallRequest {
  const { code, seed, syntax_only = false } = script
  if (code.length > LONGEST_CODE) {
    throw new NodeError(`The code has more than ${LONGEST_CODE.toLocaleString('en')} characters.`, 'too_large')
  }
  const time_limit_ms = Math.min(script.time_limit_ms, LONGEST_TIME_LIMIT_MS)
  const memory_limit_mb = Math.min(script.memory_limit_mb, LARGEST_MEMORY_LIMIT_MB)
  return { kind: 'call', code, syntax_only, inputs, seed, time_limit_ms, memory_limit_mb, streams }
}

export class Call implements Listener {
  readonly #script: Script
  readonly #pool: Pool
  readonly #abort = () => this.fail(this.#script.signal.reason)
  #lease: Lease | null = null
  #lines = 0
  /** Lines that are not in the log yet. Secrets are looked for in each, so that thousands of lines take long. */
  #unlogged: Line[] = []
  #isLogging = false
  /** JSON of items that nobody has asked for yet, and what was taken without the worker being told. */
  #items: string[] = []
  #taken = { items: 0, characters: 0 }
  /** The worker pauses, and has no place. */
  #waiting = false
  /** It has asked for a place to go on. */
  #resuming = false
  #ending: Ending | null = null
  /** Whether the worker may take another call, once it has said that this one is over. */
  #healthy: boolean | null = null
  readonly #asking: Asking[] = []

  constructor(script: Script, pool: Pool) {
    this.#script = script
    this.#pool = pool
  }

  async start(streams: boolean): Promise<void> {
    const { signal } = this.#script
    try {
      signal.throwIfAborted()
      const inputs = inputsOf(this.#script)
      const request = requestOf(this.#script, typeof inputs === 'string' ? inputs : await inputs, streams)
      if (this.#ending) return
      const { owner = NOBODY, run } = this.#script
      const lease = await this.#pool.take({ owner, run, memory_limit_mb: request.memory_limit_mb, signal })
      if (this.#ending) return this.#pool.give(lease, true)
      this.#lease = lease
      signal.addEventListener('abort', this.#abort, { once: true })
      lease.member.begin(request, this)
    } catch (error) {
      this.fail(error)
    }
  }

  /** The next item, or at the end the result. */
  next(): Promise<IteratorResult<Record_, Record_>> {
    return new Promise((resolve, reject) => {
      this.#asking.push({ resolve, reject })
      this.#answer()
    })
  }

  /** Nobody wants the rest. */
  leave(): void {
    this.#items = []
    this.#unlogged = []
    if (this.#ending) return
    const lease = this.#lease
    this.#settle({ json: null })
    if (!lease || !this.#waiting) return this.#giveBack(false)
    // It does nothing at the moment, so it can be tidied up instead of being killed.
    lease.member.stop()
  }

  fail(error: unknown): void {
    if (this.#isOver) return
    this.#items = []
    this.#unlogged = []
    this.#ending = null
    this.#settle({ error })
    this.#giveBack(false)
  }

  /** It has ended, and all of its lines are in the log. */
  get #isOver(): boolean {
    return this.#ending !== null && this.#unlogged.length === 0
  }

  lost(error: NodeError): void {
    this.#settle({ error })
    this.#giveBack(false)
  }

  heard(message: Exclude<FromWorker, { kind: 'ready' }>): void {
    if (message.kind === 'end') this.#end({ json: message.json }, message.spent)
    else if (message.kind === 'fault')
      this.#end({ error: new NodeError(String(message.message), message.type) }, message.spent)
    else if (this.#ending) return
    else if (message.kind === 'log') this.#log(message)
    else {
      if (message.kind === 'item') this.#items.push(message.json)
      else this.#pause(this.#lease!)
      this.#answer()
    }
  }

  #pause(lease: Lease): void {
    if (this.#items.length === 0 && !this.#pool.isWanted(lease)) this.#tell()
    else if (this.#pool.hold(lease)) this.#waiting = true
    else this.fail(new NodeError(BUSY, 'code_busy'))
  }

  #log(line: Line): void {
    if (++this.#lines > MOST_LINES + 1) return
    this.#unlogged.push(line)
    if (!this.#isLogging) void this.#logAll()
  }

  /** Logs the lines in the turns of the run, in their order. */
  async #logAll(): Promise<void> {
    const { inSlices = async (steps) => finish(steps) } = this.#script
    this.#isLogging = true
    try {
      while (this.#unlogged.length > 0) await inSlices(this.#logSteps())
    } catch (error) {
      this.fail(error)
    }
    this.#isLogging = false
    this.#answer()
  }

  *#logSteps(): Steps<void> {
    for (let line = this.#unlogged[0]; line; line = this.#unlogged[0]) {
      this.#script.log(line.severity, line.content)
      this.#unlogged.shift()
      yield
    }
  }

  /** The worker is given back when its lines are in the log, so that no more lines wait than the workers have said. */
  #end(ending: Ending, spent: boolean): void {
    this.#healthy = !spent
    this.#settle(ending)
  }

  #settle(ending: Ending): void {
    this.#ending ??= ending
    this.#answer()
  }

  #giveBack(healthy: boolean): void {
    const lease = this.#lease
    this.#lease = null
    if (lease) this.#pool.give(lease, healthy)
  }

  #finish(): void {
    this.#script.signal.removeEventListener('abort', this.#abort)
    if (this.#healthy !== null) this.#giveBack(this.#healthy)
  }

  /** Hands out what there is to those who ask, in their order. */
  #answer(): void {
    if (this.#unlogged.length > 0) return
    if (this.#ending) this.#finish()
    while (this.#asking.length > 0 && (this.#items.length > 0 || this.#ending)) this.#answerOne(this.#asking.shift()!)
    if (this.#ending || !this.#lease) return
    const many = this.#taken.items >= TELL_AFTER
    if (this.#waiting && (many || this.#items.length === 0)) this.#resume()
    // What it isn't told makes it pause soon, and then it gives its place up.
    else if (!this.#waiting && many && !this.#pool.isWanted(this.#lease)) this.#tell()
  }

  #resume(): void {
    if (this.#resuming) return
    this.#resuming = true
    this.#pool.resume(this.#lease!, () => {
      this.#resuming = false
      if (this.#ending) return
      this.#waiting = false
      this.#tell()
    })
  }

  #answerOne(asking: Asking): void {
    const { resolve, reject } = asking
    try {
      const json = this.#items.shift()
      if (json !== undefined) {
        this.#taken.items++
        this.#taken.characters += json.length
        return this.#give(asking, json, false)
      }
      const ending = this.#ending!
      if ('error' in ending) {
        this.#ending = { json: null }
        return reject(ending.error)
      }
      this.#ending = { json: null }
      if (ending.json === null) resolve({ done: true, value: {} })
      else this.#give(asking, ending.json, true)
    } catch (error) {
      reject(error)
    }
  }

  #give({ resolve, reject }: Asking, json: string, done: boolean): void {
    const value = outputsOf(json, this.#script.inSlices)
    if (value instanceof Promise) value.then((read) => resolve({ done, value: read }), reject)
    else resolve({ done, value })
  }

  #tell(): void {
    const { items, characters } = this.#taken
    this.#taken = { items: 0, characters: 0 }
    this.#lease!.member.took(items, characters)
  }
}
