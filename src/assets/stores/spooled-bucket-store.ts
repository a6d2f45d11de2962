// SpooledBucketStore keeps objects in a bucket, with a folder of this machine as spool. A new object is written to the disk first, uploaded
// in the background, and deleted here once the bucket has it. Only reads of objects that are only in the bucket wait for it, and an outage
// of the bucket loses nothing.
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { BucketSettings } from '../../config/storage.ts'
import type { Log } from '../../log.ts'
import { yieldToEventLoop } from '../../shared/time-slices.ts'
import { StartError } from '../../start-error.ts'
import { compareKeys } from '../storage-keys.ts'
import { BucketObjects, toUnavailableError } from './bucket-objects.ts'
import { LocalObjectStore } from './local-object-store.ts'
import type {
  ByteRange,
  ByteSource,
  ObjectInfo,
  ObjectStore,
  StagedObject,
  TrailerBuilder,
  WriteResult,
} from './object-store.ts'
import { PendingRemovals } from './pending-removals.ts'
import { Bucket, type BucketTimeouts, type UnfinishedUpload } from './s3/bucket.ts'
import { isBucketOutage } from './s3/bucket-error.ts'
import { abortUpload, UPLOAD_SIZES, type UploadSizes, uploadObject } from './s3/object-upload.ts'
import { ForeignPrefixError, PrefixClaim } from './s3/prefix-claim.ts'
import { TransferQueue } from './transfer-queue.ts'

export interface SpoolOptions {
  /** The folder in the bucket: names of objects begin with it, after the prefix of the bucket. */
  readonly folder: string
  /** The permanent name of the database that owns the files. */
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly sizes?: Partial<UploadSizes>
  readonly times?: Partial<SpoolTimeouts>
}

export interface SpoolTimeouts extends BucketTimeouts {
  /** The first pause before a failed transfer is tried again, roughly; later pauses are longer. */
  readonly retry_ms: number
  /** How long transfers that are under way may take when the store closes. */
  readonly close_ms: number
  /**
   * How long a removal waits for the bucket before it is recorded for later. Later removals are recorded at once until the bucket responds
   * again.
   */
  readonly removal_ms: number
}

const RETRY_MS = 500
const CLOSE_MS = 3_000
const REMOVAL_MS = 2_000
const ABORTED_AT_ONCE = 4

/** While the bucket cannot be used, calls that need it throw SERVICE_UNAVAILABLE. All other calls go on. */
export class SpooledBucketStore implements ObjectStore, AsyncDisposable {
  readonly #spool: LocalObjectStore
  readonly #removals: PendingRemovals
  readonly #bucket: Bucket
  readonly #claim: PrefixClaim
  readonly #bucketObjects: BucketObjects
  readonly #transfers: TransferQueue
  readonly #options: SpoolOptions
  #hasWarned = false
  /**
   * Whether the last removal timed out and the bucket has not responded since. Then further removals do not wait, because a folder may have
   * thousands.
   */
  #isBucketUnresponsive = false
  /** The abort of the uploads that an earlier process did not finish. */
  #aborting: Promise<void> = Promise.resolve()

  /**
   * Opens the spool folder `root`, and uploads the objects that it still contains. Only one process at a time may use the folder and the
   * prefix of the bucket.
   * @throws StartError when the folder cannot be used, the bucket refuses, or the prefix belongs to another database
   */
  static async open(root: string, settings: BucketSettings, options: SpoolOptions): Promise<SpooledBucketStore> {
    const bucket = new Bucket(settings, options.folder, options.times)
    try {
      const answers = await bucket.check()
      const store = new SpooledBucketStore(root, bucket, options)
      if (!answers) store.#warn()
      await store.#enqueueLeftovers(answers && (await store.#claimPrefix()))
      return store
    } catch (error) {
      bucket.close()
      throw error
    }
  }

