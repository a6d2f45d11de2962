// One call inside of QuickJS: its own runtime and context, with the code as an asynchronous generator. Runs in a worker. The code gets
// nothing of Node except console output; an interrupt enforces the time limit.
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from 'quickjs-emscripten-core'
import { truncateText } from '../../shared/text-truncation.ts'
import { findJsonProblem } from '../json-values.ts'
import { LONGEST_ERROR, LONGEST_JSON, LONGEST_LINE, STACK_BYTES } from '../limits.ts'
import { ScriptError, ThrownValue, toScriptError } from '../script-errors.ts'
import { SCRIPT_FILE_NAME, wrapScript } from '../script-syntax.ts'
import type { ScriptCallRequest } from '../worker-protocol.ts'
import { PRELUDE_SOURCE } from './prelude.ts'
import { createRandomSource } from './random.ts'
import { VALUE_FORMAT_SOURCE } from './value-format.ts'

/** Promise jobs that run between two checks of the clock. */
const JOBS_PER_CLOCK_READ = 1_000

const NEVER_SETTLES =
  'The code waits for a promise that never settles: the sandbox has no timers, no network and no files.'
const UNEXPECTED_ITEMS =
  'The code yields items, but the node has no stream output. Declare one with "stream": true, or return a list.'
const UNPRINTABLE = 'something that cannot be shown'

type PreludeFunctions = Record<'pull' | 'give' | 'why', QuickJSHandle>

export interface ScriptStep {
  readonly done: boolean
  readonly json: string
}

const EMPTY_STEP: ScriptStep = { done: true, json: '{}' }

export type ScriptLog = (severity: string, content: string) => void

export class QuickJsCall {
  readonly #request: ScriptCallRequest
  readonly #runtime: QuickJSRuntime
  readonly #vm: QuickJSContext
  readonly #log: ScriptLog
  #deadline = 0
  #interrupted = false
  #generator: QuickJSHandle | null = null
  /** The functions that the prelude returned. */
  #prelude: PreludeFunctions | null = null
  #formatter: QuickJSHandle | null = null

  constructor(quickjs: QuickJSWASMModule, request: ScriptCallRequest, log: ScriptLog) {
    this.#request = request
    this.#log = log
    this.#runtime = quickjs.newRuntime()
    this.#runtime.setMemoryLimit(request.memory_limit_mb * 1024 * 1024)
    this.#runtime.setMaxStackSize(STACK_BYTES)
    this.#runtime.setInterruptHandler(() => this.#isTimeUp())
    this.#vm = this.#runtime.newContext()
  }

