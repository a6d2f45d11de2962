// Jobs by the operations that every server has: a run in the background, followed by server-sent events.

import type { JobSnapshot } from '../../../generated/types.ts'
import { combineSignals } from '../abortable-waits.ts'
import type { ResolvedClientOptions } from '../client-options.ts'
import { readServiceError } from '../error-response.ts'
import { encodeArgument, networkError, ServiceError } from '../errors.ts'
import type { RetryingHttp } from '../http-client.ts'
import type { WorkflowInputs } from '../workflow-value-types.ts'
import { GapTimeout } from './gap-timeout.ts'
import type { JobHistory } from './history.ts'
import type { PendingSubmission } from './pending-submission.ts'
import { ReconnectBackoff } from './reconnect-backoff.ts'
import { readServerSentEvents } from './server-sent-events.ts'
import type { JobTransport, SubmitOptions, SubmittedJob } from './transport.ts'

export class HttpJobTransport implements JobTransport {
  readonly #settings: ResolvedClientOptions
  readonly #http: RetryingHttp

  constructor(settings: ResolvedClientOptions, http: RetryingHttp) {
    this.#settings = settings
    this.#http = http
  }

  /** The operation is not idempotent. It is repeated only where the server refused the request, or cannot have received it. */
  async submit(id: string, params: WorkflowInputs, _: SubmitOptions, flight: PendingSubmission): Promise<SubmittedJob> {
    const body = { params: { ...params }, background: true }
    const path = { id }
    const fetch = (request: Request) => this.#http.send(request, flight)
    const { job_id, workflow_id, status } = await this.#http.fetchData<SubmittedJob>(
      (one) => this.#http.client.POST('/api/workflows/{id}/run', { params: { path }, body, signal: one, fetch }),
      flight.signal,
    )
    return { job_id, workflow_id, status }
  }

  snapshot(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    const path = { id: job_id }
    return this.#http.fetchData(
      (one) => this.#http.client.GET('/api/jobs/{id}', { params: { path }, signal: one }),
      signal,
    )
  }

  cancel(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    const path = { id: job_id }
    return this.#http.fetchData(
      (one) => this.#http.client.POST('/api/jobs/{id}/cancel', { params: { path }, signal: one }),
      signal,
    )
  }

  async follow(job_id: string, history: JobHistory, signal: AbortSignal): Promise<void> {
    const down = new ReconnectBackoff(this.#settings)
    const patience = new GapTimeout(history, this.#settings.times.gap_ms)
    const stream = { retry_ms: 0 }
    while (!history.isComplete) {
      try {
        down.recordConnection(await this.#readStream(job_id, history, patience, stream, signal))
        if (history.isComplete) return
        if (patience.remaining_ms > 0) throw networkError('The stream of events ended before the job did.')
        if (patience.nextAction() === 'skip') history.skipMissing(await this.snapshot(job_id, signal))
      } catch (error) {
        if (isReplayExpired(error)) await this.#applySnapshotInstead(job_id, history, signal)
        else await down.waitBeforeRetry(error, signal, stream.retry_ms)
      }
    }
  }

  /** Reads until the stream ends, or an event is missing for too long. @returns whether the stream brought new events */
  async #readStream(
    job_id: string,
    history: JobHistory,
    patience: GapTimeout,
    stream: { retry_ms: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const before = history.last_sequence
    const stuck = new AbortController()
    const { signal: either, done } = combineSignals(signal, stuck.signal)
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      const response = await this.#openStream(job_id, before, either)
      if (!response.ok) throw await readServiceError(response)
      if (response.status === 204) await this.#applySnapshotInstead(job_id, history, signal)
      const keepRetry = (ms: number) => {
        stream.retry_ms = ms
      }
      const { silence_ms } = this.#settings.times
      for await (const { data } of readServerSentEvents(response.body, silence_ms, keepRetry, either)) {
        history.addEvent(parseJsonOrNull(data))
        if (history.isComplete) break
        const { remaining_ms } = patience
        clearTimeout(timer)
        if (remaining_ms < Number.POSITIVE_INFINITY) timer = setTimeout(() => stuck.abort(), Math.max(0, remaining_ms))
      }
    } catch (error) {
      if (!stuck.signal.aborted || signal.aborted) throw error
    } finally {
      clearTimeout(timer)
      done()
    }
    return history.last_sequence > before
  }

  /** Opens the stream. Fails where it takes so long that the connection counts as dead; `follow` then tries again. */
  async #openStream(job_id: string, after: number, signal: AbortSignal): Promise<Response> {
    const { silence_ms } = this.#settings.times
    const dead = new AbortController()
    const end = () => dead.abort(networkError('The stream of events did not start.'))
    const timer = setTimeout(end, silence_ms)
    const { signal: either, done } = combineSignals(signal, dead.signal)
    try {
      return await this.#http.sendAuthorized(this.#createStreamRequest(job_id, after, either))
    } finally {
      clearTimeout(timer)
      done()
    }
  }

  #createStreamRequest(job_id: string, after: number, signal: AbortSignal): Request {
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': String(after) }
    const url = `${this.#settings.url}/api/jobs/${encodeArgument('An id', () => encodeURIComponent(job_id))}/events`
    return new Request(url, { headers, signal })
  }

  /** The events are no longer available, so the snapshot counts. */
  async #applySnapshotInstead(job_id: string, history: JobHistory, signal: AbortSignal): Promise<void> {
    const snapshot = await this.snapshot(job_id, signal)
    history.applySnapshot(snapshot)
    history.skipTo(snapshot.last_sequence)
  }
}

function isReplayExpired(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'REPLAY_EXPIRED'
}

/** Events that cannot be parsed count as missing. */
function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
