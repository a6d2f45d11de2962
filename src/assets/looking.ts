// Looks at the content of one asset, and keeps what there is to see. Which asset, and when, is left to previews.ts.
import type { Readable } from 'node:stream'
import { keepSeen, passOver, seenTwin, type Unseen, unseenAsset, unseenAssets, unseenMetadata } from '../db/previews.ts'
import { userKey } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { NodeError } from '../engine/node-error.ts'
import type { MediaAccess, MediaResult } from '../engine/services.ts'
import type { Contents } from './contents.ts'
import { type Look, lookAt } from './looks.ts'
import { type Found, foundOf, type Metadata, withFound } from './metadata.ts'

export interface LookingParts {
  readonly store: Store
  readonly contents: Contents
  readonly media: MediaAccess
}

/** Of one look. */
const LONGEST_MS = 15_000
/** How long a look waits for a process. The own workflows of its user may keep it waiting; it is tried again later. */
const LONGEST_WAIT_MS = 5_000
/** So many assets that there is nothing to see of are passed over at once. */
const BATCH = 100
/** How often a look is tried whose process died. */
const MOST_TRIES = 2
/** Failures that say nothing of the content. */
const LATER: ReadonlySet<string> = new Set(['busy', 'unavailable'])

export class Looking {
  readonly #parts: LookingParts
  readonly #stopped: AbortSignal

  /** What is under way when `stopped` aborts leaves its asset as it was. */
  constructor(parts: LookingParts, stopped: AbortSignal) {
    this.#parts = parts
    this.#stopped = stopped
  }

  /** Looks at an asset, if it is there and nobody has. @throws what the store and the database throw, and NodeError `busy` and `unavailable` */
  async see(asset_id: string): Promise<void> {
    const { store } = this.#parts
    const row = store.read((tx) => unseenAsset(tx, asset_id))
    if (!row || (await this.#asTwin(row))) return
    const look = lookAt(row)
    if (!look) return store.write((tx) => passBlank(tx, row))
    const made = await this.#looked(row, look)
    if (this.#stopped.aborted) return
    if (made) await this.#keep(row, made)
    else await store.write((tx) => passOver(tx, asset_id))
  }

  /** Takes over what is known of the same content of the same owner; false where nothing is. */
  async #asTwin(row: Unseen): Promise<boolean> {
    const { store } = this.#parts
    if (!store.read((tx) => seenTwin(tx, row))) return false
    // The twin may go until the transaction begins, and its picture with it.
    return store.write((tx) => {
      const twin = seenTwin(tx, row)
      if (twin) written(tx, row, twin.thumb_key, foundOf(twin.metadata))
      return twin !== undefined
    })
  }

  /** What there is to see, null where that is nothing: the content is damaged, hostile, or gone. */
  async #looked(row: Unseen, { task, bytes }: Look): Promise<MediaResult | null> {
    const { contents, media } = this.#parts
    const length = Math.min(bytes, row.size)
    const stream = await contents.get(row.content_key, { start: 0, length })
    if (!stream) return null
    const asked = { task, files: [await filled(stream, length)], params: { size: row.size } }
    if (this.#stopped.aborted) return null
    const limits = { wait_limit_ms: LONGEST_WAIT_MS, time_limit_ms: LONGEST_MS, signal: this.#stopped }
    for (let tries = 1; ; tries++) {
      try {
        return await media.run({ ...asked, ...limits, owner: userKey(row) })
      } catch (error) {
        if (this.#stopped.aborted) return null
        if (!(error instanceof NodeError) || LATER.has(error.type)) throw error
        if (error.type !== 'media_failed' || tries === MOST_TRIES) return null
      }
    }
  }

  async #keep(row: Unseen, { files: [picture], value }: MediaResult): Promise<void> {
    const { store, contents } = this.#parts
    const found = value as Metadata
    if (!picture) return store.write((tx) => written(tx, row, null, { found }))
    using received = await contents.receive(picture)
    const { size, sha256 } = received
    const thumb_key = contents.settle(row.user_id, received)
    // Where the asset was removed meanwhile, the sweep finds the picture.
    await store.write((tx) => written(tx, row, thumb_key, { found, thumb: { size, sha256 } }))
  }
}

/** Passes over what there is nothing to see of, from this asset of its user on. */
function passBlank(tx: Tx, { user_id, key }: Unseen): void {
  for (const row of unseenAssets(tx, user_id, key, BATCH)) if (lookAt(row) === null) passOver(tx, row.id)
}

/** Writes what was seen, unless the asset was removed meanwhile. */
function written(tx: Tx, row: Unseen, thumb_key: string | null, found: Found): void {
  const metadata = unseenMetadata(tx, row)
  if (metadata !== undefined) keepSeen(tx, row.id, { thumb_key, metadata: withFound(metadata, found) })
}

/** So many bytes of a stream. */
async function filled(stream: Readable, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let at = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
