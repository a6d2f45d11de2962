// Jobs by the operations that every server has: a run in the background, followed as server-sent events.

import type { JobSnapshot } from '../../generated/types.ts'
import type { Door, SubmitOptions, Submitted } from './door.ts'
import { Downtime } from './downtime.ts'
import { errorOfResponse } from './error-answer.ts'
import { networkError, ServiceError, sendable } from './errors.ts'
import { streamedEvents } from './event-stream.ts'
import type { Flight } from './flight.ts'
import type { History } from './history.ts'
import type { Http } from './http.ts'
import type { WorkflowInputs } from './inputs.ts'
import { Patience } from './patience.ts'
import type { Settings } from './settings.ts'
import { anyOf } from './waiting.ts'

export class HttpDoor implements Door {
  readonly #settings: Settings
  readonly #http: Http

  constructor(settings: Settings, http: Http) {
    this.#settings = settings
    this.#http = http
  }

  /** Not idempotent: sent again only where the server refused it, or cannot have got it. */
  async submit(id: string, params: WorkflowInputs, _: SubmitOptions, flight: Flight): Promise<Submitted> {
    const body = { params: { ...params }, background: true }
    const path = { id }
    const fetch = (request: Request) => this.#http.send(request, flight)
    const { job_id, workflow_id, status } = await this.#http.data<Submitted>(
      (one) => this.#http.client.POST('/api/workflows/{id}/run', { params: { path }, body, signal: one, fetch }),
      flight.signal,
    )
    return { job_id, workflow_id, status }
  }

  snapshot(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    const path = { id: job_id }
    return this.#http.data((one) => this.#http.client.GET('/api/jobs/{id}', { params: { path }, signal: one }), signal)
  }

  cancel(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    const path = { id: job_id }
    return this.#http.data(
      (one) => this.#http.client.POST('/api/jobs/{id}/cancel', { params: { path }, signal: one }),
      signal,
    )
  }

  async follow(job_id: string, history: History, signal: AbortSignal): Promise<void> {
    const down = new Downtime(this.#settings)
    const patience = new Patience(history, this.#settings.times.gap_ms)
    const stream = { retry_ms: 0 }
    while (!history.complete) {
      try {
        down.over(await this.#read(job_id, history, patience, stream, signal))
        if (history.complete) return
        if (patience.left > 0) throw networkError('The stream of events ended before the job did.')
        if (patience.next() === 'skip') history.settle(await this.snapshot(job_id, signal))
      } catch (error) {
        if (isExpired(error)) await this.#snapshotInstead(job_id, history, signal)
        else await down.wait(error, signal, stream.retry_ms)
      }
    }
  }

  /** Reads until the stream ends, or something is missing for too long. @returns whether it brought anything new */
  async #read(
    job_id: string,
    history: History,
    patience: Patience,
    stream: { retry_ms: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const before = history.last
    const stuck = new AbortController()
    const { signal: either, done } = anyOf(signal, stuck.signal)
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      const response = await this.#begin(job_id, before, either)
      if (!response.ok) throw await errorOfResponse(response)
      if (response.status === 204) await this.#snapshotInstead(job_id, history, signal)
      const keepRetry = (ms: number) => {
        stream.retry_ms = ms
      }
      const { silence_ms } = this.#settings.times
      for await (const { data } of streamedEvents(response.body, silence_ms, keepRetry, either)) {
        history.take(json(data))
        if (history.complete) break
        const { left } = patience
        clearTimeout(timer)
        if (left < Number.POSITIVE_INFINITY) timer = setTimeout(() => stuck.abort(), Math.max(0, left))
      }
    } catch (error) {
      if (!stuck.signal.aborted || signal.aborted) throw error
    } finally {
      clearTimeout(timer)
      done()
    }
    return history.last > before
  }

  /** The answer, unless it takes so long that the connection counts as dead. `follow` is who tries again. */
  async #begin(job_id: string, after: number, signal: AbortSignal): Promise<Response> {
    const { silence_ms } = this.#settings.times
    const dead = new AbortController()
    const end = () => dead.abort(networkError('The stream of events did not begin.'))
    const timer = setTimeout(end, silence_ms)
    const { signal: either, done } = anyOf(signal, dead.signal)
    try {
      return await this.#http.authorized(this.#request(job_id, after, either))
    } finally {
      clearTimeout(timer)
      done()
    }
  }

  #request(job_id: string, after: number, signal: AbortSignal): Request {
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': String(after) }
    const url = `${this.#settings.url}/api/jobs/${sendable('An id', () => encodeURIComponent(job_id))}/events`
    return new Request(url, { headers, signal })
  }

  /** There are no events to be had: what the snapshot says counts. */
  async #snapshotInstead(job_id: string, history: History, signal: AbortSignal): Promise<void> {
    const snapshot = await this.snapshot(job_id, signal)
    history.learn(snapshot)
    history.skip(snapshot.last_sequence)
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'REPLAY_EXPIRED'
}

/** Events that cannot be read are missing, and dealt with as such. */
function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
