// A client of the lifecycle profile, written from the documents alone: what it takes to submit, follow and cancel jobs.
import { randomUUID } from 'node:crypto'
import { ClientError, type Settings, Tokens } from './flaws.ts'
import { http, mayTryAgain, once, pathOf, waitFor } from './http.ts'
import { Link } from './link.ts'

type Fields = Record<string, unknown>

const ATTEMPTS = 8
const HASTY_MS = 150

/** HTTP operations that are commands as well. */
const TWINS: Readonly<Record<string, { method: 'GET' | 'POST'; path(settings: Settings, data: Fields): string }>> = {
  get_capabilities: { method: 'GET', path: () => '/api/sdk/v1/capabilities' },
  preflight_workflow: { method: 'POST', path: () => '/api/sdk/v1/preflight' },
  submit_job: { method: 'POST', path: () => '/api/sdk/v1/jobs' },
  request_job_cancellation: {
    method: 'POST',
    path: (settings, { job_id }) => pathOf(settings, ['/api/sdk/v1/jobs/', '/cancel'] as never, String(job_id)),
  },
}

export class SecondClient {
  readonly settings: Settings
  readonly link: Link
  readonly #tokens: Tokens
  #jobs: Promise<boolean> | null = null

  constructor(settings: Settings) {
    this.settings = settings
    this.#tokens = new Tokens(settings)
    this.link = new Link(settings, this.#tokens)
  }

  /** One operation through the door of the settings, sent again where that is safe and may help. @throws ClientError */
  async call(command: string, data: Fields): Promise<Fields> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#once(command, data).catch((error: ClientError) => error)
      if (!(answer instanceof Error)) return answer
      if (!mayTryAgain(this.settings, answer) || attempt >= ATTEMPTS) throw answer
      if (command === 'submit_job') this.#spoil(data, answer)
      if (command === 'request_job_cancellation' && this.settings.flaws.has('cancels-once'))
        return { status: 'running' }
      await waitFor(this.settings, answer, attempt)
    }
  }

  /** Whether the server has the profile of jobs. */
  hasJobs(): Promise<boolean> {
    if (this.settings.flaws.has('assumes-jobs')) return Promise.resolve(true)
    this.#jobs ??= this.call('get_capabilities', {}).then(({ profiles }) => (profiles as Fields).jobs === 'available')
    return this.#jobs
  }

  http(method: 'GET' | 'POST', path: string, json?: unknown): Promise<Fields> {
    return http(this.settings, this.#tokens, { method, path, json })
  }

  /** Submits a job at most once, and gives its id. @throws ClientError */
  async submit(workflow_id: string, inputs: Fields): Promise<string> {
    const { flaws } = this.settings
    const etag = await this.#etag(workflow_id)
    const data = {
      client_request_id: randomUUID(),
      idempotency_key: randomUUID(),
      workflow_id,
      workflow_etag: etag,
      interface_version: 1,
      inputs,
    }
    const answer = await (flaws.has('hasty') ? this.#hastily(data) : this.call('submit_job', data)).catch(
      (error: ClientError) => {
        const again =
          (error.code === 'IDEMPOTENCY_CONFLICT' && flaws.has('new-key-after-conflict')) ||
          (error.code === 'WORKFLOW_REVISION_CONFLICT' && flaws.has('same-etag-again'))
        if (again) return this.call('submit_job', { ...data, idempotency_key: randomUUID() })
        if (error.code !== 'WORKFLOW_REVISION_CONFLICT') throw error
        return this.#resubmit(data)
      },
    )
    if (flaws.has('queued-is-refused') && answer.status === 'queued') throw new ClientError('queued', false)
    return String(answer.job_id)
  }

  /** Runs a workflow by the common route, which has no key: it is sent once. @throws ClientError */
  runAtOnce(workflow_id: string, params: Fields): Promise<Fields> {
    const path = pathOf(this.settings, ['/api/workflows/', '/run'] as never, workflow_id)
    const request = { method: 'POST', path, json: { params } } as const
    const send = this.settings.flaws.has('runs-again') ? http : once
    return send(this.settings, this.#tokens, request)
  }

  snapshot(job_id: string): Promise<Fields> {
    return this.http('GET', pathOf(this.settings, ['/api/sdk/v1/jobs/', ''] as never, job_id))
  }

  upload(name: string, content_type: string, bytes: Buffer): Promise<Fields> {
    const boundary = `----${randomUUID()}`
    const quoted = this.settings.flaws.has('unescaped-name') ? name : name.replaceAll('"', '%22')
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted}"\r\nContent-Type: ${content_type}\r\n\r\n`
    const whole = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
    const raw = { content_type: `multipart/form-data; boundary=${boundary}`, bytes: whole }
    return http(this.settings, this.#tokens, { method: 'POST', path: '/api/sdk/v1/assets/temporary', raw })
  }

  #once(command: string, data: Fields): Promise<Fields> {
    const twin = TWINS[command]
    if (this.settings.door === 'socket' || !twin) return this.link.rpc(command, data)
    const json = twin.method === 'GET' || command === 'request_job_cancellation' ? undefined : data
    return once(this.settings, this.#tokens, { method: twin.method, path: twin.path(this.settings, data), json })
  }

  async #etag(workflow_id: string): Promise<string> {
    const path = pathOf(this.settings, ['/api/workflows/', '/interface'] as never, workflow_id)
    return String((await this.http('GET', path)).etag)
  }

  async #resubmit(data: Fields): Promise<Fields> {
    const workflow_etag = await this.#etag(String(data.workflow_id))
    return this.call('submit_job', { ...data, workflow_etag, idempotency_key: randomUUID() })
  }

  /** A client that does not wait for a slow answer. */
  async #hastily(data: Fields): Promise<Fields> {
    const first = this.call('submit_job', data)
    first.catch(() => {})
    const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), HASTY_MS))
    return (await Promise.race([first, late])) ?? this.call('submit_job', { ...data, idempotency_key: randomUUID() })
  }

  /** What a broken client changes before it sends a submission again. */
  #spoil(data: Fields, { code }: ClientError): void {
    const { flaws } = this.settings
    const newKey =
      flaws.has('new-key-on-retry') || (flaws.has('new-key-after-internal-error') && code === 'INTERNAL_ERROR')
    if (newKey) data.idempotency_key = randomUUID()
    if (flaws.has('new-body-on-retry')) data.options = { concurrent: true }
  }
}
