// The temporary store: files that a caller hands in for a run, and those that a job makes which is to leave none. No row knows of them. What is
// needed to serve one is kept behind its bytes, in the same object, so that there is never one without the other. They are gone after a day.
import { createHmac } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { AssetReference } from '../../generated/types.ts'
import type { Scope } from '../db/scope.ts'
import type { Platform } from '../platform.ts'
import { type AssetPlace, contentAt } from './assets.ts'
import { contentTypeOf, extensionOf } from './content-type.ts'
import { cleanName } from './file-name.ts'
import { Head } from './head.ts'
import { digestOf, temporaryKey, uriOf } from './keys.ts'
import type { ByteRange, ObjectStore, Written } from './object-store.ts'
import { removeEach } from './remove-each.ts'
import { KEPT_MS, objectKey, placeOf } from './temporary-keys.ts'
import type { KeptBytes, TemporaryQuota } from './temporary-quota.ts'
import { behind, LONGEST_TAIL, type TemporaryFile, tailOf } from './temporary-tail.ts'

export { TEMPORARY_HOURS } from './temporary-keys.ts'
export type { TemporaryFile } from './temporary-tail.ts'

export interface Claims {
  /** As the caller says, or null. */
  readonly name: string | null
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
}

export interface GivenFile extends Claims {
  /** What it throws breaks the file off, and nothing of it is kept. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** How many of them are announced, at least. */
  readonly at_least?: number
}

/** Of the part of a key that nobody is to guess. */
const RANDOM_BYTES = 24

const ID_PREFIX = 'temp_'

/** Whether an id is that of a temporary file, whether there is one or not. */
export function isTemporaryId(asset_id: string): boolean {
  return /^temp_[0-9a-f]{48}$/.test(asset_id)
}

export interface TemporaryParts {
  /** Holds nothing else. */
  readonly objects: ObjectStore
  /** Of what the files of one user take. */
  readonly quota: TemporaryQuota
  readonly platform: Pick<Platform, 'now' | 'secret'>
  /** Keeps anybody from guessing what the files of jobs are called; it serves nothing else. */
  readonly secret: Uint8Array
}

export class TemporaryStore {
  readonly quota: TemporaryQuota
  readonly #objects: ObjectStore
  readonly #platform: Pick<Platform, 'now' | 'secret'>
  readonly #secret: Uint8Array
  #sweptTo: string | null = null

  constructor({ objects, quota, platform, secret }: TemporaryParts) {
    this.quota = quota
    this.#objects = objects
    this.#platform = platform
    this.#secret = secret
  }

