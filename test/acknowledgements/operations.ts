// The promise of each operation's answer, for operations that may change something.
import assert from 'node:assert/strict'
import type { OperationId } from '../../generated/operations.ts'
import type {
  AccessToken,
  Asset,
  ChatMessage,
  JobSnapshot,
  Secret,
  Settings,
  StoredObject,
  Thread,
  Workflow,
} from '../../generated/types.ts'
import { FORM_TYPE, fieldsForm, fileForm } from '../http/uploads-kit.ts'
import { awaiting, failing, fed, plain } from './graphs.ts'
import { type Found, http, type Nothing, type Row, type World } from './row.ts'

const workflowPath = async (world: World) => `/api/workflows/${await world.workflow(plain)}`
const threadPath = async (world: World) => `/api/threads/${await world.thread()}`
const jobPath = async (world: World, ...job: Parameters<World['job']>) => `/api/jobs/${await world.job(...job)}`

function jobToCancel(world: World, status: 'running' | 'suspended' | 'queued'): Promise<string> {
  if (status === 'queued') return world.queued(fed)
  return world.job(status === 'running' ? fed : awaiting, status)
}

const file = (content: string) => ({ raw: fileForm(content).raw, headers: { 'Content-Type': FORM_TYPE } })

async function asset(world: World): Promise<string> {
  return (await world.call<Asset>('POST', '/api/assets', fileForm('of a row'))).id
}

const folderForm = fieldsForm({ name: 'of a row', content_type: 'folder' })

async function assetFolder(world: World): Promise<string> {
  return (await world.call<Asset>('POST', '/api/assets', folderForm)).id
}

/** A completion that runs a workflow. */
const completion = (stream: boolean) => ({
  method: 'POST',
  path: '/v1/chat/completions',
  body: { model: 'workflow/greeting', messages: [{ role: 'user', content: 'Ada' }], stream },
})

async function shared(world: World): Promise<{ path: string; token: string }> {
  const path = `${await workflowPath(world)}/share`
  return { path, token: (await world.call<{ token: string }>('POST', path)).token }
}

async function submission(world: World) {
  const { id, etag } = await world.call<Workflow>('GET', await workflowPath(world))
  const request = { client_request_id: 'row', idempotency_key: `row-${id}`, interface_version: 1 }
  return { ...request, workflow_id: id, workflow_etag: etag }
}

const uploaded = (content: string) => async (found: Found, uri: string) =>
  assert.equal((await found.read(uri)).text, content)

