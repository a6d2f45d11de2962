// The client of one service. It has one connection, one credential, and the operations that the server supports.
import type { WsCommandData, WsRpcCommand, WsRpcResults } from '../../generated/messages.ts'
import type { Capabilities, PreflightRequest, PreflightSummary, TemporaryAssetUpload } from '../../generated/types.ts'
import { combineSignals, raceAbort } from './abortable-waits.ts'
import { BackgroundTasks } from './background-tasks.ts'
import { type ClientOptions, type ResolvedClientOptions, resolveClientOptions } from './client-options.ts'
import { readServiceError } from './error-response.ts'
import { clientClosedError, ServiceError } from './errors.ts'
import { type HttpClient, RetryingHttp } from './http-client.ts'
import { HttpJobTransport } from './jobs/http-transport.ts'
import { type AttachOptions, Job, type WaitOptions } from './jobs/job.ts'
import { LifecycleJobTransport } from './jobs/lifecycle-transport.ts'
import { submitAbortable } from './jobs/submission.ts'
import type { JobTransport, SubmitOptions } from './jobs/transport.ts'
import type { SocketOpener } from './socket/platform-socket.ts'
import { ReconnectingConnection } from './socket/reconnecting-connection.ts'
import { RpcClient } from './socket/rpc-client.ts'
import { TokenSource } from './token-source.ts'
import type { UploadSource } from './uploads/source.ts'
import { type UploadOptions, type UploadSender, uploadFile } from './uploads/upload.ts'
import type { WorkflowInputs, WorkflowOutputs } from './workflow-value-types.ts'

/** The parts that differ between Node and browsers. */
export interface ClientPlatform {
  readonly openSocket: SocketOpener
  readonly sendUpload: UploadSender
}

/** The options of `run`: those of a submission and those of the wait. */
export type RunOptions = SubmitOptions & WaitOptions

/**
 * A client, made by `createClient`. Every method rejects with a `ServiceError`, with
 * the reason of its aborted signal, or with the error of a callback.
 */
export class Client implements AsyncDisposable {
  /** Every operation of the contract, typed. `client.http.GET('/api/jobs')` resolves with `{ data, error, response }`. */
  readonly http: HttpClient
  readonly #settings: ResolvedClientOptions
  readonly #platform: ClientPlatform
  readonly #tokens: TokenSource
  readonly #http: RetryingHttp
  readonly #rpc: RpcClient
  readonly #connection: ReconnectingConnection
  readonly #closing = new AbortController()
  readonly #backgroundTasks: BackgroundTasks
  #transport: Promise<JobTransport> | null = null

