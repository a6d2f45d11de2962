// The temporary store: files that a caller hands in for a run, and those that a job makes which is to leave none. No row knows of them. What is
// needed to serve one is kept behind its bytes, in the same object, so that there is never one without the other. They are gone after a day.
import { createHmac } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { AssetReference } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Platform } from '../../platform.ts'
import { type AssetOutputLocation, formatContentIdentity } from '../asset-store.ts'
import { detectContentType, fileExtensionFor } from '../content-type.ts'
import { cleanFileName } from '../file-name.ts'
import { sha256OfBytes, storageUri, temporaryStorageKey } from '../storage-keys.ts'
import { removeEach } from '../stores/bulk-removal.ts'
import { LeadingBytes } from '../stores/leading-bytes.ts'
import type { ByteRange, ObjectStore, WriteResult } from '../stores/object-store.ts'
import { formatTrailer, LONGEST_TRAILER, parseTrailer, type TemporaryFile } from './file-trailer.ts'
import { parseTemporaryKey, TEMPORARY_MS, temporaryObjectKey } from './keys.ts'
import type { QuotaEntry, TemporaryQuota } from './quota.ts'

export type { TemporaryFile } from './file-trailer.ts'
export { TEMPORARY_HOURS } from './keys.ts'

export interface FileClaims {
  /** As the caller says, or null. */
  readonly name: string | null
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
}

export interface TemporaryFileUpload extends FileClaims {
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

export interface TemporaryStoreParts {
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
  #sweepCursor: string | null = null

  constructor({ objects, quota, platform, secret }: TemporaryStoreParts) {
    this.quota = quota
    this.#objects = objects
    this.#platform = platform
    this.#secret = secret
  }

  /**
   * Keeps a file as it comes, and never more of it in memory than a piece. It can be found once it is whole and on disk.
   * @throws TEMPORARY_QUOTA_EXCEEDED, what `bytes` throws, and what the file system does: no room, no access
   */
  async put(scope: OwnerScope, given: TemporaryFileUpload): Promise<TemporaryFile> {
    using room = await this.quota.reserve(scope.user_id, given.at_least)
    const head = new LeadingBytes()
    const id = Buffer.from(this.#platform.secret(RANDOM_BYTES), 'base64url').toString('hex')
    let file: TemporaryFile | undefined
    await this.#objects.put(temporaryObjectKey(scope.user_id, id), head.capture(room.meter(given.bytes)), (written) => {
      file = this.#buildFile(scope, id, given, head.bytes, written)
      const tail = formatTrailer(file)
      room.take(tail.length)
      return tail
    })
    this.quota.addFile(scope.user_id, toQuotaEntry(file!))
    return file!
  }

  /**
   * Keeps what a job made, at once. The same content at the same place is the same file again, and its day begins anew. It counts as all files of
   * the user do, and is never refused for what they take: what a run has made, and perhaps paid for, is not lost for lack of a quota.
   * @throws what the file system throws
   */
  putOutput(scope: OwnerScope, bytes: Uint8Array, place: AssetOutputLocation, claims: FileClaims): AssetReference {
    const digest = sha256OfBytes(bytes)
    const mac = createHmac('sha256', this.#secret).update(formatContentIdentity(scope, place, digest))
    const id = mac.digest('hex').slice(0, 2 * RANDOM_BYTES)
    const file = this.#buildFile(scope, id, claims, bytes, { size: bytes.length, sha256: digest })
    this.#objects.putSync(temporaryObjectKey(scope.user_id, id), bytes, formatTrailer(file))
    this.quota.addFile(scope.user_id, toQuotaEntry(file), true)
    const { storage_key, name, content_type, size, sha256, expires_at } = file
    const asset_id = `${ID_PREFIX}${id}`
    return { asset_id, uri: storageUri(storage_key), name, content_type, size, sha256, download_url: null, expires_at }
  }

  /** The file that is served under a key, or null where there is none of this scope; of any for a caller who brings a signature (null). */
  async find(scope: OwnerScope | null, storage_key: string): Promise<TemporaryFile | null> {
    const at = parseTemporaryKey(storage_key)
    const file = at === null ? null : await this.#readFile(scope, at)
    return file?.storage_key === storage_key ? file : null
  }

  /** The file that `keep` has named so, or null where there is none of this scope. */
  async findById(scope: OwnerScope, asset_id: string): Promise<TemporaryFile | null> {
    return isTemporaryId(asset_id)
      ? this.#readFile(scope, temporaryObjectKey(scope.user_id, asset_id.slice(ID_PREFIX.length)))
      : null
  }

  async #readFile(scope: OwnerScope | null, at: string): Promise<TemporaryFile | null> {
    const facts = await this.#objects.stat(at)
    if (facts === null) return null
    const start = Math.max(0, facts.size - LONGEST_TRAILER)
    const stream = await this.#objects.get(at, { start, length: facts.size - start })
    if (stream === null) return null
    const file = parseTrailer(Buffer.concat(await stream.toArray()), at)
    const own = scope === null || (file.user_id === scope.user_id && file.workspace_id === scope.workspace_id)
    const expired = Date.parse(file.expires_at) <= this.#platform.now()
    return own && !expired ? file : null
  }

  /** Removes a file; reads that have begun go on. */
  async remove(file: TemporaryFile): Promise<void> {
    if (await this.#objects.delete(parseTemporaryKey(file.storage_key)!))
      this.quota.removeFile(file.user_id, toQuotaEntry(file))
  }

  /** Bytes of a file, or null where it was swept meanwhile. */
  read({ storage_key }: TemporaryFile, range: ByteRange): Promise<Readable | null> {
    return this.#objects.get(parseTemporaryKey(storage_key)!, range)
  }

  /** Removes what is past its time, of the next `limit` files; and goes on as long as that is most of them. Gives how many it removed. */
  async sweep(limit: number, stopping: AbortSignal): Promise<number> {
    this.quota.forgetIdleUsers()
    for (let sum = 0; ; ) {
      const removed = await this.#sweepBatch(limit)
      sum += removed
      if (removed * 2 < limit || stopping.aborted) return sum
    }
  }

  async #sweepBatch(limit: number): Promise<number> {
    const keys = await this.#objects.list(this.#sweepCursor, limit)
    this.#sweepCursor = keys.length < limit ? null : keys.at(-1)!
    // Put at `expires_at` less a day, or a moment later.
    const put_since = this.#platform.now() - TEMPORARY_MS
    return removeEach(keys, (key) => this.#objects.delete(key, put_since))
  }

  #buildFile(
    { user_id, workspace_id }: OwnerScope,
    id: string,
    given: FileClaims,
    head: Uint8Array,
    written: WriteResult,
  ) {
    const content_type = detectContentType(head, given.content_type)
    const name = cleanFileName(given.name ?? '')
    const extension = fileExtensionFor(content_type, name)
    const now = this.#platform.now()
    return {
      storage_key: temporaryStorageKey(user_id, id, extension),
      user_id,
      workspace_id,
      name: name === '' ? `file.${extension}` : name,
      content_type,
      ...written,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + TEMPORARY_MS).toISOString(),
    }
  }
}

/** As the quota counts it: with its record. */
function toQuotaEntry(file: TemporaryFile): QuotaEntry {
  const bytes = file.size + formatTrailer(file).length
  return { key: parseTemporaryKey(file.storage_key)!, bytes, expires_at: Date.parse(file.expires_at) }
}
