// PreviewGenerator reads the content of one asset and stores its preview. The scheduler (scheduler.ts) decides which asset, and when.
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
import type { MediaAccess, MediaResult } from '../../engine/node-api/services/media.ts'
import { type AssetMetadata, type ContentFindings, readFindings, replaceFindings } from '../metadata.ts'
import type { BlobStore } from '../stores/blob-store.ts'
import { findPreviewTask, type PreviewTask } from './tasks.ts'

export interface PreviewGeneratorParts {
  readonly store: Store
  readonly contents: BlobStore
  readonly media: MediaAccess
}

/** Limit of one preview task, in milliseconds. */
const TIME_LIMIT_MS = 15_000
/** How long a task waits for a process, in milliseconds. The user's own workflows may use all processes; the task is tried again later. */
const WAIT_LIMIT_MS = 5_000
/** Number of assets without a preview task that are marked at once. */
const BATCH = 100
/** How often a task is tried whose process died. */
const MOST_TRIES = 2
/** Failures that do not come from the content. */
const RETRYABLE_ERRORS: ReadonlySet<string> = new Set(['busy', 'unavailable'])

export class PreviewGenerator {
  readonly #parts: PreviewGeneratorParts
  readonly #stopped: AbortSignal

  /** When `stopped` aborts, a running task leaves its asset unchanged. */
  constructor(parts: PreviewGeneratorParts, stopped: AbortSignal) {
    this.#parts = parts
    this.#stopped = stopped
  }

  /**
   * Generates the preview of an asset, if the asset exists and has none yet.
   * @throws the errors of the store and the database, and NodeError `busy` and `unavailable`
   */
  async generate(asset_id: string): Promise<void> {
    const { store } = this.#parts
    const row = store.read((tx) => findUnpreviewedAsset(tx, asset_id))
    if (!row || (await this.#copyFromTwin(row))) return
    const task = findPreviewTask(row)
    if (!task) return store.write((tx) => skipUnpreviewable(tx, row))
    const made = await this.#runTask(row, task)
    if (this.#stopped.aborted) return
    if (made) await this.#storePreview(row, made)
    else await store.write((tx) => markPreviewed(tx, asset_id))
  }

  /** Copies the preview of an asset with the same content and owner; returns false if there is none. */
  async #copyFromTwin(row: UnpreviewedAsset): Promise<boolean> {
    const { store } = this.#parts
    if (!store.read((tx) => findPreviewOfSameContent(tx, row))) return false
    // The other asset may be deleted before the transaction begins, together with its thumbnail.
    return store.write((tx) => {
      const twin = findPreviewOfSameContent(tx, row)
      if (twin) writePreview(tx, row, twin.thumb_key, readFindings(twin.metadata))
      return twin !== undefined
    })
  }

  /** Runs the preview task. Returns null if there is no preview: the content is damaged, hostile, or removed. */
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
    // If the asset was removed meanwhile, the sweep removes the thumbnail.
    await store.write((tx) => writePreview(tx, row, thumb_key, { found, thumb: { size, sha256 } }))
  }
}

/** Marks the next assets of the user, from this one on, that have no preview task. */
function skipUnpreviewable(tx: Tx, { user_id, key }: UnpreviewedAsset): void {
  for (const row of listUnpreviewedAssets(tx, user_id, key, BATCH))
    if (findPreviewTask(row) === null) markPreviewed(tx, row.id)
}

/** Writes the preview, unless the asset was removed meanwhile. */
function writePreview(tx: Tx, row: UnpreviewedAsset, thumb_key: string | null, found: ContentFindings): void {
  const metadata = findUnpreviewedMetadata(tx, row)
  if (metadata !== undefined) savePreview(tx, row.id, { thumb_key, metadata: replaceFindings(metadata, found) })
}

/** Reads `length` bytes of a stream. */
async function readBytes(stream: Readable, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let at = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
