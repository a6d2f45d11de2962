// Requests of operations that have an effect, or whose path has more than ids, so that the survey does no harm. An author of a new
// operation with an effect adds it here, to one of the two lists; a test requires it.
import type { OperationId } from '../../../generated/operations.ts'
import { createSubmission, startJob, storeOwnWorkflow, storeSampleWorkflow, waitForJobEnd } from './job-actions.ts'
import { mapOf } from './json.ts'
import { createMultipartForm } from './multipart-form.ts'
import { observeFailedRun } from './observed-runs.ts'
import { sampleGraphs } from './sample-graphs.ts'
import type { PathAndQuery, SuiteContext } from './suite-context.ts'

export interface SurveyFacts {
  workflow_id: string
  etag: string
  job_id: string
}

export const UNKNOWN_JOB_ID = 'conformance-unknown'

type SurveyRequestFactory = (t: SuiteContext, known: SurveyFacts) => Promise<(PathAndQuery & { json?: unknown }) | null>

/** Creates a thread that the suite removes at the end. Null where it would stay. */
async function createOwnThread(t: SuiteContext): Promise<string | null> {
  if (!t.hasOperation('createThread') || !t.hasOperation('deleteThread')) return null
  const answer = await t.callExpecting('createThread', 201, {}, { json: { title: 'conformance' } })
  const id = String(mapOf(answer.body).id)
  t.cleanups.push(() => t.call('deleteThread', { values: { id } }))
  return id
}

function createRequestFor(id: string | null, json?: object): (PathAndQuery & { json?: unknown }) | null {
  return id === null ? null : { values: { id }, ...(json ? { json } : {}) }
}

/** Creates an asset that the suite removes at the end. Null where it would stay. */
export async function createOwnAsset(t: SuiteContext): Promise<string | null> {
  if (!t.hasOperation('createAsset') || !t.hasOperation('deleteAsset')) return null
  const form = createMultipartForm([['file', 'conformance.txt', Buffer.from('conformance')]])
  const id = String(mapOf((await t.callExpecting('createAsset', 201, {}, form)).body).id)
  t.cleanups.push(() => t.call('deleteAsset', { values: { id } }))
  return id
}

/** Each operation with a request about the suite's own objects. Null where there is no such object. */
export const SURVEY_REQUESTS: Partial<Record<OperationId, SurveyRequestFactory>> = {
  retrieveModel: async (_t, { workflow_id }) => ({ values: { model: `workflow/${workflow_id}` } }),
  createWorkflow: async () => ({
    json: { name: 'conformance survey', graph: sampleGraphs.greeting, tags: ['conformance'] },
  }),
  updateWorkflow: async (t) => {
    const { id } = await storeOwnWorkflow(t, 'update')
    return { values: { id }, json: { name: 'conformance updated', graph: sampleGraphs.greeting } }
  },
  deleteWorkflow: async (t) => ({ values: { id: (await storeOwnWorkflow(t, 'delete')).id } }),
  shareWorkflow: async (t) => ({ values: { id: (await storeOwnWorkflow(t, 'share')).id } }),
  unshareWorkflow: async (t) => ({ values: { id: (await storeOwnWorkflow(t, 'unshare')).id } }),
  runWorkflow: async (_t, { workflow_id }) => ({ values: { id: workflow_id }, json: { params: { name: 'Ada' } } }),
  cancelJob: async (_t, { job_id }) => (job_id === UNKNOWN_JOB_ID ? null : { values: { id: job_id } }),
  requestJobCancellation: async (_t, { job_id }) => ({ values: { job_id } }),
  retryJob: async (t, { job_id }) =>
    job_id === UNKNOWN_JOB_ID ? null : { values: { id: (await observeFailedRun(t)).job_id } },
  deleteJob: async (t, known) => {
    if (known.job_id === UNKNOWN_JOB_ID) return null
    const job_id = await startJob(t, await storeSampleWorkflow(t, 'greeting'), { name: 'gone' })
    await waitForJobEnd(t, job_id)
    return { values: { id: job_id } }
  },
  submitJob: async (t) => ({ json: createSubmission(await storeSampleWorkflow(t, 'greeting'), { name: 'Ada' }) }),
  preflightWorkflow: async (_t, { workflow_id }) => ({ json: { workflow_id } }),
  getWorkflowInterfaces: async (_t, { workflow_id }) => ({ json: { ids: [workflow_id] } }),
  putSecret: async (t) => {
    if (!t.hasOperation('deleteSecret')) return null
    t.cleanups.push(() => t.call('deleteSecret', { values: { name: 'CONFORMANCE' } }))
    return { values: { name: 'CONFORMANCE' }, json: { value: 'not a secret, but a test' } }
  },
  updateThread: async (t) => createRequestFor(await createOwnThread(t), { title: 'conformance updated' }),
  deleteThread: async (t) => createRequestFor(await createOwnThread(t)),
  createMessage: async (t) => createRequestFor(await createOwnThread(t), { content: 'conformance' }),
  updateAsset: async (t) => createRequestFor(await createOwnAsset(t), { name: 'conformance updated' }),
  deleteAsset: async (t) => createRequestFor(await createOwnAsset(t)),
  deleteSecret: async () => ({ values: { name: 'CONFORMANCE_UNKNOWN' } }),
}

/** Operations that the survey skips, each with the reason. */
export const EXCLUDED_OPERATIONS: Partial<Record<OperationId, string>> = {
  resumeJob: 'its job has to wait for a value, which only the checks of states create',
  uploadTemporaryAsset: 'its body is a form, which only the checks of uploads send',
  putObject: 'its key begins with the name of the caller, which the suite does not know',
  deleteObject: 'its key begins with the name of the caller, which the suite does not know',
  putAdminAsset: 'only an administrator may call it, and it would replace a file of that name',
  createAsset: 'its body is a form, and requests to an asset call it before they delete the asset',
  createThread: 'requests to a thread call it before they delete the thread',
  updateSettings: 'it changes the settings of the person whose token the suite uses',
  createToken: 'only a person may call it, and it creates a credential',
  deleteToken: 'it needs a token that was created before',
  createChatCompletion: 'any model that it names may cost money',
  createEmbedding: 'any model that it names may cost money',
}

/** Operations that accept every example of their body, with ids that exist. */
export const OPERATIONS_WITH_EXAMPLES: readonly OperationId[] = [
  'preflightWorkflow',
  'getWorkflowInterfaces',
  'createWorkflow',
  'submitJob',
]
