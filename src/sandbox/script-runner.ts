// The worker's side: runs one call at a time in its own engine, and limits how far a stream runs ahead of its consumer. A worker with a
// damaged or oversized engine reports that and is replaced.
import { parentPort, workerData } from 'node:worker_threads'
import releaseSync from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSSyncVariant } from 'quickjs-emscripten-core'
import type { LogSeverity } from '../engine/node-api/node-context.ts'
import {
  INITIAL_MEMORY_PAGES,
  LONGEST_LINE,
  MAX_CHARACTERS_AHEAD,
  MAX_IDLE_ENGINE_BYTES,
  MAX_ITEMS_AHEAD,
  MAX_LOG_LINES,
  MAX_MEMORY_PAGES,
  STREAM_TURN_MS,
} from './limits.ts'
import { QuickJsCall } from './quickjs/call.ts'
import { webAssembly } from './quickjs/web-assembly.ts'
import { ScriptError } from './script-errors.ts'
import type { FromSandboxWorker, ScriptCallRequest, ToSandboxWorker } from './worker-protocol.ts'

const engineMemory = new webAssembly.Memory({ initial: INITIAL_MEMORY_PAGES, maximum: MAX_MEMORY_PAGES })
// Emscripten accepts these options; the package's types omit them.
const silentOutput: object = { print() {}, printErr() {} }
// The package's types describe its CommonJS build.
const variant = newVariant(releaseSync as unknown as QuickJSSyncVariant, {
  wasmMemory: engineMemory,
  wasmModule: workerData as WebAssembly.Module,
  emscriptenModule: silentOutput,
})
const quickjs = await newQuickJSWASMModuleFromVariant(variant)

function post(message: FromSandboxWorker): void {
  parentPort!.postMessage(message)
}

const SEVERITIES: Readonly<Record<string, LogSeverity>> = {
  debug: 'debug',
  info: 'info',
  warning: 'warning',
  error: 'error',
}

/** Sends console lines up to the limit, followed by one note if there were more. */
function createLineSender(): (severity: string, content: string) => void {
  let count = 0
  return (severity, content) => {
    if (++count <= MAX_LOG_LINES) {
      post({ kind: 'log', severity: SEVERITIES[severity] ?? 'info', content: content.slice(0, LONGEST_LINE) })
    } else if (count === MAX_LOG_LINES + 1) {
      const text = `The code wrote more than ${MAX_LOG_LINES.toLocaleString('en')} lines; the rest is left out.`
      post({ kind: 'log', severity: 'warning', content: text })
    }
  }
}

class RunningCall {
  readonly #engine: QuickJsCall
  #items = 0
  #characters = 0
  #acknowledgedCount = 0

  constructor(request: ScriptCallRequest) {
    this.#engine = new QuickJsCall(quickjs, request, createLineSender())
  }

  acknowledge(items: number, characters: number): void {
    this.#items -= items
    this.#characters -= characters
    this.#acknowledgedCount++
  }

  /** Runs until the limit ahead, the end of its turn, or its end. Returns whether the call is over. */
  advance(): boolean {
    const until = performance.now() + STREAM_TURN_MS
    let late = false
    try {
      while (!late && this.#items < MAX_ITEMS_AHEAD && this.#characters < MAX_CHARACTERS_AHEAD) {
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
      post({ kind: 'waiting', told: this.#acknowledgedCount })
      return false
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error
      post({ kind: 'fault', type: error.type, message: error.message, spent: error.spent || this.#close() })
      return true
    }
  }

  end(json: string | null): void {
    post({ kind: 'end', json, spent: this.#close() })
  }

  /** Frees the engine's memory. Returns whether this worker must not be reused. */
  #close(): boolean {
    try {
      this.#engine.end()
    } catch {
      return true
    }
    return engineMemory.buffer.byteLength > MAX_IDLE_ENGINE_BYTES
  }
}

let runningCall: RunningCall | null = null

function receive(message: ToSandboxWorker): void {
  if (message.kind === 'call') runningCall = new RunningCall(message)
  else if (message.kind === 'took') runningCall?.acknowledge(message.items, message.characters)
  else {
    runningCall?.end(null)
    runningCall = null
  }
  if (runningCall?.advance()) runningCall = null
}

/** `thread` is the operating system's id of this thread; null: unknown. */
export function serve(thread: number | null): void {
  parentPort!.on('message', receive)
  post({ kind: 'ready', thread })
}