  private constructor(root: string, bucket: Bucket, options: SpoolOptions) {
    const { now, log, times } = options
    this.#spool = new LocalObjectStore(root, now)
    this.#removals = new PendingRemovals(join(root, 'removals'), now)
    this.#bucket = bucket
    this.#claim = new PrefixClaim(bucket, options.owner)
    this.#bucketObjects = new BucketObjects(bucket, this.#claim, this.#removals)
    this.#options = options
    this.#transfers = new TransferQueue({
      work: async (key, signal) => {
        await this.#syncKey(key, signal)
        this.#hasWarned = false
        this.#isBucketUnresponsive = false
      },
      isOutage: isBucketOutage,
      onFailure: (err, key) => {
        if (key === null) this.#warn(err)
        else
          log.error(
            { err, key },
            'a file could not be uploaded to the storage bucket; it stays on this machine for now',
          )
      },
      onRecovery: (took) => log.info({ took_ms: took }, 'the storage bucket can be used again'),
      now,
      pause_ms: times?.retry_ms ?? RETRY_MS,
    })
  }

  /** Number of keys with uploads or removals that the bucket does not have yet. */
  get pending(): number {
    return this.#transfers.pending
  }

  async put(key: string, source: ByteSource, tail?: TrailerBuilder): Promise<WriteResult> {
    this.#bucket.nameOf(key)
    const written = await this.#spool.put(key, source, tail)
    this.#transfers.add(key)
    return written
  }

  putSync(key: string, bytes: Uint8Array, tail?: Uint8Array): void {
    this.#bucket.nameOf(key)
    this.#spool.putSync(key, bytes, tail)
    this.#transfers.add(key)
  }

  async receive(source: ByteSource): Promise<StagedObject> {
    const received = await this.#spool.receive(source)
    const commit = (key: string) => {
      this.#bucket.nameOf(key)
      received.commit(key)
      this.#transfers.add(key)
    }
    return { ...received, commit }
  }

  async get(key: string, range: ByteRange): Promise<Readable | null> {
    const local = await this.#spool.get(key, range)
    if (local !== null || this.#bucketObjects.isRemovalPending(key)) return local
    return range.length > 0
      ? this.#bucketObjects.get(key, range)
      : (await this.#bucketObjects.stat(key)) && Readable.from([])
  }

  async stat(key: string): Promise<ObjectInfo | null> {
    const local = await this.#spool.stat(key)
    return local !== null || this.#bucketObjects.isRemovalPending(key) ? local : this.#bucketObjects.stat(key)
  }

  /** If the bucket does not answer in time, the removal is recorded for later, and the promise resolves to true. */
  async delete(key: string, put_since = Number.POSITIVE_INFINITY): Promise<boolean> {
    const put_at = this.#spool.lastPutAt(key)
    if (put_at === null && this.#bucketObjects.isRemovalPending(key)) return false
    if (put_at === null) return this.#transfers.runExclusively(key, () => this.#deleteFromBucket(key, put_since))
    if (put_at >= put_since) return false
    // The bucket may already have this object, or an earlier one of the same key. The removal is recorded first, so that a crash leaves
    // both objects or neither.
    this.#removals.add(key, Number.POSITIVE_INFINITY)
    const removed = this.#spool.delete(key)
    this.#transfers.add(key)
    return await removed
  }

  async list(after: string | null, limit: number): Promise<string[]> {
    // The spool is listed first: an object that is uploaded meanwhile is then found in the bucket.
    const local = await this.#spool.list(after, limit)
    const remote = await this.#bucketObjects.list(after, limit)
    this.#isBucketUnresponsive = false
    return [...new Set([...local, ...remote])].sort(compareKeys).slice(0, Math.max(0, limit))
  }

  listLocal(after: string | null, limit: number): Promise<string[]> {
    return this.#spool.list(after, limit)
  }

  /** Transfers that are under way get a few seconds, and aborted transfers get as long again to clean up. The next start uploads the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    const patience_ms = this.#options.times?.close_ms ?? CLOSE_MS
    const forcedClose = setTimeout(() => this.#bucket.close(), 2 * patience_ms)
    await this.#transfers.close(patience_ms)
    clearTimeout(forcedClose)
    this.#bucket.close()
    await this.#aborting
  }

  /** Logs an outage once, whichever call notices it first. */
  #warn(err?: unknown): void {
    if (!this.#hasWarned)
      this.#options.log.warn({ err }, 'the storage bucket cannot be used; files stay on this machine for now')
    this.#hasWarned = true
  }

  /** Whether the prefix is known to belong to this database. @throws StartError if it belongs to another one */
  async #claimPrefix(): Promise<boolean> {
    try {
      await this.#claim.ensure()
      return true
    } catch (error) {
      if (error instanceof ForeignPrefixError)
        throw new StartError(`the bucket of SVC_STORAGE_URL cannot be used: ${error.message}`)
      if (!isBucketOutage(error)) throw error
      this.#warn(error)
      return false
    }
  }

  async #enqueueLeftovers(answers: boolean): Promise<void> {
    // The bucket keeps the parts of unfinished uploads invisibly, and charges for them.
    if (answers) await this.#abortUploads()
    for (const key of this.#removals.keys()) this.#transfers.add(key)
    for (const key of await this.#spool.list(null, Number.POSITIVE_INFINITY)) this.#transfers.add(key)
  }

  /** Lists all unfinished uploads before the first new one begins, and aborts them in the background, because there may be many. */
  async #abortUploads(): Promise<void> {
    try {
      const uploads = await this.#bucket.listUploads()
      this.#aborting = this.#abortEach(uploads)
    } catch (err) {
      this.#options.log.warn({ err }, 'unfinished uploads in the storage bucket could not be listed')
    }
  }

  /** The next start finds the uploads that are left when the bucket refuses or the service closes. */
  async #abortEach(uploads: readonly UnfinishedUpload[]): Promise<void> {
    const queue = [...uploads]
    const abortNext = async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop())
        await abortUpload(this.#bucket, next.name, next.upload_id)
    }
    try {
      await Promise.all(Array.from({ length: ABORTED_AT_ONCE }, abortNext))
    } catch (err) {
      if (this.#bucket.closing.aborted) return
      const fields = { err, left: queue.length }
      this.#options.log.warn(fields, 'unfinished uploads in the storage bucket could not be aborted')
    }
  }

  /** Removes an object that is only in the bucket. An object that is put into the spool meanwhile stays. */
  async #deleteFromBucket(key: string, put_since: number): Promise<boolean> {
    if (this.#isBucketUnresponsive) {
      // Each record is written to the disk synchronously, so other work gets its turn in between.
      await yieldToEventLoop()
      return this.#recordRemoval(key, put_since)
    }
    const patience = AbortSignal.timeout(this.#options.times?.removal_ms ?? REMOVAL_MS)
    try {
      return await this.#bucketObjects.delete(key, put_since, () => this.#spool.lastPutAt(key) !== null, patience)
    } catch (error) {
      if (!isBucketOutage(error)) throw toUnavailableError(error)
      this.#isBucketUnresponsive = true
      return this.#recordRemoval(key, put_since)
    }
  }

  /** Records a removal, which is carried out once the bucket can be used. */
  #recordRemoval(key: string, put_since: number): true {
    this.#removals.add(key, put_since)
    this.#transfers.add(key)
    return true
  }

  /** Brings the bucket up to date for a key: first the removal, then the object that was put since. */
  async #syncKey(key: string, signal: AbortSignal): Promise<void> {
    await this.#claim.ensure()
    await this.#bucketObjects.applyRemoval(key)
    const held = await this.#spool.openHandle(key)
    if (held === null) return
    await using _held = held
    await uploadObject(this.#bucket, key, held, { ...UPLOAD_SIZES, ...this.#options.sizes }, signal)
    // `remove` returns false if the object was replaced meanwhile. The replacement has a transfer of its own.
    if (this.#removals.cutoffOf(key) === null) await held.remove()
  }
}
