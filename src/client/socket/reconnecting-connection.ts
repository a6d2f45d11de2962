// The connection to `/ws`. It opens at the first use, reopens with growing delays when it is lost, and closes when it is unused.

import { raceAbort, sleep } from '../abortable-waits.ts'
import { backoffDelayMs, isRetryAfterTooLong } from '../client-options.ts'
import { authenticationError, clientClosedError, ServiceError } from '../errors.ts'
import type { TokenSource } from '../token-source.ts'
import { FrameChannel } from './frame-channel.ts'
import { type HandshakeParts, performHandshake, toUpgradeError } from './handshake.ts'
import type { SocketEnd } from './platform-socket.ts'

const POLICY_VIOLATION = 1008

export interface ReconnectingConnectionParts extends HandshakeParts {
  readonly tokens: TokenSource
  /** Rejects where the server refuses the credential. Browsers need it, because they hide why an upgrade failed. */
  readonly probeCredential: () => Promise<void>
}

interface ChannelWaiter {
  failures: number
  resolve(link: FrameChannel): void
  reject(error: unknown): void
}

export class ReconnectingConnection {
  readonly #parts: ReconnectingConnectionParts
  readonly #waiters = new Set<ChannelWaiter>()
  #channel: FrameChannel | null = null
  #holders = 0
  #isRunning = false
  #isClosed = false
  #idleTimer: ReturnType<typeof setTimeout> | null = null
  /** Aborts an attempt, or the wait for the next one, that is no longer needed. */
  #attemptController = new AbortController()
  /** Why there is no connection, for the next caller. Its holder was busy when the error was found. */
  #refusal: { error: unknown } | null = null
  /** Whether a new token was requested since the server last accepted one. */
  #hasRenewedToken = false

  constructor(parts: ReconnectingConnectionParts) {
    this.#parts = parts
  }

  /** Keeps the connection open until the returned function is called. */
  hold(): () => void {
    this.#holders++
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    let held = true
    return () => {
      if (!held) return
      held = false
      if (--this.#holders === 0) this.#closeWhenIdle()
    }
  }

  /**
   * Returns the open connection, or opens one. The caller holds it.
   * @throws ServiceError where the credential is refused, or after as many failures as the settings allow
   */
  async acquireChannel(signal?: AbortSignal): Promise<FrameChannel> {
    if (this.#isClosed) throw clientClosedError()
    signal?.throwIfAborted()
    if (this.#refusal) {
      const { error } = this.#refusal
      this.#refusal = null
      throw error
    }
    if (this.#channel && !this.#channel.end) return this.#channel
    let waiter: ChannelWaiter | undefined
    const link = new Promise<FrameChannel>((resolve, reject) => {
      waiter = { failures: 0, resolve, reject }
      this.#waiters.add(waiter)
    })
    if (!this.#isRunning) void this.#connectLoop()
    try {
      return await raceAbort(link, signal)
    } finally {
      this.#waiters.delete(waiter!)
    }
  }

  /** Handles a token that an answer refused: the next connection uses a new token. @returns false where that was tried before */
  async rejectToken(link: FrameChannel): Promise<boolean> {
    if (this.#hasRenewedToken || !this.#parts.tokens.isRenewable) return false
    await this.#renewToken()
    link.terminate('The server refused the credential.')
    return true
  }

  close(): void {
    this.#isClosed = true
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#attemptController.abort()
    this.#channel?.close()
    this.#rejectWaiters(clientClosedError())
  }

  #closeWhenIdle(): void {
    this.#refusal = null
    if (!this.#channel) return this.#attemptController.abort()
    this.#idleTimer = setTimeout(() => this.#channel?.close(), this.#parts.settings.times.idle_ms)
  }

  async #connectLoop(): Promise<void> {
    this.#isRunning = true
    let failures = 0
    while (!this.#isClosed && this.#holders > 0) {
      if (this.#attemptController.signal.aborted) this.#attemptController = new AbortController()
      const { signal } = this.#attemptController
      try {
        const link = await this.#openChannel(signal)
        const end = await this.#serveUntilEnd(link)
        const fatal = this.#isClosed
          ? clientClosedError()
          : await this.#findFatalEnd(end).catch((error: unknown) => error)
        link.notifyWatchers(fatal)
        if (fatal !== null) throw fatal
        failures = link.isAuthenticated ? 0 : failures + 1
        if (this.#holders > 0) await sleep(this.#backoffDelay(failures), signal)
      } catch (error) {
        if (signal.aborted) continue
        if (
          !(error instanceof ServiceError && error.retryable) ||
          isRetryAfterTooLong(error, this.#parts.settings.times)
        ) {
          this.#rejectWaiters(error)
          break
        }
        this.#countFailure(error)
        await sleep(Math.max(this.#backoffDelay(failures++), error.retry_after_ms ?? 0), signal).catch(() => {})
      }
    }
    this.#isRunning = false
  }

  #backoffDelay(failures: number): number {
    return backoffDelayMs(this.#parts.settings.backoff, failures)
  }

  async #serveUntilEnd(link: FrameChannel): Promise<SocketEnd> {
    this.#channel = link
    for (const waiter of this.#waiters) waiter.resolve(link)
    if (this.#holders === 0) this.#closeWhenIdle()
    const end = await link.waitForEnd()
    if (link.isAuthenticated) this.#hasRenewedToken = false
    this.#channel = null
    return end
  }

  /** The error of a connection's end that forbids a new connection. Null where a new one may be opened. */
  async #findFatalEnd({ code, reason }: SocketEnd): Promise<ServiceError | null> {
    if (code !== POLICY_VIOLATION || /too many/i.test(reason)) return null
    if (this.#hasRenewedToken)
      return authenticationError(`The server closed the connection${reason === '' ? '.' : `: ${reason}.`}`)
    await this.#renewToken()
    return null
  }

  async #renewToken(): Promise<void> {
    this.#hasRenewedToken = true
    const { tokens } = this.#parts
    await tokens.renew(await tokens.current())
  }

  /** Opens a connection. Makes a second attempt where the first finds that the token has to be renewed. */
  async #openChannel(signal: AbortSignal): Promise<FrameChannel> {
    const { tokens, probeCredential } = this.#parts
    const token = await tokens.current(signal)
    const opened = await performHandshake(this.#parts, token, signal)
    if (opened instanceof FrameChannel) return opened
    if (opened.isStatusHidden) await probeCredential()
    if (opened.status === 401) {
      if (this.#hasRenewedToken || !tokens.isRenewable) throw authenticationError('The server refused the credential.')
      await this.#renewToken()
      return this.#openChannel(signal)
    }
    throw toUpgradeError(opened)
  }

  #countFailure(error: ServiceError): void {
    for (const waiter of this.#waiters)
      if (++waiter.failures >= this.#parts.settings.backoff.attempts) waiter.reject(error)
  }

  #rejectWaiters(error: unknown): void {
    if (this.#waiters.size === 0) this.#refusal = { error }
    for (const waiter of this.#waiters) waiter.reject(error)
  }
}
