// Two users with assets on one server, and the data that the server stores of them.
import { join } from 'node:path'
import type { Asset, AssetPage } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { filesOf } from '../assets/kit.ts'
import { type Answer, type CallOptions, call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer, type TestSettings } from '../helpers/server.ts'
import { fieldsForm } from './uploads-kit.ts'

export type FormFile = Parameters<typeof fieldsForm>[1]

/** A caller. */
export interface Person {
  readonly scope: OwnerScope
  ask<T = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<T>>
  create(fields: Readonly<Record<string, string>>, file?: FormFile): Promise<Answer<Asset>>
  /** As `create`, which must succeed. */
  made(fields: Readonly<Record<string, string>>, file?: FormFile): Promise<Asset>
  folder(name: string, parent_id?: string): Promise<Asset>
  list(query?: Readonly<Record<string, string | number>>): Promise<AssetPage>
}

export interface People extends AsyncDisposable {
  readonly server: TestServer
  readonly ada: Person
  readonly bob: Person
}

export async function startPeople(settings: TestSettings = {}): Promise<People> {
  const idp = await startIdentityProvider()
  const environment = { ...idp.environment, ...settings.environment }
  const server = await startServer({ ...settings, environment })
  const person = async (user_id: string) =>
    personOf(server, { user_id, workspace_id: null }, await idp.token({ sub: user_id }))
  return {
    server,
    ada: await person('ada'),
    bob: await person('bob'),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
    },
  }
}

function personOf(server: TestServer, scope: OwnerScope, token: string): Person {
  const ask = <T>(method: string, path: string, options: CallOptions = {}) =>
    call<T>(server, method, path, { ...options, headers: { Authorization: `Bearer ${token}`, ...options.headers } })
  const create: Person['create'] = (fields, file) => ask<Asset>('POST', '/api/assets', fieldsForm(fields, file))
  const made: Person['made'] = async (fields, file) => {
    const { status, body, text } = await create(fields, file)
    if (status !== 201) throw new Error(text)
    return body
  }
  return {
    scope,
    ask,
    create,
    made,
    folder: (name, parent_id) =>
      made({ name, content_type: 'folder', ...(parent_id === undefined ? {} : { parent_id }) }),
    async list(query = {}) {
      const search = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
      )
      const { status, body, text } = await ask<AssetPage>('GET', `/api/assets?${search}`)
      if (status !== 200) throw new Error(text)
      return body
    },
  }
}

/** Files in the blob store of a server, complete or not. */
export function storedFiles({ data_dir }: { readonly data_dir: string }): string[] {
  return filesOf(join(data_dir, 'storage'))
}
