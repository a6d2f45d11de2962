// The client of one service: one connection, one credential, and whichever operations the server has.
import type { WsCommandData, WsRpcCommand, WsRpcResults } from '../../generated/messages.ts'
import type { Capabilities, PreflightRequest, PreflightSummary, TemporaryAssetUpload } from '../../generated/types.ts'
import { Connection } from './connection.ts'
import type { Door, SubmitOptions } from './door.ts'
import { Errands } from './errands.ts'
import { errorOfResponse } from './error-answer.ts'
import { closedError, ServiceError } from './errors.ts'
import { Http, type HttpClient } from './http.ts'
import { HttpDoor } from './http-door.ts'
import type { WorkflowInputs, WorkflowOutputs } from './inputs.ts'
import { type AttachOptions, Job, type WaitOptions } from './job.ts'
import { LifecycleDoor } from './lifecycle-door.ts'
import { Rpc } from './rpc.ts'
import { type ClientOptions, type Settings, settingsOf } from './settings.ts'
import type { OpenSocket } from './socket.ts'
import { submission } from './submission.ts'
import { Tokens } from './tokens.ts'
import { type SendUpload, type UploadOptions, upload } from './upload.ts'
import type { UploadSource } from './upload-source.ts'
import { anyOf, unlessAborted } from './waiting.ts'

/** What differs between Node and browsers. */
export interface Platform {
  readonly open: OpenSocket
  readonly send: SendUpload
}

/** Options of `run`: those of a submission and those of the wait. */
export type RunOptions = SubmitOptions & WaitOptions

/** Made by `createClient`. Every method rejects with a `ServiceError`, with the reason of the signal that gave it up, or with what a function of the caller's threw. */
export class Client implements AsyncDisposable {
  /** Every operation of the contract, typed: `client.http.GET('/api/jobs')` answers `{ data, error, response }`. */
  readonly http: HttpClient
  readonly #settings: Settings
  readonly #platform: Platform
  readonly #tokens: Tokens
  readonly #http: Http
  readonly #rpc: Rpc
  readonly #connection: Connection
  readonly #closed = new AbortController()
  readonly #errands: Errands
  #door: Promise<Door> | null = null

  /** Use `createClient`. */
  constructor(options: ClientOptions, platform: Platform) {
    const settings = settingsOf(options)
    this.#settings = settings
    this.#errands = new Errands(settings.times.cancel_ms)
    this.#platform = platform
    this.#tokens = new Tokens(settings.token)
    this.#http = new Http(settings, this.#tokens, this.#closed.signal)
    this.http = this.#http.client
    this.#rpc = new Rpc(settings, () => this.#connection)
    this.#connection = new Connection({
      settings,
      tokens: this.#tokens,
      open: platform.open,
      probe: () => this.#probe(),
      onFrame: (frame, link) => this.#rpc.receive(frame, link),
    })
  }

  /**
   * Runs a workflow to its end.
   * @returns the outputs by name, a list for each that is declared a stream; media are `{ type, uri }`
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

  /** Submits a run and comes back as soon as the server has accepted it. */
  async submit(workflow_id: string, params: WorkflowInputs = {}, options: SubmitOptions = {}): Promise<Job> {
    return submission(options, {
      submit: async (flight) => (await this.#doorFor(flight.signal)).submit(workflow_id, params, options, flight),
      jobOf: ({ job_id, status }) => this.#job({ job_id, status }),
      errands: this.#errands,
    })
  }

  /** A job that was submitted before, by whomever. Nothing is asked of the server until the job is. */
  job(job_id: string, { after_sequence = 0 }: AttachOptions = {}): Job {
    return this.#job({ job_id, after_sequence })
  }

  /** What the server can do, and its limits. */
  capabilities({ signal }: { signal?: AbortSignal } = {}): Promise<Capabilities> {
    return this.#http.data((one) => this.http.GET('/api/sdk/v1/capabilities', { signal: one }), signal)
  }

  /** What a run would need, what stands in its way and what it would cost. It has no side effect. */
  preflight(request: PreflightRequest, { signal }: { signal?: AbortSignal } = {}): Promise<PreflightSummary> {
    return this.#http.data((one) => this.http.POST('/api/sdk/v1/preflight', { body: request, signal: one }), signal)
  }

  /** Uploads a file into temporary storage; `uri` of the answer may stand in inputs until `expires_at`. */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<TemporaryAssetUpload> {
    const { signal, done } = anyOf(this.#closed.signal, options.signal)
    const parts = { settings: this.#settings, tokens: this.#tokens, send: this.#platform.send }
    try {
      return await upload(source, { ...options, signal }, parts)
    } finally {
      done()
    }
  }

  /** Sends a command over the socket and gives its result. One whose answer is lost is sent again: all of them are idempotent. */
  rpc<C extends WsRpcCommand>(
    command: C,
    data: WsCommandData[C],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<WsRpcResults[C]> {
    return this.#rpc.ask(command, data, signal)
  }

  /** Ends the connection and every wait, with `CLIENT_CLOSED`. Jobs run on, also those that are being cancelled for `cancel_on_abort`. */
  close(): void {
    if (this.#closed.signal.aborted) return
    this.#closed.abort(closedError())
    this.#connection.close()
  }

  /** As `close`, once the cancellations for `cancel_on_abort` are through. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#errands.settled()
    this.close()
  }

  #job(facts: Pick<ConstructorParameters<typeof Job>[0], 'job_id' | 'status' | 'after_sequence'>): Job {
    return new Job({
      ...facts,
      door: (signal) => this.#doorFor(signal),
      errands: this.#errands,
      closed: this.#closed.signal,
    })
  }

  /** The operations of the lifecycle profile where the server has them, else those that all have. It is asked once. */
  async #doorFor(signal?: AbortSignal): Promise<Door> {
    this.#closed.signal.throwIfAborted()
    signal?.throwIfAborted()
    this.#door ??= this.#findDoor().catch((error: unknown) => {
      this.#door = null
      throw error
    })
    return unlessAborted(this.#door, signal)
  }

  async #findDoor(): Promise<Door> {
    const profiles = await this.capabilities().then(
      (found) => found.profiles,
      (error: unknown) => {
        if (hasNoProfile(error)) return null
        throw error
      },
    )
    return profiles?.jobs === 'available'
      ? new LifecycleDoor(this.#settings, this.#rpc, () => this.#connection)
      : new HttpDoor(this.#settings, this.#http)
  }

  /** Asks for something that needs a credential, and is cheap. */
  async #probe(): Promise<void> {
    const response = await this.#http.authorized(new Request(`${this.#settings.url}/api/sdk/v1/capabilities`))
    if (response.status === 401) throw await errorOfResponse(response)
    await response.body?.cancel()
  }
}

/** A server without the profile answers as it does for any unknown path. */
function hasNoProfile(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'SDK_LIFECYCLE_DISABLED' || error.status === 404)
}
