// Does the tasks of the scenarios with the second client, and reports what it understood.
import type { ClientDriver } from '../../../../src/conformance/client/scenario-runner.ts'
import type { ClientTask } from '../../../../src/conformance/client/tasks.ts'
import { SecondClient } from './client.ts'
import { ClientError, type Flaw } from './flaws.ts'
import { Follower } from './follow.ts'

type Fields = Record<string, unknown>
type Report = { status: string; value: unknown; events: readonly number[] }
type Of<K extends ClientTask['kind']> = Extract<ClientTask, { kind: K }>

export function secondDriver(door: 'http' | 'socket', ...flaws: Flaw[]): ClientDriver {
  return async ({ url, task, signal }) => {
    const { tokens, pace, encoding = 'messagepack' } = task
    const client = new SecondClient({ url, tokens, pace, encoding, door, flaws: new Set(flaws), signal })
    // What is still waited for then, on a connection that lives, would never come.
    signal.addEventListener('abort', () => void client.link.close())
    try {
      const report = await WORK[task.kind](client, task as never).catch((error: unknown) => {
        if (error instanceof ClientError && error.code !== 'ABORTED')
          return { status: error.code, value: null, events: [] }
        throw error
      })
      await give(client, task, report)
      return 'done'
    } finally {
      await client.link.close()
    }
  }
}

async function give(client: SecondClient, { report_workflow_id }: ClientTask, report: Report): Promise<void> {
  if (await client.hasJobs()) await client.submit(report_workflow_id, { ...report })
  else await client.http('POST', `/api/workflows/${report_workflow_id}/run`, { params: report })
}

const WORK: { readonly [K in ClientTask['kind']]: (client: SecondClient, task: Of<K>) => Promise<Report> } = {
  run: async (client, task) => {
    if (!(await client.hasJobs())) {
      const { status, outputs } = await client.runAtOnce(task.workflow_id, task.inputs)
      return { status: String(status), value: (outputs as Fields).greeting ?? null, events: [] }
    }
    if (task.preflight) {
      const { workflow_id, inputs } = task
      const { runnable } = await client.call('preflight_workflow', { workflow_id, inputs, level: 'execution' })
      if (!runnable && !client.settings.flaws.has('ignores-runnable'))
        return { status: 'not_runnable', value: null, events: [] }
    }
    return runOne(client, task.workflow_id, task.inputs)
  },
  pair: async (client, { workflow_id, inputs }) => {
    await client.hasJobs()
    const reports = await Promise.all(inputs.map((one) => runOne(client, workflow_id, one)))
    const status = reports.every((report) => report.status === 'completed') ? 'completed' : 'failed'
    return { status, value: reports.map(({ value }) => value), events: [] }
  },
  cancel: cancelOne,
  look: async (client, { workflow_id, inputs }) => {
    const job_id = await client.submit(workflow_id, inputs)
    const follower = new Follower(client, job_id, 0)
    follower.run().catch(() => {})
    await follower.until(() => follower.status === 'suspended')
    follower.take(await client.snapshot(job_id), false)
    return { status: follower.status, value: null, events: [] }
  },
  attach: (client, { job_id, after_sequence }) => followed(new Follower(client, job_id, after_sequence)),
  capabilities: async (client) => {
    const { profiles, server_version } = await client.call('get_capabilities', {})
    return { status: String((profiles as Fields).jobs), value: server_version, events: [] }
  },
  earlier: async (client, { job_ids }) => {
    const snapshots = await Promise.all(job_ids.map((id) => client.snapshot(id)))
    const text = client.settings.flaws.has('compares-text')
    const [a, b] = snapshots.map(({ created_at }) => (text ? String(created_at) : Date.parse(String(created_at)))) as [
      number,
      number,
    ]
    return { status: 'compared', value: a < b ? job_ids[0] : job_ids[1], events: [] }
  },
  upload: async (client, { name, content_type, content_base64 }) => {
    const { uri } = await client.upload(name, content_type, Buffer.from(content_base64, 'base64'))
    return { status: 'uploaded', value: uri, events: [] }
  },
}

async function runOne(client: SecondClient, workflow_id: string, inputs: Fields): Promise<Report> {
  const { flaws } = client.settings
  const follower = new Follower(client, await client.submit(workflow_id, inputs), 0)
  try {
    const report = await followed(follower)
    if (report.status !== 'failed' || !flaws.has('resubmits-failed')) return report
  } catch (error) {
    if (!flaws.has('resubmits-after-loss')) throw error
  }
  return followed(new Follower(client, await client.submit(workflow_id, inputs), 0))
}

async function followed(follower: Follower): Promise<Report> {
  await follower.run()
  return reportOf(follower)
}

function reportOf(follower: Follower): Report {
  const { snapshot, status, events, lastOutput } = follower
  const flaws = follower.flaws
  const last = flaws.has('never-final') ? status : String(snapshot?.status ?? status)
  if (last === 'cancelled' && flaws.has('reads-error')) {
    const { message } = (snapshot?.error ?? new ClientError('NO_MESSAGE', false)) as ClientError
    return { status: message, value: null, events }
  }
  const outputs = ((snapshot?.result as Fields | null | undefined)?.outputs ?? {}) as Fields
  return { status: last, value: flaws.has('last-output-wins') ? lastOutput : (outputs.greeting ?? null), events }
}

async function cancelOne(client: SecondClient, { workflow_id, inputs, when }: Of<'cancel'>): Promise<Report> {
  const { flaws } = client.settings
  const job_id = await client.submit(workflow_id, inputs)
  const follower = new Follower(client, job_id, 0)
  const end = follower.run()
  end.catch(() => {})
  const wanted = { queued: 'queued', running: 'running', ended: '' }[when]
  await follower.until(() => follower.ended || follower.status === wanted)
  const answer = await client.call('request_job_cancellation', { job_id })
  const told = answer.status === 'cancelled' || flaws.has('acknowledgement-is-end')
  if (told && !flaws.has('waits-after-cancelled')) follower.take(answer.snapshot as Fields, false)
  if (flaws.has('acknowledgement-is-end')) follower.endAs(String(answer.status))
  await end
  const report = reportOf(follower)
  if (flaws.has('late-answer-rules')) return { ...report, status: String(answer.status) }
  const asked = flaws.has('accepted-is-cancelled') && answer.status === 'cancel_requested'
  const takenFor = asked || flaws.has('cancel-means-cancelled')
  return takenFor ? { ...report, status: 'cancelled' } : report
}
