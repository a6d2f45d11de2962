// One life of the server, from its start to its kill: what the harness does in it stops with it.
import { AssertionError } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type CallOptions, call } from '../helpers/http.ts'
import type { ServingProcess } from '../helpers/process.ts'
import type { Ledger } from './ledger.ts'

/** What a server says that finds no room. */
const TELLS_OF_ROOM = /"code":"SERVICE_UNAVAILABLE"|SQLITE_FULL|ENOSPC/

export class Life {
  readonly number: number
  readonly ledger: Ledger
  readonly server: ServingProcess
  /** Where followers turn to: the server, unless something stands in between. */
  readonly follow_url: string
  /** Whether the server was told to stop: it may refuse whatever it is asked. */
  stopping = false
  readonly #end = new AbortController()
  readonly #tasks = new Set<Promise<void>>()

  constructor(number: number, server: ServingProcess, ledger: Ledger, follow_url = server.url) {
    this.number = number
    this.server = server
    this.ledger = ledger
    this.follow_url = follow_url
  }

  /** Whether the disk is full, or was: what finds no room is refused. */
  get short(): boolean {
    return this.ledger.short
  }

  get over(): boolean {
    return this.#end.signal.aborted
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** Does something beside the rest. What fails because the server is gone is none of its faults. */
  spawn(what: string, work: () => Promise<void>): void {
    const task = work()
      .catch((error: unknown) => {
        if (this.over && !(error instanceof AssertionError)) return
        this.ledger.complain(`${what}: ${error instanceof Error ? error.stack : error}`)
      })
      .finally(() => this.#tasks.delete(task))
    this.#tasks.add(task)
  }

  /** An answer that fits the contract; null where the kill cut it off. */
  async request<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T> | null> {
    try {
      const answer = await call<T>(this.server, method, path, options)
      // What comes after the signal was on its way before it, and counts.
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

  /** Polls until there is something, or this life is over: null then. */
  async until<T>(condition: () => T | null | undefined | false): Promise<T | null> {
    while (!this.over) {
      const value = condition()
      if (value) return value
      await this.pause(10)
    }
    return null
  }

  /** Ends the server without a word, and waits for all that was done beside. Gives the time of the kill. */
  async kill(): Promise<number> {
    const at = Date.now()
    this.server.kill('SIGKILL')
    this.#end.abort()
    await this.settle()
    return at
  }

  /** Tells the server to stop, and ends what is done beside: its answers from now on are those of a server that stops. */
  terminate(): void {
    this.stopping = true
    this.server.kill('SIGTERM')
    this.#end.abort()
  }

  /** Whether an error may stand in the place of an acknowledgement: the server stops, or its disk is full. */
  get mayRefuse(): boolean {
    return this.stopping || this.short
  }

  /** Writes down what an answer should not have been, where the server was not told to stop. */
  complain(what: string): void {
    if (!this.stopping) this.ledger.complain(what)
  }

  /** Ends what is done beside, and leaves the server. */
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
