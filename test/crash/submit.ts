// Submissions through every door. One over the socket that was cut off is sent again with the same id, which must not start it twice.
import type { JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { GRAPHS, INNER, type KindName } from './graphs.ts'
import type { Ledger, TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'
import type { WatchingSocket } from './sockets.ts'

/** Stores the workflows, in the first life. */
export async function storeWorkflows(life: Life, kinds: readonly KindName[]): Promise<void> {
  const inner = await create(life, 'inner', INNER)
  for (const kind of kinds) {
    const { nodes, edges } = GRAPHS[kind]
    const own = nodes.map((node) => (node.type === 'workflow.Call' ? { ...node, data: { workflow_id: inner } } : node))
    life.ledger.workflows.set(kind, await create(life, kind, { nodes: own, edges }))
  }
}

async function create(life: Life, name: string, graph: object): Promise<string> {
  const answer = await life.request<Workflow>('POST', '/api/workflows', { body: { name, graph } })
  if (answer?.status !== 201) throw new Error(`the workflow ${name} was not stored: ${answer?.text}`)
  return answer.body.id
}

/** Submits a job, and resolves when it is acknowledged, or the life of the server is over. */
export async function submit(life: Life, job: TrackedJob, socket: WatchingSocket): Promise<void> {
  if (job.door === 'socket') return overSocket(life, job, socket)
  const { work, door } = job
  const background = door === 'http'
  const path = `/api/workflows/${life.ledger.workflows.get(work.kind)}/run`
  const answer = await life.request<RunResult>('POST', path, { body: { params: work.params, background } })
  if (!answer) return
  if (answer.status !== (background ? 202 : 200)) return refused(life.ledger, job, answer.text)
  job.job_id = answer.body.job_id
  if (door === 'run') job.result = answer.body
  job.acknowledged = true
}

async function overSocket(life: Life, job: TrackedJob, { client }: WatchingSocket): Promise<void> {
  const job_id = job.job_id!
  const { kind, params } = job.work
  const request_id = `run-${job_id}`
  client.command('run_job', { job_id, workflow_id: life.ledger.workflows.get(kind), params }, request_id)
  const frame = await client
    .next((one) => one.job_id === job_id && (one.request_id === request_id || one.type !== undefined))
    .catch((error) => {
      if (!life.over) throw error
      return null
    })
  if (frame === null) return
  if (frame.request_id !== request_id && frame.type !== 'job_resumed') {
    return refused(life.ledger, job, JSON.stringify(frame))
  }
  job.acknowledged = true
}

function refused(ledger: Ledger, { work }: TrackedJob, why: string): void {
  ledger.complain(`a job of the kind ${work.kind} was refused: ${why.slice(0, 500)}`)
}

/** Tries a job again; the id of the new one, or null where the kill cut the answer off. */
export async function retry(life: Life, job: TrackedJob): Promise<string | null> {
  const answer = await life.request<JobSnapshot>('POST', `/api/jobs/${job.job_id}/retry`)
  if (!answer) return null
  if (answer.status === 202) return answer.body.job_id
  refused(life.ledger, job, answer.text)
  return null
}
