// One life of the server, from its start to its kill. The harness's work in it ends with it.
import { AssertionError } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type CallOptions, call } from '../helpers/http.ts'
import type { ServingProcess } from '../helpers/process.ts'
import type { Ledger } from './ledger.ts'

/** The errors of a server without room. */
const TELLS_OF_ROOM = /"code":"SERVICE_UNAVAILABLE"|SQLITE_FULL|ENOSPC/

export class Life {
  readonly number: number
  readonly ledger: Ledger
  readonly server: ServingProcess
  /** The URL for followers: the server, unless a proxy stands in between. */
  readonly follow_url: string
  /** Whether the server was told to stop. It may then refuse any request. */
  stopping = false
  readonly #end = new AbortController()
  readonly #tasks = new Set<Promise<void>>()

  constructor(number: number, server: ServingProcess, ledger: Ledger, follow_url = server.url) {
    this.number = number
    this.server = server
    this.ledger = ledger
    this.follow_url = follow_url
  }

  /** Whether the disk is or was full. Requests without room are then refused. */
  get short(): boolean {
    return this.ledger.short
  }

  get over(): boolean {
    return this.#end.signal.aborted
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** Runs background work. Errors are no faults where the server has ended. */
  spawn(what: string, work: () => Promise<void>): void {
    const task = work()
      .catch((error: unknown) => {
        if (this.over && !(error instanceof AssertionError)) return
        this.ledger.complain(`${what}: ${error instanceof Error ? error.stack : error}`)
      })
      .finally(() => this.#tasks.delete(task))
    this.#tasks.add(task)
  }

  /** Returns an answer that matches the contract. Null where the kill interrupted it. */
  async request<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T> | null> {
    try {
      const answer = await call<T>(this.server, method, path, options)
      // An answer after the signal was sent before it, and counts.
      return answer
    } catch (error) {
      if (error instanceof AssertionError) throw error
      if (!this.over) throw new Error(`${method} ${path}: ${error}; the server said: ${this.#lastWords()}`)
      return null
    }
  }

  #lastWords(): string {
    return `${this.server.stdout().slice(-1_000)}${this.server.stderr().slice(-2_000)}`
  }

  /** Waits, at most until the end of this life. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => {})
  }

  /** Polls until there is a value. Null where this life is over. */
  async until<T>(condition: () => T | null | undefined | false): Promise<T | null> {
    while (!this.over) {
      const value = condition()
      if (value) return value
      await this.pause(10)
    }
    return null
  }

  /** Kills the server, and waits for all background work. Returns the time of the kill. */
  async kill(): Promise<number> {
    const at = Date.now()
    this.server.kill('SIGKILL')
    this.#end.abort()
    await this.settle()
    return at
  }

  /** Tells the server to stop, and ends the background work. Later answers are those of a stopping server. */
  terminate(): void {
    this.stopping = true
    this.server.kill('SIGTERM')
    this.#end.abort()
  }

  /** Whether an error may replace an acknowledgement: the server stops, or its disk is full. */
  get mayRefuse(): boolean {
    return this.stopping || this.short
  }

  /** Records a wrong answer, unless the server was told to stop. */
  complain(what: string): void {
    if (!this.stopping) this.ledger.complain(what)
  }

  /** Ends the background work, and leaves the server running. */
  async retire(): Promise<void> {
    this.#end.abort()
    await this.settle(false)
  }

  async settle(gone = true): Promise<void> {
    if (gone) {
      const { stderr } = await this.server.ended()
      const lines = stderr.split('\n')
      if (this.short) this.ledger.interrupt(lines)
      const errors = lines.filter((line) => /"level":(50|60)/.test(line) && !(this.short && TELLS_OF_ROOM.test(line)))
      for (const line of errors) this.ledger.complain(`the server said: ${line.slice(0, 600)}`)
    }
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
  }
}
