// One call inside of QuickJS: a runtime and context of its own, the code as an asynchronous generator, and what it gives.
// Runs in a worker. Nothing of Node is handed in but the console's lines and a clock that interrupts.
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from 'quickjs-emscripten-core'
import { cut } from '../short.ts'
import { Fault, readFault, Thrown } from './faults.ts'
import { jsonProblem } from './json.ts'
import { LONGEST_ERROR, LONGEST_JSON, LONGEST_LINE, STACK_BYTES } from './limits.ts'
import { PRELUDE } from './prelude.ts'
import type { CallRequest } from './protocol.ts'
import { randomSource } from './random.ts'
import { SHOW } from './show.ts'
import { FILE, wrapped } from './syntax.ts'

/** Jobs of promises that run before the clock is looked at. */
const JOBS = 1_000

const NEVER =
  'The code waits for a promise that nothing will ever settle: there are no timers, no network and no files here.'
const ITEMS =
  'The code yields items, but the node has no stream output. Declare one with "stream": true, or return a list.'
const UNSHOWN = 'something that cannot be shown'

type Tools = Record<'pull' | 'give' | 'why', QuickJSHandle>

export interface Step {
  readonly done: boolean
  readonly json: string
}

const NOTHING: Step = { done: true, json: '{}' }

export type Log = (severity: string, content: string) => void

export class EngineCall {
  readonly #request: CallRequest
  readonly #runtime: QuickJSRuntime
  readonly #vm: QuickJSContext
  readonly #log: Log
  #deadline = 0
  #interrupted = false
  #generator: QuickJSHandle | null = null
  /** What the prelude gave. */
  #tools: Tools | null = null
  #show: QuickJSHandle | null = null

  constructor(quickjs: QuickJSWASMModule, request: CallRequest, log: Log) {
    this.#request = request
    this.#log = log
    this.#runtime = quickjs.newRuntime()
    this.#runtime.setMemoryLimit(request.memory_limit_mb * 1024 * 1024)
    this.#runtime.setMaxStackSize(STACK_BYTES)
    this.#runtime.setInterruptHandler(() => this.#late())
    this.#vm = this.#runtime.newContext()
  }

