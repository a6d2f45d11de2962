// Sends valid and invalid requests to every claimed operation once, for the checks of many rules.
import { type OperationId, type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { CheckSkipped } from './check-outcomes.ts'
import { findJsonBody, listParameters, replaceExampleIds } from './contract-operations.ts'
import { createUniqueKey, startJob, storeSampleWorkflow, waitForJobEnd } from './job-actions.ts'
import { listOf, mapOf } from './json.ts'
import { observeCancelledRun, observeCompletedRun, observeFailedRun } from './observed-runs.ts'
import type { OperationCall, PathAndQuery, SuiteContext } from './suite-context.ts'
import { OPERATIONS_WITH_EXAMPLES, SURVEY_REQUESTS, type SurveyFacts, UNKNOWN_JOB_ID } from './survey-requests.ts'
import type { SuiteAnswer } from './target-server.ts'

/** The tags of the lifecycle profile. The full profile includes all tags. */
const LIFECYCLE_TAGS: readonly string[] = ['sdk', 'jobs']
const LIFECYCLE_OPERATIONS: readonly OperationId[] = ['createWorkflow', 'getWorkflowInterface', 'runWorkflow']

/**
 * The suite does not know whether the caller is an administrator. Administrator
 * operations refuse other callers before they validate anything.
 */
export function isSurveyed(t: SuiteContext, { operationId, tag, access }: OperationInfo): boolean {
  if (access === 'administrator' || access === 'operator') return false
  const inProfile = LIFECYCLE_TAGS.includes(tag) || LIFECYCLE_OPERATIONS.includes(operationId)
  return t.hasOperation(operationId) && (t.profile === 'full' || inProfile)
}

export async function readSurveyFacts(t: SuiteContext): Promise<SurveyFacts> {
  const { id, etag } = await storeSampleWorkflow(t, 'greeting')
  return { workflow_id: id, etag, job_id: await findEndedJob(t) }
}

/** Returns an ended job, or an invented id where the server has no operation for jobs. */
function findEndedJob(t: SuiteContext): Promise<string> {
  return t.memoize('some job', async () => {
    if (!t.hasOperation('submitJob') && !(t.hasOperation('runWorkflow') && t.hasOperation('getJob')))
      return UNKNOWN_JOB_ID
    const job_id = await startJob(t, await storeSampleWorkflow(t, 'greeting'), { name: 'Ada' })
    await waitForJobEnd(t, job_id)
    return job_id
  })
}

/** Returns the path parameters of an operation. */
export function createPathValues(
  info: OperationInfo,
  { workflow_id, job_id }: SurveyFacts,
): Readonly<Record<string, string>> {
  if (info.tag === 'jobs' || info.path.startsWith('/api/sdk/v1/jobs')) return { id: job_id, job_id }
  const model = `workflow/${workflow_id}`
  return { id: workflow_id, model, name: 'CONFORMANCE', key: 'conformance/unknown', token: 'conformance-unknown' }
}

/** Reads that need something the suite does not have, or whose answer never ends. */
const UNREAD_OPERATIONS: readonly OperationId[] = [
  'getSharedWorkflow',
  'getPublicWorkflow',
  'getObject',
  'headObject',
  'getThread',
  'listMessages',
]

/** Returns the examples of an operation's body as separate requests. */
function listExampleBodies(info: OperationInfo, known: SurveyFacts): { json: unknown }[] {
  if (!OPERATIONS_WITH_EXAMPLES.includes(info.operationId)) return []
  const examples = (findJsonBody(info)?.examples ?? []).map((example) => mapOf(replaceExampleIds(example, known)))
  return examples.map((json) => {
    // An earlier run of the suite may have used the example's key.
    return {
      json: 'idempotency_key' in json ? { ...json, idempotency_key: createUniqueKey(), inputs: { name: 'Ada' } } : json,
    }
  })
}

/** Returns queries at the bounds of their schemas. */
function listValidQueries(info: OperationInfo): { query: string }[] {
  if (info.method !== 'get') return []
  return listParameters(info)
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

export interface SurveyCall extends OperationCall {
  operation: OperationId
}

/** Sends one valid, harmless request to each claimed operation. */
export function sendValidRequests(t: SuiteContext): Promise<SurveyCall[]> {
  return t.memoize('valid requests', async () => {
    const known = await readSurveyFacts(t)
    const sent: SurveyCall[] = []
    for (const info of operationManifest.filter((one) => isSurveyed(t, one))) {
      const request = await createValidRequest(t, info, known)
      if (request === null) continue
      const { values } = request
      const others = [...listExampleBodies(info, known), ...listValidQueries(info)].map((other) => ({
        values,
        ...other,
      }))
      for (const { json, ...place } of [request, ...others] as ValidRequest[]) {
        const answer = await t.call(info.operationId, place, json === undefined ? createAcceptOptions(info) : { json })
        sent.push({ info, operation: info.operationId, answer })
        scheduleRemoval(t, info, answer)
      }
    }
    return sent
  })
}

type ValidRequest = PathAndQuery & { json?: unknown }

async function createValidRequest(
  t: SuiteContext,
  info: OperationInfo,
  known: SurveyFacts,
): Promise<ValidRequest | null> {
  const sender = SURVEY_REQUESTS[info.operationId]
  if (sender) return sender(t, known)
  // Only people may list tokens, so a program with a token may not.
  if (info.operationId === 'listTokens' && t.target.token !== null) return null
  const isRead = info.method === 'get' && info.body !== 'raw' && !UNREAD_OPERATIONS.includes(info.operationId)
  if (!isRead) return null
  const values = createPathValues(info, known)
  const names = [...info.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  if (Object.values(values).includes(UNKNOWN_JOB_ID) && names.length > 0) return null
  const ours = names.every((name) => name === 'id' || name === 'job_id')
  const known_path = ours && (info.path.startsWith('/api/workflows/{id}') || 'job_id' in values)
  return names.length === 0 || known_path ? { values } : null
}

function createAcceptOptions({ operationId }: OperationInfo) {
  return operationId === 'followJobEvents' ? { headers: { Accept: 'application/json' } } : {}
}

function scheduleRemoval(t: SuiteContext, { operationId }: OperationInfo, { status, body }: SuiteAnswer): void {
  if (operationId !== 'createWorkflow' || status !== 201 || !t.hasOperation('deleteWorkflow')) return
  t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(mapOf(body).id) } }))
}

/** Creates jobs, so that the checks of all records always have some. Failures have checks of their own. */
export async function exerciseServer(t: SuiteContext): Promise<void> {
  const parts = [sendValidRequests, observeCompletedRun, observeFailedRun, observeCancelledRun]
  for (const part of parts) {
    await part(t).catch((error) => {
      if (error instanceof CheckSkipped) return
    })
  }
}
