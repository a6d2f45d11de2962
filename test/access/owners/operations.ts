// What each implemented operation is tried with by a stranger. The compiler says where one is missing.
import type { ImplementedOperationId } from '../../../generated/operations.ts'
import { greeting } from '../../http/kit.ts'
import { OWNERS_SECRET, type Things } from './scene.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

export type OperationCase =
  /** Names one of the owner's things: the answer is that for a thing which does not exist. */
  | { readonly kind: 'addressed'; ask(things: Things): readonly Asked[] }
  /** Lists or tells what the caller has: the answer is that for somebody who has nothing. */
  | { readonly kind: 'listed'; readonly ask: readonly Asked[] }
  /** Makes or changes something of the caller's own, under the owner's names where it takes any: the owner's stays as it is. */
  | { readonly kind: 'own'; ask(things: Things): readonly Asked[] }
  /** Tells nothing of anybody, or what its owner made public: why. */
  | { readonly kind: 'common'; readonly why: string }

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
const under = (paths: (things: Things) => string[], end: string) => (things: Things) =>
  paths(things).map((path) => `${path}${end}`)

export const OPERATIONS: Readonly<Record<ImplementedOperationId, OperationCase>> = {
  getHealth: common(PROBE),
  getApiHealth: common(PROBE),
  getReady: common(PROBE),
  getMetrics: common('counts of the whole process, for whoever watches it: nothing in them has an owner'),
  getOpenapiDocument: common(CONTRACT),
  getAsyncapiDocument: common(CONTRACT),
  getReference: common(CONTRACT),
  getReferenceFile: common(CONTRACT),
  getConfig: common('what a client needs before it signs in'),
  listNodeMetadata: common(BUNDLED),
  listExampleWorkflows: common(BUNDLED),
  getExampleWorkflow: common(BUNDLED),

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

  listJobs: listed('/api/jobs', '/api/jobs?status=failed', '/api/jobs?status=suspended', '/api/jobs?limit=1'),
  getJob: addressed('GET', jobs),
  deleteJob: addressed('DELETE', jobs),
  cancelJob: addressed('POST', under(jobs, '/cancel')),
  resumeJob: addressed('POST', under(jobs, '/resume'), { value: true }),
  retryJob: addressed('POST', under(jobs, '/retry')),
  followJobEvents: addressed('GET', under(jobs, '/events')),

  getObject: addressed('GET', ({ key }) => `/api/storage/${key}`),
  headObject: addressed('HEAD', ({ key }) => `/api/storage/${key}`),

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