  /** Runs until the next item or the result. Throws Fault. */
  step(): Step {
    this.#deadline = performance.now() + this.#request.time_limit_ms
    try {
      const step = this.#request.syntax_only ? this.#parse() : this.#next(this.#begun())
      if (!this.#interrupted) return step
      throw Fault.timeout(this.#request.time_limit_ms)
    } catch (error) {
      throw this.#interrupted ? Fault.timeout(this.#request.time_limit_ms) : readFault(error, this.#request)
    }
  }

  /** Gives back all memory. Throws where the engine is not what it was. */
  end(): void {
    for (const handle of [this.#generator, this.#show, ...Object.values(this.#tools ?? {})]) handle?.dispose()
    this.#vm.dispose()
    this.#runtime.dispose()
  }

  /** Once true it stays true, so that code cannot go on after it was interrupted. */
  #late(): boolean {
    this.#interrupted ||= performance.now() > this.#deadline
    return this.#interrupted
  }

  /** Reads the code and runs nothing of it, not even what stands behind an end of the function. */
  #parse(): Step {
    const result = this.#vm.evalCode(wrapped(this.#request.code), FILE, { compileOnly: true })
    if (result.error) throw this.#thrown(result.error)
    result.value.dispose()
    return NOTHING
  }

  #begun(): QuickJSHandle {
    this.#generator ??= this.#begin()
    return this.#generator
  }

  #begin(): QuickJSHandle {
    const vm = this.#vm
    const { inputs, code } = this.#request
    using log = vm.newFunction('log', (severity, ...values) => {
      this.#log(vm.getString(severity!), this.#line(values))
    })
    using loadRandom = vm.newFunction('random', () => vm.evalCode(randomSource(this.#request.seed), 'random'))
    using setUp = this.#evaluate(PRELUDE, 'prelude')
    using text = vm.newString(inputs)
    using tools = this.#call(setUp, log, loadRandom, text)
    const tool = (name: string) => vm.getProp(tools, name)
    this.#tools = { pull: tool('pull'), give: tool('give'), why: tool('why') }
    using make = this.#evaluate(wrapped(code), FILE)
    return this.#call(make)
  }

  #next(generator: QuickJSHandle): Step {
    using promise = this.#call(this.#tools!.pull, generator)
    using result = this.#settled(promise)
    using doneFlag = this.#vm.getProp(result, 'done')
    using value = this.#vm.getProp(result, 'value')
    const done = this.#vm.dump(doneFlag) === true
    if (!done && !this.#request.streams) throw new Fault('code_output', ITEMS, false)
    return { done, json: this.#json(value, done) }
  }

  /** What a promise of the code's becomes, once all jobs that lead there are done. */
  #settled(promise: QuickJSHandle): QuickJSHandle {
    for (;;) {
      const state = this.#vm.getPromiseState(promise)
      if (state.type === 'fulfilled') return state.value
      if (state.type === 'rejected') throw this.#thrown(state.error)
      if (!this.#runtime.hasPendingJob()) throw new Fault('code_error', NEVER, false)
      const jobs = this.#runtime.executePendingJobs(JOBS)
      if (jobs.error) throw this.#thrown(jobs.error)
      if (this.#late()) throw Fault.timeout(this.#request.time_limit_ms)
    }
  }

  #json(value: QuickJSHandle, done: boolean): string {
    using given = this.#call(this.#tools!.give, value)
    const json = this.#text(given, LONGEST_JSON)
    const problem = json === '' ? this.#why() : jsonProblem(json)
    if (problem === null) return json
    throw new Fault('code_output', `The code ${done ? 'returned' : 'yielded'} ${problem}.`, false)
  }

  #why(): string {
    using why = this.#call(this.#tools!.why)
    return this.#text(why, LONGEST_LINE) || 'a value that is no plain data'
  }

  #evaluate(code: string, name: string): QuickJSHandle {
    const result = this.#vm.evalCode(code, name)
    if (result.error) throw this.#thrown(result.error)
    return result.value
  }

  #call(func: QuickJSHandle, ...args: QuickJSHandle[]): QuickJSHandle {
    const result = this.#vm.callFunction(func, this.#vm.undefined, ...args)
    if (result.error) throw this.#thrown(result.error)
    return result.value
  }

  /** A text that is short enough; an empty one where it is something else. */
  #text(handle: QuickJSHandle, longest: number): string {
    if (this.#vm.typeof(handle) !== 'string') return ''
    using length = this.#vm.getProp(handle, 'length')
    return this.#vm.getNumber(length) <= longest ? this.#vm.getString(handle) : ''
  }

  /** Any value as a person would read it. */
  #shown(value: QuickJSHandle, most: number): string {
    const text = this.#text(value, most)
    if (text !== '') return text
    try {
      this.#show ??= this.#evaluate(SHOW, 'show')
      using limit = this.#vm.newNumber(most)
      const shown = this.#vm.callFunction(this.#show, this.#vm.undefined, value, limit)
      using result = shown.error ?? shown.value
      return shown.error ? UNSHOWN : this.#text(result, most)
    } catch (error) {
      if (error instanceof Thrown) return UNSHOWN
      throw error
    }
  }

  /** What they show side by side, no further than a line goes. */
  #line(values: readonly QuickJSHandle[]): string {
    let line = ''
    for (const [at, value] of values.entries()) {
      if (line.length >= LONGEST_LINE) break
      line += `${at > 0 ? ' ' : ''}${this.#shown(value, LONGEST_LINE)}`
    }
    // Where nothing was cut the line is shorter: what is shown of a value ends there as well.
    return line.length < LONGEST_LINE ? line : cut(line, LONGEST_LINE - 1)
  }

  #thrown(error: QuickJSHandle): Thrown {
    using thrown = error
    // Once the time is up, nothing of the code is to run again.
    if (this.#interrupted) return new Thrown('', '', '')
    const [name, message, stack] = ['name', 'message', 'stack'].map((key) => this.#part(thrown, key))
    if (stack) return new Thrown(name!, message!, stack)
    return new Thrown('', this.#shown(thrown, LONGEST_ERROR), '')
  }

  #part(error: QuickJSHandle, key: string): string {
    if (this.#vm.typeof(error) !== 'object') return ''
    using part = this.#vm.getProp(error, key)
    return this.#text(part, LONGEST_JSON)
  }
}
