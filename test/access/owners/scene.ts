// A server with an identity provider, an owner who has one thing of each kind, and strangers: another user in the same workspace, and the same user
// in another workspace.
import { randomUUID } from 'node:crypto'
import type { Asset, CreatedToken, JobSnapshot, StoredObject, Thread, Workflow } from '../../../generated/types.ts'
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import { graph, node } from '../../engine/kit.ts'
import { call } from '../../helpers/http.ts'
import { type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { greeting } from '../../http/kit.ts'
import { stored } from '../../http/storage-kit.ts'
import { fieldsForm, given } from '../../http/uploads-kit.ts'
import { streamed } from '../../sockets/kit.ts'

/** A caller with a credential. */
export interface Caller extends OwnerScope {
  readonly headers: Readonly<Record<string, string>>
}

/** The owner's things by kind; each is named in paths, bodies and frames. */
export interface Things {
  readonly workflow: string
  readonly shared_workflow: string
  /** A job that has failed. */
  readonly failed_job: string
  /** A job that waits for a person's input. */
  readonly suspended_job: string
  /** A job that runs and takes values. */
  readonly living_job: string
  /** A file at the top level. */
  readonly asset: string
  /** The URL of its bytes. */
  readonly key: string
  /** An empty folder. */
  readonly folder: string
  /** The key of a temporary file. */
  readonly temporary_key: string
  /** The key of an object, chosen by the owner. */
  readonly object_key: string
  readonly token: string
  readonly secret: string
  /** A thread with a message. */
  readonly thread: string
}

export interface Scene extends AsyncDisposable {
  readonly server: TestServer
  /** The result of `look` for a caller before any user had anything. */
  readonly empty: string
  readonly owner: Caller
  readonly things: Things
  /** Unknown names of the owner's things, of the same length, so that answers can be compared. */
  readonly missing: Things
  /** A new caller with the same user, or the same workspace, as the owner. */
  stranger(kind: StrangerKind): Promise<Caller>
  /** A caller without a shared user or workspace. */
  newcomer(): Promise<Caller>
}

export const STRANGERS = ['another user of the workspace', 'the same user in another workspace'] as const
export type StrangerKind = (typeof STRANGERS)[number]

/** Owners choose the names of secrets, so any caller may use this name. */
export const OWNERS_SECRET = 'OWNERS_SECRET'

const OWNER: OwnerScope = { user_id: 'owner', workspace_id: 'workspace-of-both' }

/** `look` is called once, before the owner has anything. */
export async function startScene(look: (server: TestServer, caller: Caller) => Promise<string>): Promise<Scene> {
  const idp = await startIdentityProvider()
  const server = await startServer({ environment: { ...idp.environment, SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' } })
  // The statements of requests are compared, so no sweep or check may run meanwhile.
  await server.context.runs.retention[Symbol.asyncDispose]()
  await server.context.assets.previews[Symbol.asyncDispose]()
  const caller = (scope: OwnerScope) => callerOf(idp, scope)
  const empty = await look(server, await caller({ user_id: 'first', workspace_id: 'of-the-first' }))
  const owner = await caller(OWNER)
  const things = await everything(server, owner)
  return {
    server,
    empty,
    owner,
    things,
    missing: { ...mapped(things, elsewhere), workflow: elsewhere(things.workflow) },
    stranger: (kind) =>
      caller(
        kind === 'another user of the workspace'
          ? { user_id: `u-${randomUUID()}`, workspace_id: OWNER.workspace_id }
          : { user_id: OWNER.user_id, workspace_id: `w-${randomUUID()}` },
      ),
    newcomer: () => caller({ user_id: `u-${randomUUID()}`, workspace_id: `w-${randomUUID()}` }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
    },
  }
}

async function callerOf(idp: IdentityProvider, scope: OwnerScope): Promise<Caller> {
  const { user_id, workspace_id } = scope
  const token = await idp.token({ sub: user_id, ...(workspace_id === null ? {} : { workspace_id }) })
  return { ...scope, headers: { Authorization: `Bearer ${token}` } }
}

function mapped(things: Things, change: (text: string) => string): Things {
  return Object.fromEntries(Object.entries(things).map(([name, text]) => [name, change(text)])) as unknown as Things
}

/** The same text with its last four characters changed. */
function elsewhere(text: string): string {
  const end = /([a-z0-9]{4})(\.[a-z]+)?$/i.exec(text)!
  const other = end[1]!.replace(/./g, (letter) => (letter === '0' ? '1' : '0'))
  return `${text.slice(0, end.index)}${other}${end[2] ?? ''}`
}

async function everything(server: TestServer, owner: Caller): Promise<Things> {
  const { headers } = owner
  const form = fieldsForm({ name: 'Of the owner', content_type: 'folder' })
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await call<T>(server, method, path, { headers, body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`)
    return answer.body
  }
  const workflow = await ask<Workflow>('POST', '/api/workflows', greeting({ name: 'Of the owner' }))
  const shared = await ask<Workflow>('POST', '/api/workflows', greeting({ name: 'Shared' }))
  await ask('POST', `/api/workflows/${shared.id}/share`)
  const asset = await stored(server, 'of the owner', { scope: owner, name: 'note.txt', content_type: 'text/plain' })
  const folder = await call<Asset>(server, 'POST', '/api/assets', {
    headers: { ...headers, ...form.headers },
    raw: form.raw,
  })
  const uploaded = await server.context.assets.temporary.put(owner, given('of the owner as well', { name: 'note.txt' }))
  const object = await call<StoredObject>(server, 'PUT', '/api/storage/owner/kept/note.txt', { headers, raw: 'put' })
  const token = await ask<CreatedToken>('POST', '/api/tokens', { name: 'Of the owner' })
  await ask('PUT', `/api/secrets/${OWNERS_SECRET}`, { value: 'the secret of the owner' })
  const thread = await ask<Thread>('POST', '/api/threads', { title: 'Of the owner' })
  await ask('POST', `/api/threads/${thread.id}/messages`, { content: 'said by the owner' })
  const made = await jobs(server, owner, ask)
  // After the jobs, since a job with a time limit would end by itself, and be checked until then.
  await ask('PUT', '/api/settings', { values: { 'jobs.timeout_seconds': 77 } })
  return {
    workflow: workflow.id,
    shared_workflow: shared.id,
    ...made,
    asset: asset.id,
    key: asset.storage_key,
    folder: folder.body.id,
    temporary_key: uploaded.storage_key,
    object_key: object.body.key,
    token: token.id,
    secret: OWNERS_SECRET,
    thread: thread.id,
  }
}

type Ask = <T>(method: string, path: string, body?: unknown) => Promise<T>

async function jobs(server: TestServer, owner: Caller, ask: Ask) {
  const run = async (name: string, of: unknown, reached: readonly string[]): Promise<string> => {
    const made = await ask<Workflow>('POST', '/api/workflows', { name, graph: of })
    const { job_id } = await ask<{ job_id: string }>('POST', `/api/workflows/${made.id}/run`, { background: true })
    await until(`the job ${name}`, async () => {
      const { body } = await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`, { headers: owner.headers })
      return reached.includes(body.status)
    })
    return job_id
  }
  const failing = graph(
    [node('fail', 'math.Formula', { formula: '1 / 0' }), node('out', 'output.Output', { name: 'x' })],
    ['fail.output->out.value'],
  )
  const asking = graph(
    [node('ask', 'human.Approval', { message: 'Go on?', value: 1 }), node('out', 'output.Output', { name: 'x' })],
    ['ask.approved->out.value'],
  )
  return {
    failed_job: await run('Failing', failing, ['failed']),
    suspended_job: await run('Asking', asking, ['suspended']),
    living_job: await run('Living', streamed(), ['running']),
  }
}
