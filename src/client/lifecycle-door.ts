// Jobs by the lifecycle profile's own operations, over the socket: idempotent submission, subscription from a sequence.

import type { JobSnapshot, SubmitJobRequest, SubscribeJobResponse } from '../../generated/types.ts'
import type { Connection } from './connection.ts'
import type { Door, SubmitOptions, Submitted } from './door.ts'
import { Downtime } from './downtime.ts'
import { networkError } from './errors.ts'
import type { Flight } from './flight.ts'
import type { History } from './history.ts'
import type { WorkflowInputs } from './inputs.ts'
import type { Link } from './link.ts'
import { Patience } from './patience.ts'
import type { Rpc } from './rpc.ts'
import type { Settings } from './settings.ts'
import { uuid } from './values.ts'

export class LifecycleDoor implements Door {
  readonly #settings: Settings
  readonly #rpc: Rpc
  readonly #connection: () => Connection

  constructor(settings: Settings, rpc: Rpc, connection: () => Connection) {
    this.#settings = settings
    this.#rpc = rpc
    this.#connection = connection
  }

  async submit(
    workflow_id: string,
    inputs: WorkflowInputs,
    options: SubmitOptions,
    flight: Flight,
  ): Promise<Submitted> {
    const { signal } = flight
    const workflow_etag =
      options.workflow_etag ??
      (await this.#rpc.ask('get_workflow_interface', { id: workflow_id, version: 1 }, signal)).etag
    const request: SubmitJobRequest = {
      client_request_id: options.client_request_id ?? uuid(),
      // Made once: every attempt has the same key and the same body.
      idempotency_key: options.idempotency_key ?? uuid(),
      workflow_id,
      workflow_etag,
      interface_version: 1,
      inputs,
      ...(options.workspace_id === undefined ? {} : { workspace_id: options.workspace_id }),
      ...(options.concurrent === undefined ? {} : { options: { concurrent: options.concurrent } }),
    }
    const { job_id, status } = await this.#rpc.ask('submit_job', request, signal, flight)
    return { job_id, workflow_id, status }
  }

  snapshot(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    return this.#rpc.ask('get_job_snapshot', { job_id }, signal)
  }

  async cancel(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    return (await this.#rpc.ask('request_job_cancellation', { job_id }, signal)).snapshot
  }

  async follow(job_id: string, history: History, signal: AbortSignal): Promise<void> {
    const connection = this.#connection()
    const release = connection.hold()
    const stop = this.#rpc.listen(job_id, (event) => history.take(event))
    const down = new Downtime(this.#settings)
    const patience = new Patience(history, this.#settings.times.gap_ms)
    try {
      while (!history.complete) {
        const before = history.last
        let connected = false
        try {
          const link = await connection.link(signal)
          await this.#subscribe(link, job_id, history, signal)
          connected = true
          await this.#listen(link, history, patience, signal)
          if (patience.left > 0) continue
          if (patience.next() === 'skip') history.settle(await this.snapshot(job_id, signal))
        } catch (error) {
          if (connected) down.over(history.last > before)
          await down.wait(error, signal)
        }
      }
    } finally {
      stop()
      release()
    }
  }

  async #subscribe(link: Link, job_id: string, history: History, signal: AbortSignal): Promise<void> {
    const request = { job_id, after_sequence: history.last }
    const answer: SubscribeJobResponse = await this.#rpc.askOn(link, 'subscribe_job', request, signal)
    const { snapshot, replay_from_sequence } = answer
    history.learn(snapshot)
    // What is past its retention will not come; the snapshot counts in its place.
    const first = replay_from_sequence ?? snapshot.last_sequence + 1
    if (first > history.last + 1) history.skip(first - 1)
  }

  /** Until the job is complete, or something is missing for too long. @throws ServiceError where the connection is lost */
  async #listen(link: Link, history: History, patience: Patience, signal: AbortSignal): Promise<void> {
    let lost: { fatal: unknown } | null = null
    const wake = () => history.changed.ring()
    const unwatch = link.watch((fatal) => {
      lost = { fatal }
      wake()
    })
    signal.addEventListener('abort', wake)
    const end = (): { fatal: unknown } | null => lost
    try {
      for (;;) {
        signal.throwIfAborted()
        if (history.complete) return
        const ended = end()
        if (ended) throw ended.fatal ?? networkError('The connection was lost.')
        const { left } = patience
        if (left <= 0) return
        await history.changed.next(left)
      }
    } finally {
      unwatch()
      signal.removeEventListener('abort', wake)
    }
  }
}
