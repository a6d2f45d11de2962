// One process that works on files, as the server sees it: started, given a task, watched, killed.
import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NodeError } from '../engine/node-error.ts'
import { Assembly, type Ops, piecesOf } from '../engine/pieces.ts'
import type { MediaResult, MediaTask } from '../engine/services.ts'
import { Slice } from '../engine/slice.ts'
import { WorkerPriority } from '../thread-priority.ts'
import type { PooledWorker } from '../workers/pool.ts'
import { type FilePart, GatheredFiles, partsOf } from './file-parts.ts'
import { KEPT_BYTES, LOOK_MS, type MediaLimits } from './limits.ts'
import { memoryOf } from './memory.ts'
import type { FromMedia, ToMedia } from './protocol.ts'

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './process.ts' : './process.js', import.meta.url)

const FONTS = join(dirname(fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/package.json'))))

/** Nothing else of the server's environment reaches the process, where libraries read what others wrote. */
const ENVIRONMENT = {
  FONTCONFIG_FILE: join(import.meta.dirname, 'fonts.conf'),
  XDG_DATA_HOME: FONTS,
  // What a file says without a zone means the same on every machine.
  TZ: 'UTC',
}

/** How much is kept of what a process complains of. */
const MOST_DETAIL = 4_000

interface Work {
  readonly id: number
  readonly task: string
  /** What came of its value. */
  readonly value: Assembly
  readonly files: GatheredFiles
  readonly settle: PromiseWithResolvers<MediaResult>
  readonly watch: NodeJS.Timeout
  readonly clock: NodeJS.Timeout
}

export class Member implements PooledWorker<MediaTask, MediaResult> {
  readonly #limits: MediaLimits
  readonly #process: ChildProcess
  readonly #gone = Promise.withResolvers<void>()
  readonly #failed: (detail: string) => void
  readonly #priority: WorkerPriority
  #work: Work | null = null
  #tasks = 0
  #over = false
  #complaints = ''

  /** `failed` is told, for the log, of what is nobody's file's fault. */
  constructor(limits: MediaLimits, failed: (detail: string) => void, script: URL = SCRIPT) {
    this.#limits = limits
    this.#failed = failed
    this.#process = fork(script, [], {
      execArgv: [`--max-old-space-size=${limits.heap_mb}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      env: ENVIRONMENT,
    })
    this.#priority = new WorkerPriority(this.#process.pid)
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints = `${this.#complaints}${text}`.slice(-MOST_DETAIL)
    })
    this.#process.on('message', (message) => this.#hear(message as FromMedia))
    this.#process.on('error', (error) => this.#end('could not be started', String(error)))
    this.#process.once('exit', (code, signal) => this.#exited(code, signal))
  }

  /** Whether it may be given another task. */
  get fit(): boolean {
    const memory = this.#process.pid === undefined ? null : memoryOf(this.#process.pid)
    return (
      !this.#over &&
      !this.#priority.spent &&
      this.#tasks < this.#limits.tasks &&
      (memory === null || memory <= KEPT_BYTES)
    )
  }

  /** When the process is gone. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  /** Whether this process stays alive for it. */
  hold(held: boolean): void {
    const { channel } = this.#process
    // Its complaints come through a socket, whatever the type of the stream says.
    const stderr = this.#process.stderr as Socket
    for (const one of [this.#process, channel, stderr]) {
      if (held) one?.ref()
      else one?.unref()
    }
  }

  /** @throws NodeError as MediaAccess says; the signal's reason */
  async run(given: MediaTask): Promise<MediaResult> {
    const { task, time_limit_ms, signal } = given
    signal.throwIfAborted()
    const stop = () => this.#end('was stopped', null, signal.reason)
    signal.addEventListener('abort', stop)
    try {
      const limit_ms = Math.min(time_limit_ms ?? Number.POSITIVE_INFINITY, this.#limits.time_limit_ms)
      const { id, settle } = this.#begin(task, limit_ms)
      // Where it ends while the parameters are still on their way.
      settle.promise.catch(() => {})
      await this.#send(id, given)
      return await settle.promise
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  warm({ task }: MediaTask): void {
    this.#say({ kind: 'warm', task })
  }

  /** Ends the process, wherever it is: it has nothing to keep. */
  kill(): void {
    this.#end('was ended', null)
  }

  #begin(task: string, time_limit_ms: number): Work {
    const settle = Promise.withResolvers<MediaResult>()
    const { memory_bytes } = this.#limits
    const watch = setInterval(() => this.#look(memory_bytes), LOOK_MS)
    const clock = setTimeout(() => this.#ring(time_limit_ms), time_limit_ms)
    this.#work = { id: ++this.#tasks, task, value: new Assembly(), files: new GatheredFiles(), settle, watch, clock }
    this.#priority.begin()
    return this.#work
  }

  /** Sends large parameters and files as the main thread has time for it. */
  async #send(id: number, { task, files, params, owner }: MediaTask): Promise<void> {
    const slice = new Slice(typeof owner === 'string' ? owner : '')
    let last: Ops | null = null
    for (const ops of piecesOf(params)) {
      if (last) {
        this.#say({ kind: 'piece', ops: last })
        await slice.turn()
        if (this.#over) return
      }
      last = ops
    }
    let parts: readonly FilePart[] | null = null
    for (const some of partsOf(files)) {
      if (parts) {
        await this.#sayAll({ kind: 'files', parts })
        await slice.turn()
        if (this.#over) return
      }
      parts = some
    }
    this.#say({ kind: 'run', id, task, parts: parts!, ops: last! })
  }

  /** As `#say`; resolves when the system has taken it, or never will. */
  #sayAll(message: ToMedia): Promise<void> {
    return new Promise((resolve) => {
      if (this.#process.connected) this.#process.send(message, () => resolve())
      else resolve()
    })
  }

  /** What cannot be sent has nobody to hear it; its end is told by itself. */
  #say(message: ToMedia): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  #look(memory_bytes: number): void {
    const memory = this.#process.pid === undefined ? null : memoryOf(this.#process.pid)
    if (memory !== null && memory > memory_bytes) this.#end('took too much memory', null, outOfMemory())
  }

  #ring(time_limit_ms: number): void {
    const seconds = time_limit_ms / 1_000
    this.#end('took too long', null, new NodeError(`The work took longer than ${seconds} seconds.`, 'media_timeout'))
  }

  #hear(message: FromMedia): void {
    if (message.id !== this.#work?.id) return
    const { value, files } = this.#work
    if (message.kind === 'piece' || message.kind === 'done') value.add(message.ops)
    if (message.kind === 'files' || message.kind === 'done') files.add(message.parts)
    if (message.kind === 'piece' || message.kind === 'files') return
    const { settle } = this.#leave()!
    if (message.kind === 'done') return settle.resolve({ files: files.files, value: value.value })
    const { type, detail } = message
    if (type === 'failed') this.#failed(detail)
    settle.reject(new NodeError(type === 'failed' ? 'The work on the file failed.' : message.message, nameOf(type)))
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    // V8 ends a process whose heap is full so.
    const full = signal === 'SIGABRT' || code === 134
    if (full) this.#end('ended for want of memory', null, outOfMemory())
    else this.#end('ended', `exit code ${code}, signal ${signal}\n${this.#complaints}`)
    this.#gone.resolve()
  }

  /** `detail` is for the log, null where nothing is wrong with us. */
  #end(what: string, detail: string | null, reason?: unknown): void {
    if (this.#over) return
    this.#over = true
    const work = this.#leave()
    if (work && detail !== null) this.#failed(`the process that works on ${work.task} ${what}: ${detail}`)
    work?.settle.reject(reason ?? new NodeError('The process that works on the file ended.', 'media_failed'))
    this.#process.kill('SIGKILL')
    if (this.#process.pid === undefined) this.#gone.resolve()
  }

  #leave(): Work | null {
    const work = this.#work
    this.#work = null
    this.#priority.end()
    clearInterval(work?.watch)
    clearTimeout(work?.clock)
    return work
  }
}

function nameOf(type: string): string {
  return type === 'failed' ? 'media_failed' : type
}

function outOfMemory(): NodeError {
  return new NodeError('The work on the file takes more memory than there is for it.', 'media_memory')
}
