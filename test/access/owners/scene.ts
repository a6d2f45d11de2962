// One server with an identity provider, an owner who has one of everything, and strangers: somebody else in the same workspace, and
// the same user in another one.
import { randomUUID } from 'node:crypto'
import type { CreatedToken, JobSnapshot, Workflow } from '../../../generated/types.ts'
import type { Scope } from '../../../src/db/scope.ts'
import { graph, node } from '../../engine/kit.ts'
import { call } from '../../helpers/http.ts'
import { type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { greeting } from '../../http/kit.ts'
import { stored } from '../../http/storage-kit.ts'
import { streamed } from '../../sockets/kit.ts'

/** Somebody who calls, with a credential. */
export interface Caller extends Scope {
  readonly headers: Readonly<Record<string, string>>
}

/** What the owner has, by what it is; each is named in paths, bodies and frames. */
export interface Things {
  readonly workflow: string
  readonly shared_workflow: string
  /** A job that has failed. */
  readonly failed_job: string
  /** A job that waits for a person. */
  readonly suspended_job: string
  /** A job that runs and takes values. */
  readonly living_job: string
  readonly key: string
  readonly token: string
  readonly secret: string
}

export interface Scene extends AsyncDisposable {
  readonly server: TestServer
  /** What `look` told of the server to somebody before anybody had anything. */
  readonly empty: string
  readonly owner: Caller
  readonly things: Things
  /** The owner's things as nobody has them: of the same length, so that answers can be compared. */
  readonly missing: Things
  /** A new caller with the same user, or the same workspace, as the owner. */
  stranger(kind: StrangerKind): Promise<Caller>
  /** A caller who shares nothing with anybody. */
  newcomer(): Promise<Caller>
}

export const STRANGERS = ['another user of the workspace', 'the same user in another workspace'] as const
export type StrangerKind = (typeof STRANGERS)[number]

/** Names of secrets are their owners' choice: everybody may use this one. */
export const OWNERS_SECRET = 'OWNERS_SECRET'

const OWNER: Scope = { user_id: 'owner', workspace_id: 'workspace-of-both' }

/** `look` is asked once, before the owner has anything. */
export async function startScene(look: (server: TestServer, caller: Caller) => Promise<string>): Promise<Scene> {
  const idp = await startIdentityProvider()
  const server = await startServer({ environment: idp.environment })
  const caller = (scope: Scope) => callerOf(idp, scope)
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

async function callerOf(idp: IdentityProvider, scope: Scope): Promise<Caller> {
  const { user_id, workspace_id } = scope
  const token = await idp.token({ sub: user_id, ...(workspace_id === null ? {} : { workspace_id }) })
  return { ...scope, headers: { Authorization: `Bearer ${token}` } }
}

function mapped(things: Things, change: (text: string) => string): Things {
  return Object.fromEntries(Object.entries(things).map(([name, text]) => [name, change(text)])) as unknown as Things
}

/** The same text with another letter or digit for each of its last four. */
function elsewhere(text: string): string {
  const end = /([a-z0-9]{4})(\.[a-z]+)?$/i.exec(text)!
  const other = end[1]!.replace(/./g, (letter) => (letter === '0' ? '1' : '0'))
  return `${text.slice(0, end.index)}${other}${end[2] ?? ''}`
}

async function everything(server: TestServer, owner: Caller): Promise<Things> {
  const { headers } = owner
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await call<T>(server, method, path, { headers, body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`)
    return answer.body
  }
  const workflow = await ask<Workflow>('POST', '/api/workflows', greeting({ name: 'Of the owner' }))
  const shared = await ask<Workflow>('POST', '/api/workflows', greeting({ name: 'Shared' }))
  await ask('POST', `/api/workflows/${shared.id}/share`)
  const asset = await stored(server, 'of the owner', { scope: owner, name: 'note.txt', content_type: 'text/plain' })
  const token = await ask<CreatedToken>('POST', '/api/tokens', { name: 'Of the owner' })
  await ask('PUT', '/api/settings', { values: { 'jobs.timeout_seconds': 77 } })
  await ask('PUT', `/api/secrets/${OWNERS_SECRET}`, { value: 'the secret of the owner' })
  return {
    workflow: workflow.id,
    shared_workflow: shared.id,
    ...(await jobs(server, owner, ask)),
    key: asset.storage_key,
    token: token.id,
    secret: OWNERS_SECRET,
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
