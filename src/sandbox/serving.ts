// The worker's side: takes one call at a time, runs it in an engine of its own, and runs ahead of the consumer of a
// stream only so far. Whoever is spent says so and is thrown away.
import { parentPort, workerData } from 'node:worker_threads'
import releaseSync from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSSyncVariant } from 'quickjs-emscripten-core'
import type { LogSeverity } from '../engine/node-type.ts'
import { EngineCall } from './engine.ts'
import { Fault } from './faults.ts'
import {
  AHEAD_CHARACTERS,
  AHEAD_ITEMS,
  FIRST_PAGES,
  KEPT_BYTES,
  LONGEST_LINE,
  MOST_LINES,
  MOST_PAGES,
  TURN_MS,
} from './limits.ts'
import type { CallRequest, FromWorker, ToWorker } from './protocol.ts'
import { webAssembly } from './web-assembly.ts'

const memory = new webAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES })
// Emscripten takes these; the package's types don't list them.
const silent: object = { print() {}, printErr() {} }
// The package's types describe its CommonJS build.
const variant = newVariant(releaseSync as unknown as QuickJSSyncVariant, {
  wasmMemory: memory,
  wasmModule: workerData as WebAssembly.Module,
  emscriptenModule: silent,
})
const quickjs = await newQuickJSWASMModuleFromVariant(variant)

function post(message: FromWorker): void {
  parentPort!.postMessage(message)
}

const SEVERITIES: Readonly<Record<string, LogSeverity>> = {
  debug: 'debug',
  info: 'info',
  warning: 'warning',
  error: 'error',
}

/** Sends lines on, and after the last one a note that there were more. */
function lines(): (severity: string, content: string) => void {
  let count = 0
  return (severity, content) => {
    if (++count <= MOST_LINES) {
      post({ kind: 'log', severity: SEVERITIES[severity] ?? 'info', content: content.slice(0, LONGEST_LINE) })
    } else if (count === MOST_LINES + 1) {
      const text = `The code wrote more than ${MOST_LINES.toLocaleString('en')} lines; the rest is left out.`
      post({ kind: 'log', severity: 'warning', content: text })
    }
  }
}

class Running {
  readonly #engine: EngineCall
  #items = 0
  #characters = 0
  #told = 0

  constructor(request: CallRequest) {
    this.#engine = new EngineCall(quickjs, request, lines())
  }

  took(items: number, characters: number): void {
    this.#items -= items
    this.#characters -= characters
    this.#told++
  }

  /** Runs until it is far enough ahead or its turn is over, or to its end. True where it is over. */
  advance(): boolean {
    const until = performance.now() + TURN_MS
    let late = false
    try {
      while (!late && this.#items < AHEAD_ITEMS && this.#characters < AHEAD_CHARACTERS) {
        const { done, json } = this.#engine.step()
        if (done) {
          this.end(json)
          return true
        }
        post({ kind: 'item', json })
        this.#items++
        this.#characters += json.length
        late = performance.now() > until
      }
      post({ kind: 'waiting', told: this.#told })
      return false
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      post({ kind: 'fault', type: error.type, message: error.message, spent: error.spent || this.#close() })
      return true
    }
  }

  end(json: string | null): void {
    post({ kind: 'end', json, spent: this.#close() })
  }

  /** Gives the engine's memory back. True where this worker should not be used again. */
  #close(): boolean {
    try {
      this.#engine.end()
    } catch {
      return true
    }
    return memory.buffer.byteLength > KEPT_BYTES
  }
}

let running: Running | null = null

function hear(message: ToWorker): void {
  if (message.kind === 'call') running = new Running(message)
  else if (message.kind === 'took') running?.took(message.items, message.characters)
  else {
    running?.end(null)
    running = null
  }
  if (running?.advance()) running = null
}

/** `thread` is the id of this thread, where the system has ids. */
export function serve(thread: number | null): void {
  parentPort!.on('message', hear)
  post({ kind: 'ready', thread })
}
