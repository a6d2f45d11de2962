// TemporaryStore keeps files that callers upload for a run, and outputs of jobs that are to leave no assets. No row refers to these files.
// Each object also holds the record that is needed to serve it, so that neither exists without the other. Files expire after a day.
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
  /** The name that the caller gave, or null. */
  readonly name: string | null
  /** The claimed type; the bytes decide. */
  readonly content_type: string | null
}

export interface TemporaryFileUpload extends FileClaims {
  /** If the source throws, no bytes are kept. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** The announced size, at least. */
  readonly at_least?: number
}

/** Bytes of the part of a key that must not be guessable. */
const RANDOM_BYTES = 24

const ID_PREFIX = 'temp_'

/** Whether an id has the form of a temporary file's id, whether the file exists or not. */
export function isTemporaryId(asset_id: string): boolean {
  return /^temp_[0-9a-f]{48}$/.test(asset_id)
}

export interface TemporaryStoreParts {
  /** The store contains only temporary files. */
  readonly objects: ObjectStore
  /** Limits the bytes of each user. */
  readonly quota: TemporaryQuota
  readonly platform: Pick<Platform, 'now' | 'secret'>
  /** Makes the ids of job outputs unguessable. It is used for nothing else. */
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
   * Stores a file as it arrives, with only one piece in memory. Reads find the file once it is complete and on disk.
   * @throws TEMPORARY_QUOTA_EXCEEDED, what `bytes` throws, and what the file system throws: no room, no access
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
   * Stores an output of a job, synchronously. The same content at the same place is the same file again, and its day starts anew. The file
   * counts towards the user's quota but is never refused, so that results, which may have been paid for, are not lost.
   * @throws the error of the file system
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

  /**
   * Returns the file that is served under a key, or null if this scope has none. `scope` is null for a caller with a signature, who may
   * read any.
   */
  async find(scope: OwnerScope | null, storage_key: string): Promise<TemporaryFile | null> {
    const at = parseTemporaryKey(storage_key)
    const file = at === null ? null : await this.#readFile(scope, at)
    return file?.storage_key === storage_key ? file : null
  }

  /** Returns the file with an id from `putOutput`, or null if this scope has none. */
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

  /** Removes a file. Reads that have begun go on. */
  async remove(file: TemporaryFile): Promise<void> {
    if (await this.#objects.delete(parseTemporaryKey(file.storage_key)!))
      this.quota.removeFile(file.user_id, toQuotaEntry(file))
  }

  /** Returns bytes of a file, or null if the file was swept meanwhile. */
  read({ storage_key }: TemporaryFile, range: ByteRange): Promise<Readable | null> {
    return this.#objects.get(parseTemporaryKey(storage_key)!, range)
  }

  /**
   * Removes expired files among the next `limit` files, and repeats this while most of a batch was expired. Returns how many files were
   * removed.
   */
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
    // An object is put one day before its `expires_at`, or a moment later.
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

/** Turns a file into a quota entry, which includes its trailer. */
function toQuotaEntry(file: TemporaryFile): QuotaEntry {
  const bytes = file.size + formatTrailer(file).length
  return { key: parseTemporaryKey(file.storage_key)!, bytes, expires_at: Date.parse(file.expires_at) }
}
