// The server's side of a media process: starts it, sends it tasks, watches its time and memory, and kills it.
import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { MediaResult, MediaTask } from '../engine/node-api/services/media.ts'
import { splitValue, ValueAssembler, type ValueFragment } from '../engine/node-api/values/fragments.ts'
import { TimeSlice } from '../engine/runtime/time-slice.ts'
import { WorkerPriority } from '../shared/thread-priority.ts'
import type { PooledWorker } from '../workers/worker-pool.ts'
import { FileAssembler, type FilePart, splitFiles } from './file-transfer.ts'
import { MEMORY_CHECK_MS, type MediaLimits, MOST_IDLE_BYTES } from './limits.ts'
import { readProcessMemory } from './process-memory.ts'
import type { FromMediaWorker, ToMediaWorker } from './protocol.ts'

/** The source or the compiled file, like this module. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './process.ts' : './process.js', import.meta.url)

const FONTS = join(dirname(fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/package.json'))))

/** The whole environment of the process. The server's own is kept from it, since its libraries read untrusted files. */
const ENVIRONMENT = {
  FONTCONFIG_FILE: join(import.meta.dirname, 'fonts.conf'),
  XDG_DATA_HOME: FONTS,
  // A time without a zone in a file means the same on every machine.
  TZ: 'UTC',
}

/** In characters, of the end of a process's standard error that is kept. */
const MOST_DETAIL = 4_000

interface RunningTask {
  readonly id: number
  readonly task: string
  /** The fragments of the result so far. */
  readonly value: ValueAssembler
  readonly files: FileAssembler
  readonly settle: PromiseWithResolvers<MediaResult>
  readonly watch: NodeJS.Timeout
  readonly clock: NodeJS.Timeout
}

export class MediaWorker implements PooledWorker<MediaTask, MediaResult> {
  readonly #limits: MediaLimits
  readonly #process: ChildProcess
  readonly #gone = Promise.withResolvers<void>()
  readonly #reportFailure: (detail: string) => void
  readonly #priority: WorkerPriority
  #running: RunningTask | null = null
  #tasks = 0
  #isEnded = false
  #stderrTail = ''

  /** `reportFailure` receives, for the log, failures that no file causes. */
  constructor(limits: MediaLimits, reportFailure: (detail: string) => void, script: URL = SCRIPT) {
    this.#limits = limits
    this.#reportFailure = reportFailure
    this.#process = fork(script, [], {
      execArgv: [`--max-old-space-size=${limits.heap_mb}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      env: ENVIRONMENT,
    })
    this.#priority = new WorkerPriority(this.#process.pid)
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = `${this.#stderrTail}${text}`.slice(-MOST_DETAIL)
    })
    this.#process.on('message', (message) => this.#receive(message as FromMediaWorker))
    this.#process.on('error', (error) => this.#end('could not be started', String(error)))
    this.#process.once('exit', (code, signal) => this.#onExit(code, signal))
  }

  /** Whether the process may take another task. */
  get isReusable(): boolean {
    const memory = this.#process.pid === undefined ? null : readProcessMemory(this.#process.pid)
    return (
      !this.#isEnded &&
      !this.#priority.isStuckAtLow &&
      this.#tasks < this.#limits.tasks &&
      (memory === null || memory <= MOST_IDLE_BYTES)
    )
  }

  /** Resolves when the process has exited. */
  get whenExited(): Promise<void> {
    return this.#gone.promise
  }

