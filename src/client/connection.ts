// The connection to `/ws`: opened when somebody needs it, opened again with growing delays when it is lost, closed when nobody needs it.
import { closedError, refusedError, ServiceError } from './errors.ts'
import { failedUpgrade, type HandshakeParts, handshake } from './handshake.ts'
import { Link } from './link.ts'
import { asksTooLong, delayAfter } from './settings.ts'
import type { SocketEnd } from './socket.ts'
import type { Tokens } from './tokens.ts'
import { sleep, unlessAborted } from './waiting.ts'

const POLICY_VIOLATION = 1008

export interface ConnectionParts extends HandshakeParts {
  readonly tokens: Tokens
  /** Rejects where the credential is refused: for sockets that cannot see why an upgrade failed. */
  readonly probe: () => Promise<void>
}

interface Waiter {
  failures: number
  resolve(link: Link): void
  reject(error: unknown): void
}

export class Connection {
  readonly #parts: ConnectionParts
  readonly #waiters = new Set<Waiter>()
  #link: Link | null = null
  #holders = 0
  #running = false
  #closed = false
  #idle: ReturnType<typeof setTimeout> | null = null
  /** Ends the attempt, or the wait for the next one, that nobody needs any more. */
  #attempt = new AbortController()
  /** Why there is no connection, for the next one who asks: whoever holds it was busy when that was found. */
  #refusal: { error: unknown } | null = null
  /** Whether a new token was asked for since the server last took one. */
  #renewed = false

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  /** Keeps the connection until the function given back is called. */
  hold(): () => void {
    this.#holders++
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#idle = null
    let held = true
    return () => {
      if (!held) return
      held = false
      if (--this.#holders === 0) this.#rest()
    }
  }

  /**
   * The open connection, or the next one. Whoever asks holds it.
   * @throws ServiceError where the credential is refused, or after as many failures as the settings allow
   */
  async link(signal?: AbortSignal): Promise<Link> {
    if (this.#closed) throw closedError()
    signal?.throwIfAborted()
    if (this.#refusal) {
      const { error } = this.#refusal
      this.#refusal = null
      throw error
    }
    if (this.#link && !this.#link.end) return this.#link
    let waiter: Waiter | undefined
    const link = new Promise<Link>((resolve, reject) => {
      waiter = { failures: 0, resolve, reject }
      this.#waiters.add(waiter)
    })
    if (!this.#running) void this.#run()
    try {
      return await unlessAborted(link, signal)
    } finally {
      this.#waiters.delete(waiter!)
    }
  }

  /** The token was refused in an answer: the next connection has another one. @returns false where that was tried already */
  async reject(link: Link): Promise<boolean> {
    if (this.#renewed || !this.#parts.tokens.renewable) return false
    await this.#renew()
    link.drop('The credential was refused.')
    return true
  }

  close(): void {
    this.#closed = true
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#attempt.abort()
    this.#link?.close()
    this.#refuse(closedError())
  }

  #rest(): void {
    this.#refusal = null
    if (!this.#link) return this.#attempt.abort()
    this.#idle = setTimeout(() => this.#link?.close(), this.#parts.settings.times.idle_ms)
  }

  async #run(): Promise<void> {
    this.#running = true
    let failures = 0
    while (!this.#closed && this.#holders > 0) {
      if (this.#attempt.signal.aborted) this.#attempt = new AbortController()
      const { signal } = this.#attempt
      try {
        const link = await this.#open(signal)
        const end = await this.#use(link)
        const fatal = this.#closed ? closedError() : await this.#judge(end).catch((error: unknown) => error)
        link.settle(fatal)
        if (fatal !== null) throw fatal
        failures = link.proved ? 0 : failures + 1
        if (this.#holders > 0) await sleep(this.#delay(failures), signal)
      } catch (error) {
        if (signal.aborted) continue
        if (!(error instanceof ServiceError && error.retryable) || asksTooLong(error, this.#parts.settings.times)) {
          this.#refuse(error)
          break
        }
        this.#count(error)
        await sleep(Math.max(this.#delay(failures++), error.retry_after_ms ?? 0), signal).catch(() => {})
      }
    }
    this.#running = false
  }

  #delay(failures: number): number {
    return delayAfter(this.#parts.settings.backoff, failures)
  }

  async #use(link: Link): Promise<SocketEnd> {
    this.#link = link
    for (const waiter of this.#waiters) waiter.resolve(link)
    if (this.#holders === 0) this.#rest()
    const end = await link.ended()
    if (link.proved) this.#renewed = false
    this.#link = null
    return end
  }

  /** What the end of a connection forbids; null where another one may be opened. */
  async #judge({ code, reason }: SocketEnd): Promise<ServiceError | null> {
    if (code !== POLICY_VIOLATION || /too many/i.test(reason)) return null
    if (this.#renewed) return refusedError(`The server closed the connection${reason === '' ? '.' : `: ${reason}.`}`)
    await this.#renew()
    return null
  }

  async #renew(): Promise<void> {
    this.#renewed = true
    const { tokens } = this.#parts
    await tokens.renew(await tokens.current())
  }

  /** One attempt, or two where the first finds that the token has to be renewed. */
  async #open(signal: AbortSignal): Promise<Link> {
    const { tokens, probe } = this.#parts
    const token = await tokens.current(signal)
    const opened = await handshake(this.#parts, token, signal)
    if (opened instanceof Link) return opened
    if (opened.blind) await probe()
    if (opened.status === 401) {
      if (this.#renewed || !tokens.renewable) throw refusedError('The server refused the credential.')
      await this.#renew()
      return this.#open(signal)
    }
    throw failedUpgrade(opened)
  }

  #count(error: ServiceError): void {
    for (const waiter of this.#waiters)
      if (++waiter.failures >= this.#parts.settings.backoff.attempts) waiter.reject(error)
  }

  #refuse(error: unknown): void {
    if (this.#waiters.size === 0) this.#refusal = { error }
    for (const waiter of this.#waiters) waiter.reject(error)
  }
}
