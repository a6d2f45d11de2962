// Looks at the content of one asset, and keeps what there is to see. Which asset, and when, is left to previews.ts.
import type { Readable } from 'node:stream'
import {
  findPreviewOfSameContent,
  findUnpreviewedAsset,
  findUnpreviewedMetadata,
  listUnpreviewedAssets,
  markPreviewed,
  savePreview,
  type UnpreviewedAsset,
} from '../../db/assets/previews.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import type { Store, Tx } from '../../db/store.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { MediaAccess, MediaResult } from '../../engine/node-api/node-services.ts'
import { type AssetMetadata, type ContentFindings, readFindings, replaceFindings } from '../metadata.ts'
import type { BlobStore } from '../stores/blob-store.ts'
import { findPreviewTask, type PreviewTask } from './tasks.ts'

export interface PreviewGeneratorParts {
  readonly store: Store
  readonly contents: BlobStore
  readonly media: MediaAccess
}

/** Of one look. */
const TIME_LIMIT_MS = 15_000
/** How long a look waits for a process. The own workflows of its user may keep it waiting; it is tried again later. */
const WAIT_LIMIT_MS = 5_000
/** So many assets that there is nothing to see of are passed over at once. */
const BATCH = 100
/** How often a look is tried whose process died. */
const MOST_TRIES = 2
/** Failures that say nothing of the content. */
const RETRYABLE_ERRORS: ReadonlySet<string> = new Set(['busy', 'unavailable'])

export class PreviewGenerator {
  readonly #parts: PreviewGeneratorParts
  readonly #stopped: AbortSignal

  /** What is under way when `stopped` aborts leaves its asset as it was. */
  constructor(parts: PreviewGeneratorParts, stopped: AbortSignal) {
    this.#parts = parts
    this.#stopped = stopped
  }

  /** Looks at an asset, if it is there and nobody has. @throws what the store and the database throw, and NodeError `busy` and `unavailable` */
  async generate(asset_id: string): Promise<void> {
    const { store } = this.#parts
    const row = store.read((tx) => findUnpreviewedAsset(tx, asset_id))
    if (!row || (await this.#copyFromTwin(row))) return
    const look = findPreviewTask(row)
    if (!look) return store.write((tx) => skipUnpreviewable(tx, row))
    const made = await this.#runTask(row, look)
    if (this.#stopped.aborted) return
    if (made) await this.#storePreview(row, made)
    else await store.write((tx) => markPreviewed(tx, asset_id))
  }

  /** Takes over what is known of the same content of the same owner; false where nothing is. */
  async #copyFromTwin(row: UnpreviewedAsset): Promise<boolean> {
    const { store } = this.#parts
    if (!store.read((tx) => findPreviewOfSameContent(tx, row))) return false
    // The twin may go until the transaction begins, and its picture with it.
    return store.write((tx) => {
      const twin = findPreviewOfSameContent(tx, row)
      if (twin) writePreview(tx, row, twin.thumb_key, readFindings(twin.metadata))
      return twin !== undefined
    })
  }

  /** What there is to see, null where that is nothing: the content is damaged, hostile, or gone. */
  async #runTask(row: UnpreviewedAsset, { task, bytes }: PreviewTask): Promise<MediaResult | null> {
    const { contents, media } = this.#parts
    const length = Math.min(bytes, row.size)
    const stream = await contents.get(row.content_key, { start: 0, length })
    if (!stream) return null
    const asked = { task, files: [await readBytes(stream, length)], params: { size: row.size } }
    if (this.#stopped.aborted) return null
    const limits = { wait_limit_ms: WAIT_LIMIT_MS, time_limit_ms: TIME_LIMIT_MS, signal: this.#stopped }
    for (let tries = 1; ; tries++) {
      try {
        return await media.run({ ...asked, ...limits, owner: userShareKey(row) })
      } catch (error) {
        if (this.#stopped.aborted) return null
        if (!(error instanceof NodeError) || RETRYABLE_ERRORS.has(error.type)) throw error
        if (error.type !== 'media_failed' || tries === MOST_TRIES) return null
      }
    }
  }

  async #storePreview(row: UnpreviewedAsset, { files: [picture], value }: MediaResult): Promise<void> {
    const { store, contents } = this.#parts
    const found = value as AssetMetadata
    if (!picture) return store.write((tx) => writePreview(tx, row, null, { found }))
    using received = await contents.receive(picture)
    const { size, sha256 } = received
    const thumb_key = contents.commit(row.user_id, received)
    // Where the asset was removed meanwhile, the sweep finds the picture.
    await store.write((tx) => writePreview(tx, row, thumb_key, { found, thumb: { size, sha256 } }))
  }
}

/** Passes over what there is nothing to see of, from this asset of its user on. */
function skipUnpreviewable(tx: Tx, { user_id, key }: UnpreviewedAsset): void {
  for (const row of listUnpreviewedAssets(tx, user_id, key, BATCH))
    if (findPreviewTask(row) === null) markPreviewed(tx, row.id)
}

/** Writes what was seen, unless the asset was removed meanwhile. */
function writePreview(tx: Tx, row: UnpreviewedAsset, thumb_key: string | null, found: ContentFindings): void {
  const metadata = findUnpreviewedMetadata(tx, row)
  if (metadata !== undefined) savePreview(tx, row.id, { thumb_key, metadata: replaceFindings(metadata, found) })
}

/** So many bytes of a stream. */
async function readBytes(stream: Readable, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let at = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
