// Objects under keys on a test server, and the files of its store.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { StoredObject } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { filesOf } from '../assets/kit.ts'
import { type Answer, call, type ErrorBody } from '../helpers/http.ts'
import { type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer, type TestSettings } from '../helpers/server.ts'

export const STORAGE = '/api/storage'

export type Headers = Readonly<Record<string, string>>

export function put(
  server: { readonly url: string },
  key: string,
  raw: string | Uint8Array,
  headers: Headers = {},
): Promise<Answer<StoredObject & ErrorBody>> {
  return call(server, 'PUT', `${STORAGE}/${key}`, { raw, headers })
}

export function get(server: { readonly url: string }, key: string, headers: Headers = {}): Promise<Answer> {
  return call(server, 'GET', `${STORAGE}/${key}`, { headers })
}

export function remove(server: { readonly url: string }, key: string, headers: Headers = {}): Promise<Answer> {
  return call(server, 'DELETE', `${STORAGE}/${key}`, { headers })
}

export function sha256Of(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function md5Of(bytes: string | Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64')
}

export function etagOf(bytes: string | Uint8Array): string {
  return `"${sha256Of(bytes)}"`
}

/** Names of files in the blob store: complete ones, and those that are being written. */
export function storeFiles({ data_dir }: { readonly data_dir: string }): { kept: string[]; incoming: string[] } {
  const files = (folder: string) => filesOf(join(data_dir, 'storage', folder))
  return { kept: files('objects'), incoming: files('incoming') }
}

/** All rows of objects, of all owners. */
export function objectRows({ context }: TestServer): { storage_key: string; workspace_id: string | null }[] {
  const sql = 'select storage_key, workspace_id from object order by storage_key, workspace_id'
  return context.store.read((tx) => tx.all({ sql, bind: () => [] }, []))
}

export interface Shared extends AsyncDisposable {
  readonly server: TestServer
  /** The headers of a caller. */
  as(scope: OwnerScope): Promise<Headers>
}

/** A server with many users. */
export async function sharedServer(settings: TestSettings = {}): Promise<Shared> {
  const idp: IdentityProvider = await startIdentityProvider()
  const environment = { ...settings.environment, ...idp.environment }
  const server = await startServer({ ...settings, environment })
  return {
    server,
    async as({ user_id, workspace_id }) {
      const token = await idp.token({ sub: user_id, ...(workspace_id === null ? {} : { workspace_id }) })
      return { Authorization: `Bearer ${token}` }
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
    },
  }
}