  /**
   * Keeps a file as it comes, and never more of it in memory than a piece. It can be found once it is whole and on disk.
   * @throws TEMPORARY_QUOTA_EXCEEDED, what `bytes` throws, and what the file system does: no room, no access
   */
  async put(scope: Scope, given: GivenFile): Promise<TemporaryFile> {
    using room = await this.quota.reserve(scope.user_id, given.at_least)
    const head = new Head()
    const id = Buffer.from(this.#platform.secret(RANDOM_BYTES), 'base64url').toString('hex')
    let file: TemporaryFile | undefined
    await this.#objects.put(objectKey(scope.user_id, id), head.of(room.of(given.bytes)), (written) => {
      file = this.#file(scope, id, given, head.bytes, written)
      const tail = tailOf(file)
      room.take(tail.length)
      return tail
    })
    this.quota.kept(scope.user_id, keptAs(file!))
    return file!
  }

  /**
   * Keeps what a job made, at once. The same content at the same place is the same file again, and its day begins anew. It counts as all files of
   * the user do, and is never refused for what they take: what a run has made, and perhaps paid for, is not lost for lack of a quota.
   * @throws what the file system throws
   */
  keep(scope: Scope, bytes: Uint8Array, place: AssetPlace, claims: Claims): AssetReference {
    const digest = digestOf(bytes)
    const mac = createHmac('sha256', this.#secret).update(contentAt(scope, place, digest))
    const id = mac.digest('hex').slice(0, 2 * RANDOM_BYTES)
    const file = this.#file(scope, id, claims, bytes, { size: bytes.length, sha256: digest })
    this.#objects.putSync(objectKey(scope.user_id, id), bytes, tailOf(file))
    this.quota.kept(scope.user_id, keptAs(file), true)
    const { storage_key, name, content_type, size, sha256, expires_at } = file
    const asset_id = `${ID_PREFIX}${id}`
    return { asset_id, uri: uriOf(storage_key), name, content_type, size, sha256, download_url: null, expires_at }
  }

  /** The file that is served under a key, or null where there is none of this scope; of any for a caller who brings a signature (null). */
  async find(scope: Scope | null, storage_key: string): Promise<TemporaryFile | null> {
    const at = placeOf(storage_key)
    const file = at === null ? null : await this.#at(scope, at)
    return file?.storage_key === storage_key ? file : null
  }

  /** The file that `keep` has named so, or null where there is none of this scope. */
  async findById(scope: Scope, asset_id: string): Promise<TemporaryFile | null> {
    return isTemporaryId(asset_id) ? this.#at(scope, objectKey(scope.user_id, asset_id.slice(ID_PREFIX.length))) : null
  }

  async #at(scope: Scope | null, at: string): Promise<TemporaryFile | null> {
    const facts = await this.#objects.stat(at)
    if (facts === null) return null
    const start = Math.max(0, facts.size - LONGEST_TAIL)
    const stream = await this.#objects.get(at, { start, length: facts.size - start })
    if (stream === null) return null
    const file = behind(Buffer.concat(await stream.toArray()), at)
    const own = scope === null || (file.user_id === scope.user_id && file.workspace_id === scope.workspace_id)
    const expired = Date.parse(file.expires_at) <= this.#platform.now()
    return own && !expired ? file : null
  }

  /** Removes a file; reads that have begun go on. */
  async remove(file: TemporaryFile): Promise<void> {
    if (await this.#objects.delete(placeOf(file.storage_key)!)) this.quota.freed(file.user_id, keptAs(file))
  }

  /** Bytes of a file, or null where it was swept meanwhile. */
  read({ storage_key }: TemporaryFile, range: ByteRange): Promise<Readable | null> {
    return this.#objects.get(placeOf(storage_key)!, range)
  }

  /** Removes what is past its time, of the next `limit` files; and goes on as long as that is most of them. Gives how many it removed. */
  async sweep(limit: number, stopping: AbortSignal): Promise<number> {
    this.quota.tidy()
    for (let sum = 0; ; ) {
      const removed = await this.#sweepSome(limit)
      sum += removed
      if (removed * 2 < limit || stopping.aborted) return sum
    }
  }

  async #sweepSome(limit: number): Promise<number> {
    const keys = await this.#objects.list(this.#sweptTo, limit)
    this.#sweptTo = keys.length < limit ? null : keys.at(-1)!
    // Put at `expires_at` less a day, or a moment later.
    const put_since = this.#platform.now() - KEPT_MS
    return removeEach(keys, (key) => this.#objects.delete(key, put_since))
  }

  #file({ user_id, workspace_id }: Scope, id: string, given: Claims, head: Uint8Array, written: Written) {
    const content_type = contentTypeOf(head, given.content_type)
    const name = cleanName(given.name ?? '')
    const extension = extensionOf(content_type, name)
    const now = this.#platform.now()
    return {
      storage_key: temporaryKey(user_id, id, extension),
      user_id,
      workspace_id,
      name: name === '' ? `file.${extension}` : name,
      content_type,
      ...written,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + KEPT_MS).toISOString(),
    }
  }
}

/** As the quota counts it: with its record. */
function keptAs(file: TemporaryFile): KeptBytes {
  const bytes = file.size + tailOf(file).length
  return { key: placeOf(file.storage_key)!, bytes, expires_at: Date.parse(file.expires_at) }
}
