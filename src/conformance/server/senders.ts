// The operations that change something, or whose path tells more than ids, as the survey sends them without harm. Whoever implements one that
// changes something adds it here, to one list or the other: a test asks for it.
import type { OperationId } from '../../../generated/operations.ts'
import { multipart } from './forms.ts'
import { graphs } from './graphs.ts'
import { ended, ownWorkflow, start, submission, workflow } from './jobs.ts'
import { mapOf } from './json.ts'
import { failedRun } from './runs.ts'
import type { Place, Trial } from './trial.ts'

export interface Facts {
  workflow_id: string
  etag: string
  job_id: string
}

export const NO_JOB = 'conformance-unknown'

type Sender = (t: Trial, known: Facts) => Promise<(Place & { json?: unknown }) | null>

/** A thread that goes with the suite; null where one would stay. */
async function ownThread(t: Trial): Promise<string | null> {
  if (!t.serves('createThread') || !t.serves('deleteThread')) return null
  const answer = await t.good('createThread', 201, {}, { json: { title: 'conformance' } })
  const id = String(mapOf(answer.body).id)
  t.cleanups.push(() => t.call('deleteThread', { values: { id } }))
  return id
}

function toThing(id: string | null, json?: object): (Place & { json?: unknown }) | null {
  return id === null ? null : { values: { id }, ...(json ? { json } : {}) }
}

/** An asset that goes with the suite; null where one would stay. */
export async function ownAsset(t: Trial): Promise<string | null> {
  if (!t.serves('createAsset') || !t.serves('deleteAsset')) return null
  const form = multipart([['file', 'conformance.txt', Buffer.from('conformance')]])
  const id = String(mapOf((await t.good('createAsset', 201, {}, form)).body).id)
  t.cleanups.push(() => t.call('deleteAsset', { values: { id } }))
  return id
}

/** Each with a request for something of the suite's own, or null where there is nothing to send it for. */
export const SENDERS: Partial<Record<OperationId, Sender>> = {
  retrieveModel: async (_t, { workflow_id }) => ({ values: { model: `workflow/${workflow_id}` } }),
  createWorkflow: async () => ({
    json: { name: 'conformance survey', graph: graphs.greeting, tags: ['conformance'] },
  }),
  updateWorkflow: async (t) => {
    const { id } = await ownWorkflow(t, 'update')
    return { values: { id }, json: { name: 'conformance updated', graph: graphs.greeting } }
  },
  deleteWorkflow: async (t) => ({ values: { id: (await ownWorkflow(t, 'delete')).id } }),
  shareWorkflow: async (t) => ({ values: { id: (await ownWorkflow(t, 'share')).id } }),
  unshareWorkflow: async (t) => ({ values: { id: (await ownWorkflow(t, 'unshare')).id } }),
  runWorkflow: async (_t, { workflow_id }) => ({ values: { id: workflow_id }, json: { params: { name: 'Ada' } } }),
  cancelJob: async (_t, { job_id }) => (job_id === NO_JOB ? null : { values: { id: job_id } }),
  requestJobCancellation: async (_t, { job_id }) => ({ values: { job_id } }),
  retryJob: async (t, { job_id }) => (job_id === NO_JOB ? null : { values: { id: (await failedRun(t)).job_id } }),
  deleteJob: async (t, known) => {
    if (known.job_id === NO_JOB) return null
    const job_id = await start(t, await workflow(t, 'greeting'), { name: 'gone' })
    await ended(t, job_id)
    return { values: { id: job_id } }
  },
  submitJob: async (t) => ({ json: submission(await workflow(t, 'greeting'), { name: 'Ada' }) }),
  preflightWorkflow: async (_t, { workflow_id }) => ({ json: { workflow_id } }),
  getWorkflowInterfaces: async (_t, { workflow_id }) => ({ json: { ids: [workflow_id] } }),
  putSecret: async (t) => {
    if (!t.serves('deleteSecret')) return null
    t.cleanups.push(() => t.call('deleteSecret', { values: { name: 'CONFORMANCE' } }))
    return { values: { name: 'CONFORMANCE' }, json: { value: 'not a secret, but a test' } }
  },
  updateThread: async (t) => toThing(await ownThread(t), { title: 'conformance updated' }),
  deleteThread: async (t) => toThing(await ownThread(t)),
  createMessage: async (t) => toThing(await ownThread(t), { content: 'conformance' }),
  updateAsset: async (t) => toThing(await ownAsset(t), { name: 'conformance updated' }),
  deleteAsset: async (t) => toThing(await ownAsset(t)),
  deleteSecret: async () => ({ values: { name: 'CONFORMANCE_UNKNOWN' } }),
}

/** Not sent by the survey, each for a reason. */
export const UNSENT: Partial<Record<OperationId, string>> = {
  resumeJob: 'its job has to wait for a value, which the rules of states bring about',
  uploadTemporaryAsset: 'its body is a form, which the rules of uploads make',
  putObject: 'its key begins with a name of the caller that only the caller knows',
  deleteObject: 'its key begins with a name of the caller that only the caller knows',
  putAdminAsset: 'only an administrator may, and a file of that name would be lost',
  createAsset: 'its body is a form, with which requests to an asset make one first, and delete it afterwards',
  createThread: 'requests to a thread make one first, and delete it afterwards',
  updateSettings: 'they are those of the person whose token it is',
  createToken: 'only a person may, and what it makes is a credential',
  deleteToken: 'it would need a token that was made before',
  createChatCompletion: 'whatever model it names may cost money',
  createEmbedding: 'whatever model it names may cost money',
}

/** Operations that take every example of their body, once it tells of what exists. */
export const EXEMPLARY: readonly OperationId[] = [
  'preflightWorkflow',
  'getWorkflowInterfaces',
  'createWorkflow',
  'submitJob',
]