  /** Sets whether the server stays alive for the process. */
  setKeepAlive(isKept: boolean): void {
    const { channel } = this.#process
    // Standard error is a socket, although its type says otherwise.
    const stderr = this.#process.stderr as Socket
    for (const one of [this.#process, channel, stderr]) {
      if (isKept) one?.ref()
      else one?.unref()
    }
  }

  /** @throws NodeError as in MediaAccess; the signal's reason */
  async run(mediaTask: MediaTask): Promise<MediaResult> {
    const { task, time_limit_ms, signal } = mediaTask
    signal.throwIfAborted()
    const stop = () => this.#end('was stopped', null, signal.reason)
    signal.addEventListener('abort', stop)
    try {
      const limit_ms = Math.min(time_limit_ms ?? Number.POSITIVE_INFINITY, this.#limits.time_limit_ms)
      const { id, settle } = this.#startTask(task, limit_ms)
      // The process may end while the input is still being sent.
      settle.promise.catch(() => {})
      await this.#sendInput(id, mediaTask)
      return await settle.promise
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  preload({ task }: MediaTask): void {
    this.#sendMessage({ kind: 'warm', task })
  }

  /** Kills the process at any point: it has no state to save. */
  kill(): void {
    this.#end('was ended', null)
  }

  #startTask(task: string, time_limit_ms: number): RunningTask {
    const settle = Promise.withResolvers<MediaResult>()
    const { memory_bytes } = this.#limits
    const watch = setInterval(() => this.#checkMemory(memory_bytes), MEMORY_CHECK_MS)
    const clock = setTimeout(() => this.#timeOut(time_limit_ms), time_limit_ms)
    this.#running = {
      id: ++this.#tasks,
      task,
      value: new ValueAssembler(),
      files: new FileAssembler(),
      settle,
      watch,
      clock,
    }
    this.#priority.begin()
    return this.#running
  }

  /** Sends large parameters and files in time slices of the main thread. */
  async #sendInput(id: number, { task, files, params, owner }: MediaTask): Promise<void> {
    const slice = new TimeSlice(typeof owner === 'string' ? owner : '')
    let last: ValueFragment | null = null
    for (const ops of splitValue(params)) {
      if (last) {
        this.#sendMessage({ kind: 'piece', ops: last })
        await slice.waitForTurn()
        if (this.#isEnded) return
      }
      last = ops
    }
    let parts: readonly FilePart[] | null = null
    for (const some of splitFiles(files)) {
      if (parts) {
        await this.#sendAndWait({ kind: 'files', parts })
        await slice.waitForTurn()
        if (this.#isEnded) return
      }
      parts = some
    }
    this.#sendMessage({ kind: 'run', id, task, parts: parts!, ops: last! })
  }

  /** Like `#sendMessage`; resolves when the system has taken the message, or the process is disconnected. */
  #sendAndWait(message: ToMediaWorker): Promise<void> {
    return new Promise((resolve) => {
      if (this.#process.connected) this.#process.send(message, () => resolve())
      else resolve()
    })
  }

  /** A failed send is ignored: the process has ended, which its `exit` event reports. */
  #sendMessage(message: ToMediaWorker): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  #checkMemory(memory_bytes: number): void {
    const memory = this.#process.pid === undefined ? null : readProcessMemory(this.#process.pid)
    if (memory !== null && memory > memory_bytes) this.#end('took too much memory', null, outOfMemory())
  }

  #timeOut(time_limit_ms: number): void {
    const seconds = time_limit_ms / 1_000
    this.#end('took too long', null, new NodeError(`The work took longer than ${seconds} seconds.`, 'media_timeout'))
  }

  #receive(message: FromMediaWorker): void {
    if (message.id !== this.#running?.id) return
    const { value, files } = this.#running
    if (message.kind === 'piece' || message.kind === 'done') value.add(message.ops)
    if (message.kind === 'files' || message.kind === 'done') files.add(message.parts)
    if (message.kind === 'piece' || message.kind === 'files') return
    const { settle } = this.#clearRunning()!
    if (message.kind === 'done') return settle.resolve({ files: files.files, value: value.value })
    const { type, detail } = message
    if (type === 'failed') this.#reportFailure(detail)
    settle.reject(
      new NodeError(type === 'failed' ? 'The work on the file failed.' : message.message, errorTypeOf(type)),
    )
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    // V8 aborts a process with a full heap.
    const isHeapFull = signal === 'SIGABRT' || code === 134
    if (isHeapFull) this.#end('ran out of memory', null, outOfMemory())
    else this.#end('ended', `exit code ${code}, signal ${signal}\n${this.#stderrTail}`)
    this.#gone.resolve()
  }

  /** `detail` is for the log; null where the service has no fault. */
  #end(what: string, detail: string | null, reason?: unknown): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const work = this.#clearRunning()
    if (work && detail !== null) this.#reportFailure(`the process that works on ${work.task} ${what}: ${detail}`)
    work?.settle.reject(reason ?? new NodeError('The process that works on the file ended.', 'media_failed'))
    this.#process.kill('SIGKILL')
    if (this.#process.pid === undefined) this.#gone.resolve()
  }

  #clearRunning(): RunningTask | null {
    const work = this.#running
    this.#running = null
    this.#priority.end()
    clearInterval(work?.watch)
    clearTimeout(work?.clock)
    return work
  }
}

function errorTypeOf(type: string): string {
  return type === 'failed' ? 'media_failed' : type
}

function outOfMemory(): NodeError {
  return new NodeError('The work on the file takes more memory than its limit.', 'media_memory')
}
