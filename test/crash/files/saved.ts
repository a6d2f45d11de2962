// The assets that jobs save: their listed members and their bytes.
import { createHash } from 'node:crypto'
import type { Asset } from '../../../generated/types.ts'
import { listAssets } from './librarian.ts'
import { exchange } from './transfer.ts'

export interface SavedAsset {
  readonly job_id: string
  /** As the list shows it. */
  readonly sha256: string | null
  /** The digest of the read bytes, or the error instead. */
  readonly found: string
}

/** All saved assets of an idle server. */
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
