// Attempts of a stranger for each implemented operation. The compiler reports a missing one.
import type { ImplementedOperationId } from '../../../generated/operations.ts'
import { greeting } from '../../http/kit.ts'
import { fieldsForm, fileForm } from '../../http/uploads-kit.ts'
import { OWNERS_SECRET, type Things } from './scene.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /** Instead of a JSON body. */
  readonly form?: { readonly headers: Readonly<Record<string, string>>; readonly raw: string }
}

export type OperationCase =
  /**
   * Names one of the owner's things: the answer is that for an unknown thing; `gathered` in a 200 among others. `elsewhere` is the status for the
   * owner's user in another workspace, if not 404: keys of objects belong to the user in each workspace.
   */
  | {
      readonly kind: 'addressed'
      ask(things: Things): readonly Asked[]
      readonly gathered?: true
      readonly elsewhere?: number
    }
  /** Lists the caller's things: the answer is that for a caller without any. */
  | { readonly kind: 'listed'; readonly ask: readonly Asked[] }
  /** Makes or changes a thing of the caller, under the owner's names if it takes any: the owner's thing is unchanged. */
  | { readonly kind: 'own'; ask(things: Things): readonly Asked[] }
  /** Shows nothing of any user, or public things of an owner: the reason. */
  | { readonly kind: 'common'; readonly why: string }

/** Reads of a key; keys of assets and uploads are not writable. */
function atKeys(method: string, keys: (things: Things) => string[], elsewhere: number): OperationCase {
  return { kind: 'addressed', ask: (things) => keys(things).map((path) => ({ method, path })), elsewhere }
}

function addressed(method: string, path: (things: Things) => string | string[], body?: unknown): OperationCase {
  return { kind: 'addressed', ask: (things) => [path(things)].flat().map((one) => ({ method, path: one, body })) }
}

function listed(...paths: string[]): OperationCase {
  return { kind: 'listed', ask: paths.map((path) => ({ method: 'GET', path })) }
}

function own(method: string, path: (things: Things) => string, body?: unknown): OperationCase {
  return { kind: 'own', ask: (things) => [{ method, path: path(things), body }] }
}

function common(why: string): OperationCase {
  return { kind: 'common', why }
}

const CONTRACT = 'the contract is the same for everybody'
const PROBE = 'says how the process is'
const BUNDLED = 'comes with the service'

const workflows = ({ workflow, shared_workflow }: Things) =>
  [workflow, shared_workflow].map((id) => `/api/workflows/${id}`)
const jobs = ({ failed_job, suspended_job, living_job }: Things) =>
  [failed_job, suspended_job, living_job].map((id) => `/api/jobs/${id}`)
const sdkJobs = ({ failed_job, suspended_job, living_job }: Things) =>
  [failed_job, suspended_job, living_job].map((id) => `/api/sdk/v1/jobs/${id}`)
const given = ({ key, temporary_key }: Things) => [key, temporary_key].map((one) => `/api/storage/${one}`)
const stored = (things: Things) => [...given(things), `/api/storage/${things.object_key}`]
const thread = (things: Things) => `/api/threads/${things.thread}`
const under = (paths: (things: Things) => string[], end: string) => (things: Things) =>
  paths(things).map((path) => `${path}${end}`)

const assets = ({ asset, folder }: Things) => [`/api/assets/${asset}`, `/api/assets/${folder}`]

/** Assets of a stranger that refer to the owner's things. */
function assetsNaming({ asset, folder, workflow, failed_job, key, temporary_key, object_key }: Things): Asked[] {
  const fields: Record<string, string>[] = [
    { parent_id: folder },
    { replaces: asset },
    { replaces: folder },
    { workflow_id: workflow },
    { job_id: failed_job },
  ]
  const taken = [key, temporary_key, object_key].map((one) => fieldsForm({ uri: `/api/storage/${one}` }))
  const forms = [...fields.map((one) => fieldsForm(one, { content: 'of a stranger' })), ...taken]
  return forms.map((form) => ({ method: 'POST', path: '/api/assets', form }))
}

