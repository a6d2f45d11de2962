// Assets that jobs keep: what the list says of each, and what its bytes are.
import { createHash } from 'node:crypto'
import type { Asset } from '../../../generated/types.ts'
import { listAssets } from './librarian.ts'
import { exchange } from './transfer.ts'

export interface SavedAsset {
  readonly job_id: string
  /** As the list says. */
  readonly sha256: string | null
  /** Of the bytes that were read; what came instead where there were none. */
  readonly found: string
}

/** All of them, of a server on which nothing happens. */
export async function savedAssets(url: string): Promise<SavedAsset[]> {
  const saved: SavedAsset[] = []
  for (const asset of await listAssets(url)) if (asset.job_id !== null) saved.push(await look(url, asset, asset.job_id))
  return saved
}

async function look(url: string, { id, sha256 }: Asset, job_id: string): Promise<SavedAsset> {
  const { status, bytes } = await exchange(url, { method: 'GET', path: `/api/assets/${id}/download` })
  return {
    job_id,
    sha256,
    found: status === 200 ? createHash('sha256').update(bytes).digest('hex') : `status ${status}`,
  }
}
