// Submits jobs over every transport. An interrupted submission over the socket is
// repeated with the same id, which must not start the job twice.
import type { JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import type { Answer } from '../helpers/http.ts'
import type { Frame } from '../helpers/socket.ts'
import { GRAPHS, INNER, type KindName } from './graphs.ts'
import type { TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'
import type { WatchingSocket } from './sockets.ts'

/** Stores the workflows in the first life. */
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

/** Submits a job. Resolves when it is acknowledged, or the life of the server is over. */
export async function submit(life: Life, job: TrackedJob, socket: WatchingSocket): Promise<void> {
  if (job.door === 'socket') return overSocket(life, job, socket)
  const { work, door } = job
  const background = door === 'http'
  const path = `/api/workflows/${life.ledger.workflows.get(work.kind)}/run`
  const answer = await life.request<RunResult>('POST', path, { body: { params: work.params, background } })
  if (!answer) {
    life.ledger.lost++
    return
  }
  if (answer.status !== (background ? 202 : 200)) return refused(life, job, answer)
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
    return refusedBySocket(life, job, frame)
  }
  job.acknowledged = true
}

/** Handles an error instead of an acknowledgement. A server that stops, or has no room, may send one. */
export function refused(life: Life, job: TrackedJob, answer: Answer): void {
  const job_id = namedBy(life, job, answer)
  if (job_id === null) return
  job.job_id = job_id
  job.named = true
  // A client that waits for the result learns of the job now. The job is followed like one in the background.
  if (job.door === 'run') job.door = 'http'
}

/** Returns the job that an error names. */
function namedBy({ ledger, mayRefuse }: Life, job: TrackedJob, { status, headers, text }: Answer): string | null {
  if (status !== 503 || !mayRefuse) {
    ledger.complain(`a job of the kind ${job.work.kind} was refused: ${text.slice(0, 500)}`)
    return null
  }
  const { location } = headers
  if (location === undefined) {
    ledger.refusals++
    return null
  }
  ledger.named++
  return decodeURIComponent(location.split('/').at(-1)!)
}

/** As above, over the socket, where the job already has its id. */
export function refusedBySocket({ ledger, mayRefuse }: Life, job: TrackedJob, frame: Frame): void {
  if (!mayRefuse) return ledger.complain(`a job of the kind ${job.work.kind} was refused: ${JSON.stringify(frame)}`)
  if (/not known/.test(String(frame.error))) {
    ledger.named++
    return
  }
  job.refused = true
  ledger.refusals++
}

/** Retries a job. Returns the id of the new one, or null where the kill interrupted the answer. */
export async function retry(life: Life, job: TrackedJob): Promise<string | null> {
  const answer = await life.request<JobSnapshot>('POST', `/api/jobs/${job.job_id}/retry`)
  if (!answer) {
    life.ledger.lost++
    return null
  }
  if (answer.status === 202) return answer.body.job_id
  // The job may be stored, like one whose answer was interrupted.
  if (namedBy(life, job, answer) !== null) life.ledger.lost++
  return null
}