  /** Use `createClient` instead. */
  constructor(options: ClientOptions, platform: ClientPlatform) {
    const settings = resolveClientOptions(options)
    this.#settings = settings
    this.#backgroundTasks = new BackgroundTasks(settings.times.cancel_ms)
    this.#platform = platform
    this.#tokens = new TokenSource(settings.token)
    this.#http = new RetryingHttp(settings, this.#tokens, this.#closing.signal)
    this.http = this.#http.client
    this.#rpc = new RpcClient(settings, () => this.#connection)
    this.#connection = new ReconnectingConnection({
      settings,
      tokens: this.#tokens,
      openSocket: platform.openSocket,
      probeCredential: () => this.#probeCredential(),
      onFrame: (frame, link) => this.#rpc.handleFrame(frame, link),
    })
  }

  /**
   * Runs a workflow to its end.
   * @returns the outputs by name, with a list for each streamed output; media are `{ type, uri }`
   * @throws JobError where the job fails or is cancelled
   */
  async run<Outputs extends object = WorkflowOutputs>(
    workflow_id: string,
    params: WorkflowInputs = {},
    options: RunOptions = {},
  ): Promise<Outputs> {
    const job = await this.submit(workflow_id, params, options)
    return (await job.wait(options)).outputs as Outputs
  }

  /** Submits a run. Resolves as soon as the server has accepted it. */
  async submit(workflow_id: string, params: WorkflowInputs = {}, options: SubmitOptions = {}): Promise<Job> {
    return submitAbortable(options, {
      submit: async (flight) => (await this.#transportFor(flight.signal)).submit(workflow_id, params, options, flight),
      createJob: ({ job_id, status }) => this.#createJob({ job_id, status }),
      backgroundTasks: this.#backgroundTasks,
    })
  }

  /** Attaches to an existing job, which any client may have submitted. The client sends no request until the job is used. */
  job(job_id: string, { after_sequence = 0 }: AttachOptions = {}): Job {
    return this.#createJob({ job_id, after_sequence })
  }

  /** Returns the server's abilities and limits. */
  capabilities({ signal }: { signal?: AbortSignal } = {}): Promise<Capabilities> {
    return this.#http.fetchData((one) => this.http.GET('/api/sdk/v1/capabilities', { signal: one }), signal)
  }

  /** Returns what a run would need, its problems and its cost. A preflight has no side effect. */
  preflight(request: PreflightRequest, { signal }: { signal?: AbortSignal } = {}): Promise<PreflightSummary> {
    return this.#http.fetchData(
      (one) => this.http.POST('/api/sdk/v1/preflight', { body: request, signal: one }),
      signal,
    )
  }

  /** Uploads a file into temporary storage. Inputs may refer to the answer's `uri` until `expires_at`. */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<TemporaryAssetUpload> {
    const { signal, done } = combineSignals(this.#closing.signal, options.signal)
    const parts = { settings: this.#settings, tokens: this.#tokens, send: this.#platform.sendUpload }
    try {
      return await uploadFile(source, { ...options, signal }, parts)
    } finally {
      done()
    }
  }

  /**
   * Sends a command over the socket and returns its result. Where the answer is
   * lost, the command is sent again: all commands are idempotent.
   */
  rpc<C extends WsRpcCommand>(
    command: C,
    data: WsCommandData[C],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<WsRpcResults[C]> {
    return this.#rpc.call(command, data, signal)
  }

  /**
   * Ends the connection and every wait with `CLIENT_CLOSED`. Jobs run on, even those whose cancellation for `cancel_on_abort` is pending.
   */
  close(): void {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(clientClosedError())
    this.#connection.close()
  }

  /** Waits for the cancellations for `cancel_on_abort`, and then closes the client. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backgroundTasks.waitUntilIdle()
    this.close()
  }

  #createJob(facts: Pick<ConstructorParameters<typeof Job>[0], 'job_id' | 'status' | 'after_sequence'>): Job {
    return new Job({
      ...facts,
      getTransport: (signal) => this.#transportFor(signal),
      backgroundTasks: this.#backgroundTasks,
      closeSignal: this.#closing.signal,
    })
  }

  /** Uses the operations of the lifecycle profile where the server has them, else the common operations. The client asks once. */
  async #transportFor(signal?: AbortSignal): Promise<JobTransport> {
    this.#closing.signal.throwIfAborted()
    signal?.throwIfAborted()
    this.#transport ??= this.#findTransport().catch((error: unknown) => {
      this.#transport = null
      throw error
    })
    return raceAbort(this.#transport, signal)
  }

  async #findTransport(): Promise<JobTransport> {
    const profiles = await this.capabilities().then(
      (found) => found.profiles,
      (error: unknown) => {
        if (isLifecycleProfileMissing(error)) return null
        throw error
      },
    )
    return profiles?.jobs === 'available'
      ? new LifecycleJobTransport(this.#settings, this.#rpc, () => this.#connection)
      : new HttpJobTransport(this.#settings, this.#http)
  }

  /** Sends a cheap request that needs a credential. */
  async #probeCredential(): Promise<void> {
    const response = await this.#http.sendAuthorized(new Request(`${this.#settings.url}/api/sdk/v1/capabilities`))
    if (response.status === 401) throw await readServiceError(response)
    await response.body?.cancel()
  }
}

/** A server without the profile answers as it does for any unknown path. */
function isLifecycleProfileMissing(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'SDK_LIFECYCLE_DISABLED' || error.status === 404)
}
