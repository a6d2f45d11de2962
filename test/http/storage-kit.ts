// Assets on a test server, and requests for their raw bytes.
import { createHash } from 'node:crypto'
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http'
import type { StoredAsset } from '../../src/assets/asset-store.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { TestServer } from '../helpers/server.ts'

/** The only user of a test server. */
export const ME: OwnerScope = { user_id: '1', workspace_id: null }

export interface Given {
  scope?: OwnerScope
  content_type?: string | null
  name?: string | null
}

/** Stores an asset and returns its row. */
export async function stored(
  { context }: TestServer,
  bytes: Uint8Array | string,
  given: Given = {},
): Promise<StoredAsset> {
  const { scope = ME, content_type = null, name = null } = given
  const made = { workflow_id: null, job_id: null, node_id: null }
  const prepared = context.assets.store.prepare(scope, Buffer.from(bytes), { content_type, name, ...made })
  await context.store.write((tx) => context.assets.store.insert(tx, prepared))
  return prepared.row
}

export interface Bytes {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
}

/** Reads bytes over a connection that stays open for the next. */
export function reader(server: { readonly url: string }): Disposable & {
  read(method: string, path: string, headers?: Record<string, string>): Promise<Bytes>
} {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const { hostname, port } = new URL(server.url)
  return {
    read: (method, path, headers = {}) =>
      new Promise((resolve, reject) => {
        const outgoing = send({ agent, host: hostname, port, method, path, headers }, (incoming) => {
          const chunks: Buffer[] = []
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
          incoming.on('error', reject)
          incoming.on('end', () =>
            resolve({ status: incoming.statusCode!, headers: incoming.headers, bytes: Buffer.concat(chunks) }),
          )
        })
        outgoing.on('error', reject)
        outgoing.end()
      }),
    [Symbol.dispose]: () => agent.destroy(),
  }
}

/** `size` bytes in chunks, the same each time. */
export async function* pattern(size: number): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(1 << 20, createHash('sha512').update('pattern').digest())
  for (let left = size; left > 0; left -= piece.length) yield left < piece.length ? piece.subarray(0, left) : piece
}