  /** Runs until the next item or the result. Throws ScriptError. */
  step(): ScriptStep {
    this.#deadline = performance.now() + this.#request.time_limit_ms
    try {
      const step = this.#request.syntax_only ? this.#parse() : this.#next(this.#openGenerator())
      if (!this.#interrupted) return step
      throw ScriptError.timeout(this.#request.time_limit_ms)
    } catch (error) {
      throw this.#interrupted ? ScriptError.timeout(this.#request.time_limit_ms) : toScriptError(error, this.#request)
    }
  }

  /** Frees all memory. Throws if the engine is damaged. */
  end(): void {
    for (const handle of [this.#generator, this.#formatter, ...Object.values(this.#prelude ?? {})]) handle?.dispose()
    this.#vm.dispose()
    this.#runtime.dispose()
  }

  /** Once true it stays true, so that code cannot continue after an interrupt. */
  #isTimeUp(): boolean {
    this.#interrupted ||= performance.now() > this.#deadline
    return this.#interrupted
  }

  /** Parses the code without running any of it, not even text behind a closing brace of the function. */
  #parse(): ScriptStep {
    const result = this.#vm.evalCode(wrapScript(this.#request.code), SCRIPT_FILE_NAME, { compileOnly: true })
    if (result.error) throw this.#readThrown(result.error)
    result.value.dispose()
    return EMPTY_STEP
  }

  #openGenerator(): QuickJSHandle {
    this.#generator ??= this.#createGenerator()
    return this.#generator
  }

  #createGenerator(): QuickJSHandle {
    const vm = this.#vm
    const { inputs, code } = this.#request
    using log = vm.newFunction('log', (severity, ...values) => {
      this.#log(vm.getString(severity!), this.#formatLine(values))
    })
    using loadRandom = vm.newFunction('random', () => vm.evalCode(createRandomSource(this.#request.seed), 'random'))
    using setUp = this.#evaluate(PRELUDE_SOURCE, 'prelude')
    using text = vm.newString(inputs)
    using tools = this.#call(setUp, log, loadRandom, text)
    const tool = (name: string) => vm.getProp(tools, name)
    this.#prelude = { pull: tool('pull'), give: tool('give'), why: tool('why') }
    using make = this.#evaluate(wrapScript(code), SCRIPT_FILE_NAME)
    return this.#call(make)
  }

  #next(generator: QuickJSHandle): ScriptStep {
    using promise = this.#call(this.#prelude!.pull, generator)
    using result = this.#settle(promise)
    using doneFlag = this.#vm.getProp(result, 'done')
    using value = this.#vm.getProp(result, 'value')
    const done = this.#vm.dump(doneFlag) === true
    if (!done && !this.#request.streams) throw new ScriptError('code_output', UNEXPECTED_ITEMS, false)
    return { done, json: this.#encodeJson(value, done) }
  }

  /** Runs jobs until the promise settles, and returns its value. */
  #settle(promise: QuickJSHandle): QuickJSHandle {
    for (;;) {
      const state = this.#vm.getPromiseState(promise)
      if (state.type === 'fulfilled') return state.value
      if (state.type === 'rejected') throw this.#readThrown(state.error)
      if (!this.#runtime.hasPendingJob()) throw new ScriptError('code_error', NEVER_SETTLES, false)
      const jobs = this.#runtime.executePendingJobs(JOBS_PER_CLOCK_READ)
      if (jobs.error) throw this.#readThrown(jobs.error)
      if (this.#isTimeUp()) throw ScriptError.timeout(this.#request.time_limit_ms)
    }
  }

  #encodeJson(value: QuickJSHandle, done: boolean): string {
    using given = this.#call(this.#prelude!.give, value)
    const json = this.#readText(given, LONGEST_JSON)
    const problem = json === '' ? this.#explainProblem() : findJsonProblem(json)
    if (problem === null) return json
    throw new ScriptError('code_output', `The code ${done ? 'returned' : 'yielded'} ${problem}.`, false)
  }

  #explainProblem(): string {
    using why = this.#call(this.#prelude!.why)
    return this.#readText(why, LONGEST_LINE) || 'a value that is no plain data'
  }

  #evaluate(code: string, name: string): QuickJSHandle {
    const result = this.#vm.evalCode(code, name)
    if (result.error) throw this.#readThrown(result.error)
    return result.value
  }

  #call(func: QuickJSHandle, ...args: QuickJSHandle[]): QuickJSHandle {
    const result = this.#vm.callFunction(func, this.#vm.undefined, ...args)
    if (result.error) throw this.#readThrown(result.error)
    return result.value
  }

  /** A text within the limit; an empty text for any other value. */
  #readText(handle: QuickJSHandle, longest: number): string {
    if (this.#vm.typeof(handle) !== 'string') return ''
    using length = this.#vm.getProp(handle, 'length')
    return this.#vm.getNumber(length) <= longest ? this.#vm.getString(handle) : ''
  }

  /** A readable form of any value. */
  #formatValue(value: QuickJSHandle, most: number): string {
    const text = this.#readText(value, most)
    if (text !== '') return text
    try {
      this.#formatter ??= this.#evaluate(VALUE_FORMAT_SOURCE, 'show')
      using limit = this.#vm.newNumber(most)
      const shown = this.#vm.callFunction(this.#formatter, this.#vm.undefined, value, limit)
      using result = shown.error ?? shown.value
      return shown.error ? UNPRINTABLE : this.#readText(result, most)
    } catch (error) {
      if (error instanceof ThrownValue) return UNPRINTABLE
      throw error
    }
  }

  /** The values as one console line, cut at the limit. */
  #formatLine(values: readonly QuickJSHandle[]): string {
    let line = ''
    for (const [at, value] of values.entries()) {
      if (line.length >= LONGEST_LINE) break
      line += `${at > 0 ? ' ' : ''}${this.#formatValue(value, LONGEST_LINE)}`
    }
    // A line below the limit was not cut: values are formatted up to the same limit.
    return line.length < LONGEST_LINE ? line : truncateText(line, LONGEST_LINE - 1)
  }

  #readThrown(error: QuickJSHandle): ThrownValue {
    using thrown = error
    // Once the time is up, no more of the code may run.
    if (this.#interrupted) return new ThrownValue('', '', '')
    const [name, message, stack] = ['name', 'message', 'stack'].map((key) => this.#readPart(thrown, key))
    if (stack) return new ThrownValue(name!, message!, stack)
    return new ThrownValue('', this.#formatValue(thrown, LONGEST_ERROR), '')
  }

  #readPart(error: QuickJSHandle, key: string): string {
    if (this.#vm.typeof(error) !== 'object') return ''
    using part = this.#vm.getProp(error, key)
    return this.#readText(part, LONGEST_JSON)
  }
}