const preflight: OperationCase = {
  kind: 'addressed',
  ask: (things) =>
    ['static', 'availability', 'execution'].flatMap((level) =>
      [things.workflow, things.shared_workflow].map((workflow_id) => ({
        method: 'POST',
        path: '/api/sdk/v1/preflight',
        body: { workflow_id, level },
      })),
    ),
}

/** Submissions of the owner's workflows by a caller who does not know their etags. */
export function submissionsOf({ workflow, shared_workflow }: Things): object[] {
  return [workflow, shared_workflow].map((workflow_id) => ({
    client_request_id: 'attempt',
    idempotency_key: `key of ${workflow_id}`,
    workflow_id,
    workflow_etag: 'unseen',
    interface_version: 1,
  }))
}

export const OPERATIONS: Readonly<Record<ImplementedOperationId, OperationCase>> = {
  getHealth: common(PROBE),
  getApiHealth: common(PROBE),
  getReady: common(PROBE),
  getMetrics: common('counts of the whole process, for whoever watches it: nothing in them has an owner'),
  getOpenapiDocument: common(CONTRACT),
  getAsyncapiDocument: common(CONTRACT),
  getStartPage: common(CONTRACT),
  getReference: common(CONTRACT),
  getReferenceFile: common(CONTRACT),
  getGuide: common(CONTRACT),
  getGuidePage: common(CONTRACT),
  getNodeCatalogue: common(BUNDLED),
  getNodeCataloguePage: common(BUNDLED),
  getLifecycleSchema: common(CONTRACT),
  listLifecycleSchemas: common(CONTRACT),
  getLifecycleSchemaFile: common(CONTRACT),
  getConfig: common('what a client needs before it signs in'),
  listNodeMetadata: common(BUNDLED),
  listExampleWorkflows: common(BUNDLED),
  getExampleWorkflow: common(BUNDLED),
  listAssetPackages: common(BUNDLED),
  getAssetPackageFile: common(BUNDLED),

  listWorkflows: listed(
    '/api/workflows',
    '/api/workflows/',
    '/api/workflows?limit=1',
    '/api/workflows?q=owner',
    '/api/workflows?tag=x',
  ),
  createWorkflow: own('POST', () => '/api/workflows', greeting({ name: 'Of the owner' })),
  getWorkflow: addressed('GET', workflows),
  updateWorkflow: addressed('PUT', workflows, greeting({ name: 'Taken' })),
  deleteWorkflow: addressed('DELETE', workflows),
  runWorkflow: addressed('POST', under(workflows, '/run'), { params: { name: 'x' } }),
  getWorkflowInterface: addressed('GET', under(workflows, '/interface')),
  listWorkflowVersions: addressed('GET', under(workflows, '/versions')),
  shareWorkflow: addressed('POST', under(workflows, '/share')),
  unshareWorkflow: addressed('DELETE', under(workflows, '/share')),
  listPublicWorkflows: listed('/api/workflows/public'),
  getPublicWorkflow: addressed('GET', ({ workflow, shared_workflow }) => [
    `/api/workflows/public/${workflow}`,
    `/api/workflows/public/${shared_workflow}`,
  ]),
  getSharedWorkflow: addressed('GET', ({ workflow }) => `/api/shared-workflows/${workflow}`),

  preflightWorkflow: preflight,

  listJobs: listed('/api/jobs', '/api/jobs?status=failed', '/api/jobs?status=suspended', '/api/jobs?limit=1'),
  getJob: addressed('GET', jobs),
  deleteJob: addressed('DELETE', jobs),
  cancelJob: addressed('POST', under(jobs, '/cancel')),
  resumeJob: addressed('POST', under(jobs, '/resume'), { value: true }),
  retryJob: addressed('POST', under(jobs, '/retry')),
  followJobEvents: addressed('GET', under(jobs, '/events')),

  listAssets: listed(
    '/api/assets',
    '/api/assets/?parent_id=root',
    '/api/assets?q=note',
    '/api/assets?content_type=folder',
    '/api/assets?content_type=text&q=t&page_size=1',
  ),
  createAsset: { kind: 'addressed', ask: assetsNaming },
  getAsset: addressed('GET', under(assets, '?expires_in=60')),
  updateAsset: {
    kind: 'addressed',
    ask: (things) => [
      ...assets(things).map((path) => ({ method: 'PUT', path, body: { name: 'Taken' } })),
      { method: 'PUT', path: assets(things)[0]!, body: { parent_id: things.folder } },
    ],
  },
  deleteAsset: addressed('DELETE', assets),
  downloadAsset: addressed('GET', under(assets, '/download')),
  getObject: addressed('GET', stored),
  headObject: addressed('HEAD', stored),
  putObject: atKeys('PUT', given, 409),
  deleteObject: atKeys('DELETE', stored, 204),
  listCollections: common('only an administrator may, and is told of everybody'),
  putAdminAsset: common('only an administrator may, and under keys of its own'),
  uploadTemporaryAsset: {
    kind: 'own',
    ask: () => [{ method: 'POST', path: '/api/sdk/v1/assets/temporary', form: fileForm('of a stranger') }],
  },

  getCapabilities: common('what the server can do is the same for everybody'),
  listWorkflowSummaries: listed('/api/sdk/v1/workflows', '/api/sdk/v1/workflows?limit=1'),
  getWorkflowInterfaces: {
    kind: 'addressed',
    gathered: true,
    ask: (things) =>
      [things.workflow, things.shared_workflow].map((id) => ({
        method: 'POST',
        path: '/api/sdk/v1/workflow-interfaces',
        body: { ids: [id] },
      })),
  },
  listNodeTypes: common(BUNDLED),
  listModelCatalog: common('the models are those of the providers, which are the same for all who have their keys'),

  listModels: listed('/v1/models'),
  retrieveModel: addressed('GET', ({ workflow, shared_workflow }) =>
    [workflow, shared_workflow].map((id) => `/v1/models/workflow/${id}`),
  ),
  createChatCompletion: {
    kind: 'addressed',
    ask: (things) =>
      [things.workflow, things.shared_workflow].map((id) => ({
        method: 'POST',
        path: '/v1/chat/completions',
        body: { model: `workflow/${id}`, messages: [{ role: 'user', content: 'hello' }] },
      })),
  },
  createEmbedding: common('it makes vectors of what it is sent, and knows of nothing else'),
  listProviderModels: listed('/api/models', '/api/models?provider=workflow', '/api/models?q=workflow&task=chat'),

  submitJob: {
    kind: 'addressed',
    ask: (things) => submissionsOf(things).map((body) => ({ method: 'POST', path: '/api/sdk/v1/jobs', body })),
  },
  getJobSnapshot: addressed('GET', sdkJobs),
  requestJobCancellation: addressed('POST', under(sdkJobs, '/cancel')),

  listThreads: listed('/api/threads', '/api/threads?q=owner', '/api/threads?limit=1'),
  createThread: own('POST', () => '/api/threads', { title: 'Of the owner' }),
  getThread: addressed('GET', thread),
  updateThread: addressed('PUT', thread, { title: 'Taken' }),
  deleteThread: addressed('DELETE', thread),
  listMessages: addressed('GET', (things) => `${thread(things)}/messages`),
  createMessage: addressed('POST', (things) => `${thread(things)}/messages`, { content: 'of a stranger' }),

  listTokens: listed('/api/tokens'),
  createToken: own('POST', () => '/api/tokens', { name: 'Of the owner' }),
  deleteToken: addressed('DELETE', ({ token }) => `/api/tokens/${token}`),

  getSettings: listed('/api/settings'),
  updateSettings: own('PUT', () => '/api/settings', { values: { 'jobs.event_detail': 'terminal' } }),
  listSecrets: listed('/api/secrets'),
  getSecret: listed(`/api/secrets/${OWNERS_SECRET}`),
  putSecret: own('PUT', ({ secret }) => `/api/secrets/${secret}`, { value: 'the secret of a stranger' }),
  deleteSecret: own('DELETE', ({ secret }) => `/api/secrets/${secret}`),
}
