// Jobs by the operations of the lifecycle profile over the socket: idempotent submission, subscription after a sequence.

import type { JobSnapshot, SubmitJobRequest, SubscribeJobResponse } from '../../../generated/types.ts'
import type { ResolvedClientOptions } from '../client-options.ts'
import { networkError } from '../errors.ts'
import { createUuid } from '../json-and-uuid.ts'
import type { FrameChannel } from '../socket/frame-channel.ts'
import type { ReconnectingConnection } from '../socket/reconnecting-connection.ts'
import type { RpcClient } from '../socket/rpc-client.ts'
import type { WorkflowInputs } from '../workflow-value-types.ts'
import { GapTimeout } from './gap-timeout.ts'
import type { JobHistory } from './history.ts'
import type { PendingSubmission } from './pending-submission.ts'
import { ReconnectBackoff } from './reconnect-backoff.ts'
import type { JobTransport, SubmitOptions, SubmittedJob } from './transport.ts'

export class LifecycleJobTransport implements JobTransport {
  readonly #settings: ResolvedClientOptions
  readonly #rpc: RpcClient
  readonly #connection: () => ReconnectingConnection

  constructor(settings: ResolvedClientOptions, rpc: RpcClient, connection: () => ReconnectingConnection) {
    this.#settings = settings
    this.#rpc = rpc
    this.#connection = connection
  }

  async submit(
    workflow_id: string,
    inputs: WorkflowInputs,
    options: SubmitOptions,
    flight: PendingSubmission,
  ): Promise<SubmittedJob> {
    const { signal } = flight
    const workflow_etag =
      options.workflow_etag ??
      (await this.#rpc.call('get_workflow_interface', { id: workflow_id, version: 1 }, signal)).etag
    const request: SubmitJobRequest = {
      client_request_id: options.client_request_id ?? createUuid(),
      // The body is made once, so that every attempt has the same key and the same body.
      idempotency_key: options.idempotency_key ?? createUuid(),
      workflow_id,
      workflow_etag,
      interface_version: 1,
      inputs,
      ...(options.workspace_id === undefined ? {} : { workspace_id: options.workspace_id }),
      ...(options.concurrent === undefined ? {} : { options: { concurrent: options.concurrent } }),
    }
    const { job_id, status } = await this.#rpc.call('submit_job', request, signal, flight)
    return { job_id, workflow_id, status }
  }

  snapshot(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    return this.#rpc.call('get_job_snapshot', { job_id }, signal)
  }

  async cancel(job_id: string, signal?: AbortSignal): Promise<JobSnapshot> {
    return (await this.#rpc.call('request_job_cancellation', { job_id }, signal)).snapshot
  }

  async follow(job_id: string, history: JobHistory, signal: AbortSignal): Promise<void> {
    const connection = this.#connection()
    const release = connection.hold()
    const stop = this.#rpc.addEventListener(job_id, (event) => history.addEvent(event))
    const down = new ReconnectBackoff(this.#settings)
    const patience = new GapTimeout(history, this.#settings.times.gap_ms)
    try {
      while (!history.isComplete) {
        const before = history.last_sequence
        let connected = false
        try {
          const link = await connection.acquireChannel(signal)
          await this.#subscribe(link, job_id, history, signal)
          connected = true
          await this.#readUntilGapOrEnd(link, history, patience, signal)
          if (patience.remaining_ms > 0) continue
          if (patience.nextAction() === 'skip') history.skipMissing(await this.snapshot(job_id, signal))
        } catch (error) {
          if (connected) down.recordConnection(history.last_sequence > before)
          await down.waitBeforeRetry(error, signal)
        }
      }
    } finally {
      stop()
      release()
    }
  }

  async #subscribe(link: FrameChannel, job_id: string, history: JobHistory, signal: AbortSignal): Promise<void> {
    const request = { job_id, after_sequence: history.last_sequence }
    const answer: SubscribeJobResponse = await this.#rpc.callOn(link, 'subscribe_job', request, signal)
    const { snapshot, replay_from_sequence } = answer
    history.applySnapshot(snapshot)
    // Events past their retention do not come. The snapshot counts in their place.
    const first = replay_from_sequence ?? snapshot.last_sequence + 1
    if (first > history.last_sequence + 1) history.skipTo(first - 1)
  }

  /** Reads until the job is complete, or an event is missing for too long. @throws ServiceError where the connection is lost */
  async #readUntilGapOrEnd(
    link: FrameChannel,
    history: JobHistory,
    patience: GapTimeout,
    signal: AbortSignal,
  ): Promise<void> {
    let lost: { fatal: unknown } | null = null
    const wake = () => history.changed.notify()
    const unwatch = link.watch((fatal) => {
      lost = { fatal }
      wake()
    })
    signal.addEventListener('abort', wake)
    const end = (): { fatal: unknown } | null => lost
    try {
      for (;;) {
        signal.throwIfAborted()
        if (history.isComplete) return
        const ended = end()
        if (ended) throw ended.fatal ?? networkError('The connection was lost.')
        const { remaining_ms } = patience
        if (remaining_ms <= 0) return
        await history.changed.waitForChange(remaining_ms)
      }
    } finally {
      unwatch()
      signal.removeEventListener('abort', wake)
    }
  }
}