export const OPERATIONS: Partial<Record<OperationId, Row | readonly Row[] | Nothing>> = {
  createWorkflow: http(
    () => ({ method: 'POST', path: '/api/workflows', body: { name: 'new', graph: plain } }),
    async (found, { body: { issues: _, ...record } }) =>
      assert.deepEqual(await found.there<Workflow>(`/api/workflows/${record.id}`), record),
  ),
  updateWorkflow: http(
    async (world) => ({ method: 'PUT', path: await workflowPath(world), body: { name: 'renamed', graph: fed } }),
    async (found, { body: { issues: _, ...record } }, { path }) =>
      assert.deepEqual(await found.there<Workflow>(path), record),
  ),
  deleteWorkflow: http(
    async (world) => ({ method: 'DELETE', path: await workflowPath(world) }),
    (found, _, { path }) => found.gone(path),
  ),
  runWorkflow: [
    http(
      async (world) => ({ method: 'POST', path: `${await workflowPath(world)}/run`, body: { background: true } }),
      async (found, { headers }) => {
        const { job_id, status } = await found.there<JobSnapshot>(String(headers.location))
        assert.equal(status === 'completed' || (await found.ended(job_id)).status === 'completed', true)
      },
    ),
    http(
      async (world) => ({ method: 'POST', path: `${await workflowPath(world)}/run`, body: {} }),
      async (found, { body }) => {
        const { status, result } = await found.there<JobSnapshot>(`/api/jobs/${body.job_id}`)
        assert.deepEqual([status, result?.outputs], [body.status, body.outputs])
      },
    ),
  ],
  shareWorkflow: http(
    async (world) => ({ method: 'POST', path: `${await workflowPath(world)}/share` }),
    (found, { body }) => found.there(`/api/shared-workflows/${body.token}`),
  ),
  unshareWorkflow: (() => {
    let token = ''
    return http(
      async (world) => {
        const share = await shared(world)
        token = share.token
        return { method: 'DELETE', path: share.path }
      },
      (found) => found.gone(`/api/shared-workflows/${token}`),
    )
  })(),
  deleteJob: http(
    async (world) => ({ method: 'DELETE', path: await jobPath(world, plain, 'completed') }),
    (found, _, { path }) => found.gone(path),
  ),
  cancelJob: (['running', 'suspended', 'queued'] as const).map((status) =>
    http(
      async (world) => ({ method: 'POST', path: `/api/jobs/${await jobToCancel(world, status)}/cancel` }),
      (found, { body }) => found.cancelled(body.job_id),
    ),
  ),
  resumeJob: http(
    async (world) => {
      const path = `${await jobPath(world, awaiting, 'suspended')}/resume`
      return { method: 'POST', path, body: { value: 'said' } }
    },
    async (found, { body }) => assert.deepEqual((await found.ended(body.job_id)).result?.outputs, { out: 'said' }),
  ),
  retryJob: http(
    async (world) => ({ method: 'POST', path: `${await jobPath(world, failing, 'failed')}/retry` }),
    async (found, { body, headers }) => {
      assert.equal((await found.there<JobSnapshot>(String(headers.location))).job_id, body.job_id)
    },
  ),
  createAsset: [
    http(
      () => ({ method: 'POST', path: '/api/assets', ...file('new') }),
      (found, { body }) => uploaded('new')(found, `/api/assets/${body.id}/download`),
    ),
    http(
      () => ({ method: 'POST', path: '/api/assets', ...folderForm }),
      (found, { body }) => found.there(`/api/assets/${body.id}`),
    ),
    // Replaces an existing asset.
    (() => {
      let replaces = ''
      return http(
        async (world) => {
          replaces = await asset(world)
          return { method: 'POST', path: '/api/assets', ...fieldsForm({ replaces }, { content: 'newer' }) }
        },
        async (found, { body }) => {
          await uploaded('newer')(found, `/api/assets/${body.id}/download`)
          await found.gone(`/api/assets/${replaces}`)
        },
      )
    })(),
  ],
  updateAsset: [
    http(
      async (world) => ({ method: 'PUT', path: `/api/assets/${await asset(world)}`, body: { name: 'renamed.txt' } }),
      async (found, _, { path }) => assert.equal((await found.there<Asset>(path)).name, 'renamed.txt'),
    ),
    http(
      async (world) => {
        const parent_id = await assetFolder(world)
        return { method: 'PUT', path: `/api/assets/${await asset(world)}`, body: { parent_id } }
      },
      async (found, { body }, { path }) => {
        assert.equal((await found.there<Asset>(path)).parent_id, body.parent_id)
        assert.notEqual(body.parent_id, 'root')
      },
    ),
  ],
  deleteAsset: [
    http(
      async (world) => ({ method: 'DELETE', path: `/api/assets/${await asset(world)}` }),
      (found, _, { path }) => found.gone(path),
    ),
    // A folder with its content.
    (() => {
      let held = ''
      return http(
        async (world) => {
          const folder = await assetFolder(world)
          held = await asset(world)
          await world.call('PUT', `/api/assets/${held}`, { body: { parent_id: folder } })
          return { method: 'DELETE', path: `/api/assets/${folder}` }
        },
        async (found, _, { path }) => {
          await found.gone(path)
          await found.gone(`/api/assets/${held}`)
        },
      )
    })(),
  ],
  putObject: http(
    () => ({ method: 'PUT', path: '/api/storage/1/row.txt', raw: 'put', headers: { 'Content-Type': 'text/plain' } }),
    (found, _, { path }) => uploaded('put')(found, path),
  ),
  deleteObject: http(
    async (world) => {
      const path = '/api/storage/1/gone.txt'
      await world.call('PUT', path, { raw: 'put', headers: { 'Content-Type': 'text/plain' } })
      return { method: 'DELETE', path }
    },
    (found, _, { path }) => found.gone(path),
  ),
  putAdminAsset: http(
    () => ({
      method: 'PUT',
      path: '/admin/storage/assets/row.txt',
      raw: 'put',
      headers: { 'Content-Type': 'text/plain' },
    }),
    (found, { body }) => uploaded('put')(found, (body as StoredObject).uri),
  ),
  uploadTemporaryAsset: http(
    () => ({ method: 'POST', path: '/api/sdk/v1/assets/temporary', ...file('temporary') }),
    (found, { body }) => uploaded('temporary')(found, body.uri),
  ),
  createChatCompletion: [
    http(
      () => completion(false),
      async (found, { headers }) => {
        assert.equal((await found.there<JobSnapshot>(`/api/jobs/${headers['x-svc-job-id']}`)).status, 'completed')
      },
    ),
    // The head of a stream names a job that may still run.
    http(
      () => completion(true),
      async (found, { headers }) => {
        assert.equal((await found.ended(String(headers['x-svc-job-id']))).status, 'completed')
      },
    ),
  ],
  createEmbedding: { nothing: 'the vectors are in the answer, and nothing of them is kept' },
  createThread: http(
    () => ({ method: 'POST', path: '/api/threads', body: { title: 'new' } }),
    (found, { body }) => found.there(`/api/threads/${body.id}`),
  ),
  updateThread: http(
    async (world) => ({ method: 'PUT', path: await threadPath(world), body: { title: 'renamed' } }),
    async (found, _, { path }) => assert.equal((await found.there<Thread>(path)).title, 'renamed'),
  ),
  deleteThread: http(
    async (world) => ({ method: 'DELETE', path: await threadPath(world) }),
    (found, _, { path }) => found.gone(path),
  ),
  createMessage: http(
    async (world) => ({ method: 'POST', path: `${await threadPath(world)}/messages`, body: { content: 'said' } }),
    async (found, { body }, { path }) => {
      const messages = await found.there<ChatMessage[]>(path)
      assert.deepEqual(
        messages.map(({ id }) => id),
        [body.id],
      )
    },
  ),
  updateSettings: http(
    () => ({ method: 'PUT', path: '/api/settings', body: { values: { 'jobs.event_detail': 'terminal' } } }),
    async (found) => {
      const { settings } = await found.there<Settings>('/api/settings')
      assert.equal(settings.find(({ name }) => name === 'jobs.event_detail')?.value, 'terminal')
    },
  ),
  putSecret: http(
    () => ({ method: 'PUT', path: '/api/secrets/ROW_KEY', body: { value: 'the value of a row' } }),
    async (found, _, { path }) => assert.equal((await found.there<Secret>(path)).is_set, true),
  ),
  deleteSecret: http(
    async (world) => {
      const path = '/api/secrets/ROW_GONE'
      await world.call('PUT', path, { body: { value: 'the value of a row' } })
      return { method: 'DELETE', path }
    },
    async (found, _, { path }) => {
      const { status, body } = await found.read<Secret>(path)
      assert.ok(status === 404 || body.is_set === false)
    },
  ),
  createToken: http(
    () => ({ method: 'POST', path: '/api/tokens', body: { name: 'new' } }),
    async (found, { body }) => {
      const tokens = await found.there<AccessToken[]>('/api/tokens')
      assert.ok(tokens.some(({ id }) => id === body.id))
    },
  ),
  deleteToken: http(
    async (world) => {
      const { id } = await world.call<{ id: string }>('POST', '/api/tokens', { body: { name: 'gone' } })
      return { method: 'DELETE', path: `/api/tokens/${id}` }
    },
    async (found, _, { path }) => {
      const tokens = await found.there<AccessToken[]>('/api/tokens')
      assert.ok(!tokens.some(({ id }) => path.endsWith(id)))
    },
  ),
  preflightWorkflow: { nothing: 'a preflight writes no row and reserves nothing' },
  getWorkflowInterfaces: { nothing: 'it reads, with the ids in its body' },
  submitJob: http(
    async (world) => ({ method: 'POST', path: '/api/sdk/v1/jobs', body: await submission(world) }),
    (found, { body }) => found.there(`/api/sdk/v1/jobs/${body.job_id}`),
  ),
  requestJobCancellation: http(
    async (world) => ({ method: 'POST', path: `/api/sdk/v1/jobs/${await world.job(fed, 'running')}/cancel` }),
    (found, { body }) => found.cancelled(body.job_id),
  ),
}
