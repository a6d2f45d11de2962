// Sends RPC commands and correlates each reply by its `request_id`. Events of jobs are correlated by their `job_id`. All commands read or
// are idempotent, so a command whose answer is lost is sent again.

import type { WsCommandData, WsRpcCommand, WsRpcResults } from '../../../generated/messages.ts'
import { sleep } from '../abortable-waits.ts'
import { backoffDelayMs, type ResolvedClientOptions } from '../client-options.ts'
import { parseRpcError } from '../error-response.ts'
import { isRetryable, networkError, ServiceError, timeoutError } from '../errors.ts'
import type { PendingSubmission } from '../jobs/pending-submission.ts'
import { createUuid, isRecord, type UnknownRecord } from '../json-and-uuid.ts'
import type { FrameChannel } from './frame-channel.ts'
import type { ReconnectingConnection } from './reconnecting-connection.ts'

interface PendingRpc {
  readonly link: FrameChannel
  resolve(result: unknown): void
  reject(error: ServiceError): void
}

export class RpcClient {
  readonly #settings: ResolvedClientOptions
  readonly #connection: () => ReconnectingConnection
  readonly #pending = new Map<string, PendingRpc>()
  readonly #listeners = new Map<string, Set<(event: unknown) => void>>()

  constructor(settings: ResolvedClientOptions, connection: () => ReconnectingConnection) {
    this.#settings = settings
    this.#connection = connection
  }

  /**
   * Sends a command until it is answered, or until its attempts are used up.
   * @throws ServiceError with the server's code
   */
  async call<C extends WsRpcCommand>(
    command: C,
    data: WsCommandData[C],
    signal?: AbortSignal,
    flight?: PendingSubmission,
  ): Promise<WsRpcResults[C]> {
    const { backoff, times } = this.#settings
    const connection = this.#connection()
    const release = connection.hold()
    try {
      for (let attempt = 1; ; attempt++) {
        const link = await connection.acquireChannel(signal)
        try {
          return await this.callOn(link, command, data, signal, flight)
        } catch (error) {
          if (!isOutcomeUnknown(error)) flight?.markRefused()
          if (isUnauthenticated(error) && (await connection.rejectToken(link))) continue
          const wait = isRetryable(error) ? (error.retry_after_ms ?? 0) : Number.POSITIVE_INFINITY
          if (attempt >= backoff.attempts || wait > times.retry_after_ms) throw error
          await sleep(Math.max(wait, backoffDelayMs(backoff, attempt - 1)), signal)
        }
      }
    } finally {
      release()
    }
  }

  /** Sends a command once. An abandoned command is withdrawn, and a late or second reply is ignored. */
  async callOn<C extends WsRpcCommand>(
    link: FrameChannel,
    command: C,
    data: WsCommandData[C],
    signal?: AbortSignal,
    flight?: PendingSubmission,
  ): Promise<WsRpcResults[C]> {
    signal?.throwIfAborted()
    const request_id = createUuid()
    const { request_ms } = this.#settings.times
    let leave = () => {}
    let withdraw = () => {}
    try {
      return await new Promise<WsRpcResults[C]>((resolve, reject) => {
        const abort = () => reject(signal!.reason)
        const timer = setTimeout(() => reject(timeoutError(`The command ${command}`, request_ms)), request_ms)
        signal?.addEventListener('abort', abort)
        const unwatch = link.watch((fatal) =>
          reject(fatal ?? networkError('The connection was lost before the answer.')),
        )
        leave = () => {
          clearTimeout(timer)
          unwatch()
          signal?.removeEventListener('abort', abort)
        }
        this.#pending.set(request_id, { link, resolve: (result) => resolve(result as WsRpcResults[C]), reject })
        withdraw = link.send({ command, data, request_id }, () => flight?.markSent())
      })
    } finally {
      this.#pending.delete(request_id)
      withdraw()
      leave()
    }
  }

  /** Passes the events of a job to `take`, until the returned function is called. */
  addEventListener(job_id: string, take: (event: unknown) => void): () => void {
    const listeners = this.#listeners.get(job_id) ?? new Set()
    this.#listeners.set(job_id, listeners.add(take))
    return () => {
      listeners.delete(take)
      if (listeners.size === 0 && this.#listeners.get(job_id) === listeners) this.#listeners.delete(job_id)
    }
  }

  /** Handles a frame of any kind. Unknown frames are skipped. */
  handleFrame(frame: UnknownRecord, link: FrameChannel): void {
    if (frame.type === 'rpc_response') this.#settleRpc(frame, link)
    else if (frame.type === 'job_event' && typeof frame.job_id === 'string')
      for (const take of this.#listeners.get(frame.job_id) ?? []) take(frame.event)
    else if (frame.type === 'ping' && typeof frame.ts === 'number') link.send({ type: 'pong', ts: frame.ts })
  }

  #settleRpc({ request_id, result, error }: UnknownRecord, link: FrameChannel): void {
    const pending = typeof request_id === 'string' ? this.#pending.get(request_id) : undefined
    if (!pending || pending.link !== link) return
    this.#pending.delete(String(request_id))
    const refusal = isRecord(error) ? parseRpcError(error, String(request_id)) : null
    if (!isUnauthenticated(refusal)) link.isAuthenticated = true
    if (refusal) pending.reject(refusal)
    else pending.resolve(result)
  }
}

/** Whether the command may have arrived nevertheless. */
function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'NETWORK_ERROR' || error.code === 'TIMEOUT')
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'AUTHENTICATION_REQUIRED'
}
