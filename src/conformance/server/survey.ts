// Every claimed operation, with valid and with invalid requests: sent once, judged by many rules.
import { type OperationId, type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { ended, start, unused, workflow } from './jobs.ts'
import { listOf, mapOf } from './json.ts'
import { bodyOf, parametersOf, retold } from './operations.ts'
import { cancelledRun, completedRun, failedRun } from './runs.ts'
import { EXEMPLARY, type Facts, NO_JOB, SENDERS } from './senders.ts'
import type { Answer } from './target.ts'
import type { Call, Place, Trial } from './trial.ts'
import { Skip } from './verdicts.ts'

/** Groups of the lifecycle profile; the full one takes everything. */
const LIFECYCLE_TAGS: readonly string[] = ['sdk', 'jobs']
const LIFECYCLE_OPERATIONS: readonly OperationId[] = ['createWorkflow', 'getWorkflowInterface', 'runWorkflow']

/** Whether the caller is an administrator is not known: what only one may do is refused to others before anything is looked at. */
export function judged(t: Trial, { operationId, tag, access }: OperationInfo): boolean {
  if (access === 'administrator' || access === 'operator') return false
  const inProfile = LIFECYCLE_TAGS.includes(tag) || LIFECYCLE_OPERATIONS.includes(operationId)
  return t.serves(operationId) && (t.profile === 'full' || inProfile)
}

export async function facts(t: Trial): Promise<Facts> {
  const { id, etag } = await workflow(t, 'greeting')
  return { workflow_id: id, etag, job_id: await someJob(t) }
}

/** A job that has ended; a made-up id where the server has no door for jobs. */
function someJob(t: Trial): Promise<string> {
  return t.once('some job', async () => {
    if (!t.serves('submitJob') && !(t.serves('runWorkflow') && t.serves('getJob'))) return NO_JOB
    const job_id = await start(t, await workflow(t, 'greeting'), { name: 'Ada' })
    await ended(t, job_id)
    return job_id
  })
}

/** What stands in the path of an operation. */
export function valuesOf(info: OperationInfo, { workflow_id, job_id }: Facts): Readonly<Record<string, string>> {
  if (info.tag === 'jobs' || info.path.startsWith('/api/sdk/v1/jobs')) return { id: job_id, job_id }
  const model = `workflow/${workflow_id}`
  return { id: workflow_id, model, name: 'CONFORMANCE', key: 'conformance/unknown', token: 'conformance-unknown' }
}

/** Reads whose path names what the suite has none of, or whose answer never ends. */
const UNREAD: readonly OperationId[] = [
  'getSharedWorkflow',
  'getPublicWorkflow',
  'getObject',
  'headObject',
  'getThread',
  'listMessages',
]

/** The examples of an operation's body as requests of their own. */
function examplesOf(info: OperationInfo, known: Facts): { json: unknown }[] {
  if (!EXEMPLARY.includes(info.operationId)) return []
  const examples = (bodyOf(info)?.examples ?? []).map((example) => mapOf(retold(example, known)))
  return examples.map((json) => {
    // A key of the story may have been used in an earlier judgement.
    return { json: 'idempotency_key' in json ? { ...json, idempotency_key: unused(), inputs: { name: 'Ada' } } : json }
  })
}

/** The queries that the schemas of its parameters just allow. */
function queriesOf(info: OperationInfo): { query: string }[] {
  if (info.method !== 'get') return []
  return parametersOf(info)
    .filter(
      (parameter) => parameter.in === 'query' && parameter.name !== 'cursor' && parameter.name !== 'after_sequence',
    )
    .flatMap(({ name, schema }) => {
      const { minimum, maximum, enum: values } = schema
      const limits = [minimum, maximum].filter((limit) => typeof limit === 'number')
      const texts = schema.type === 'string' && values === undefined ? ['conformance'] : []
      return [...limits, ...listOf(values), ...texts].map((value) => ({ query: `${name}=${String(value)}` }))
    })
}

export interface Sent extends Call {
  operation: OperationId
}

/** One valid request of each claimed operation that does no harm. */
export function validRequests(t: Trial): Promise<Sent[]> {
  return t.once('valid requests', async () => {
    const known = await facts(t)
    const sent: Sent[] = []
    for (const info of operationManifest.filter((one) => judged(t, one))) {
      const request = await validRequest(t, info, known)
      if (request === null) continue
      const { values } = request
      const others = [...examplesOf(info, known), ...queriesOf(info)].map((other) => ({ values, ...other }))
      for (const { json, ...place } of [request, ...others] as ValidRequest[]) {
        const answer = await t.call(info.operationId, place, json === undefined ? acceptsOf(info) : { json })
        sent.push({ info, operation: info.operationId, answer })
        removeLater(t, info, answer)
      }
    }
    return sent
  })
}

type ValidRequest = Place & { json?: unknown }

async function validRequest(t: Trial, info: OperationInfo, known: Facts): Promise<ValidRequest | null> {
  const sender = SENDERS[info.operationId]
  if (sender) return sender(t, known)
  // Tokens are the business of people: a program that has one may not list them.
  if (info.operationId === 'listTokens' && t.target.token !== null) return null
  const isRead = info.method === 'get' && info.body !== 'raw' && !UNREAD.includes(info.operationId)
  if (!isRead) return null
  const values = valuesOf(info, known)
  const names = [...info.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  if (Object.values(values).includes(NO_JOB) && names.length > 0) return null
  const ours = names.every((name) => name === 'id' || name === 'job_id')
  const known_path = ours && (info.path.startsWith('/api/workflows/{id}') || 'job_id' in values)
  return names.length === 0 || known_path ? { values } : null
}

function acceptsOf({ operationId }: OperationInfo) {
  return operationId === 'followJobEvents' ? { headers: { Accept: 'application/json' } } : {}
}

function removeLater(t: Trial, { operationId }: OperationInfo, { status, body }: Answer): void {
  if (operationId !== 'createWorkflow' || status !== 201 || !t.serves('deleteWorkflow')) return
  t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(mapOf(body).id) } }))
}

/** Runs what makes jobs, so that the rules that hold always have something to look at; what fails has its own rule. */
export async function everything(t: Trial): Promise<void> {
  const parts = [validRequests, completedRun, failedRun, cancelledRun]
  for (const part of parts) {
    await part(t).catch((error) => {
      if (error instanceof Skip) return
    })
  }
}
