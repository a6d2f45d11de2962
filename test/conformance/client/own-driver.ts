// Does the tasks of the scenarios with the project's own client.
import { type Client, createClient, type Job, JobError, ServiceError } from '../../../src/client/node.ts'
import type { ClientDriver } from '../../../src/conformance/client/scenario-runner.ts'
import type { ClientTask } from '../../../src/conformance/client/tasks.ts'

interface Report {
  readonly status: string
  readonly value: unknown
  readonly events: readonly number[]
}

type Of<K extends ClientTask['kind']> = Extract<ClientTask, { kind: K }>

export const ownDriver: ClientDriver = async ({ url, task, signal }) => {
  const client = clientFor(url, task)
  signal.addEventListener('abort', () => client.close())
  try {
    const report = await WORK[task.kind](client, task as never).catch(refusalOf)
    await client.submit(task.report_workflow_id, { ...report })
    return 'done'
  } finally {
    client.close()
  }
}

/** Times are shortened as those of the scenarios are. */
function clientFor(url: string, { tokens, pace, encoding }: ClientTask): Client {
  const unused = [...tokens]
  return createClient({
    url,
    token: () => unused.shift() ?? tokens.at(-1)!,
    encoding: encoding ?? 'messagepack',
    backoff: { base_ms: 60, max_ms: 2_000, attempts: 6 },
    times: { silence_ms: Math.max(500, 70_000 * pace), gap_ms: 50, idle_ms: 200 },
  })
}

function refusalOf(error: unknown): Report {
  if (error instanceof ServiceError && error.code !== 'CLIENT_CLOSED')
    return { status: error.code, value: null, events: [] }
  throw error
}

const WORK: { readonly [K in ClientTask['kind']]: (client: Client, task: Of<K>) => Promise<Report> } = {
  run: async (client, { workflow_id, inputs, preflight }) => {
    if (preflight) {
      const { runnable } = await client.preflight({ workflow_id, inputs: { ...inputs }, level: 'execution' })
      if (!runnable) return { status: 'not_runnable', value: null, events: [] }
    }
    return followed(await client.submit(workflow_id, { ...inputs }))
  },
  pair: async (client, { workflow_id, inputs }) => {
    const reports = await Promise.all(inputs.map(async (one) => followed(await client.submit(workflow_id, { ...one }))))
    const status = reports.every((report) => report.status === 'completed') ? 'completed' : 'failed'
    return { status, value: reports.map(({ value }) => value), events: [] }
  },
  cancel: async (client, { workflow_id, inputs, when }) => {
    const job = await client.submit(workflow_id, { ...inputs })
    const report = followed(job, async (event) => {
      if (event.type === 'job_status' && event.status === when) await job.cancel()
    })
    if (when === 'ended') {
      await report
      await job.cancel()
    }
    return report
  },
  look: async (client, { workflow_id, inputs }) => {
    const job = await client.submit(workflow_id, { ...inputs })
    for await (const event of job) if (event.type === 'job_status' && event.status === 'suspended') break
    await job.snapshot()
    return { status: String(job.status), value: null, events: [] }
  },
  attach: (client, { job_id, after_sequence }) => followed(client.job(job_id, { after_sequence })),
  capabilities: async (client) => {
    const { profiles, server_version } = await client.capabilities()
    return { status: profiles.jobs, value: server_version, events: [] }
  },
  earlier: async (client, { job_ids }) => {
    const [a, b] = await Promise.all(job_ids.map((id) => client.job(id).snapshot()))
    return { status: 'compared', value: instant(a!) < instant(b!) ? job_ids[0] : job_ids[1], events: [] }
  },
  upload: async (client, { name, content_type, content_base64 }) => {
    const { uri } = await client.upload(Buffer.from(content_base64, 'base64'), { name, content_type })
    return { status: 'uploaded', value: uri, events: [] }
  },
}

const instant = ({ created_at }: { created_at: string }) => Date.parse(created_at)

type Event = Job extends AsyncIterable<infer E> ? E : never

async function followed(job: Job, see: (event: Event) => Promise<void> = async () => {}): Promise<Report> {
  const events: number[] = []
  let seen = Promise.resolve()
  for await (const event of job) {
    events.push(event.sequence)
    seen = see(event)
    seen.catch(() => {})
  }
  await seen
  try {
    const { outputs } = await job.wait()
    return { status: 'completed', value: outputs.greeting ?? null, events }
  } catch (error) {
    if (error instanceof JobError) return { status: error.snapshot.status, value: null, events }
    throw error
  }
}
