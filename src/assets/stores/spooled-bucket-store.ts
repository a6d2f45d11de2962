// Objects in a bucket, behind a folder of this machine. What is put is on its disk first, and goes up in the background; the file goes when the
// bucket is known to have it. So nothing waits for the bucket but reads of what is only there, and an outage of it loses nothing.
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
  /** What the names of the objects begin with, behind the prefix of the bucket. */
  readonly folder: string
  /** What names the database whose files they are, for ever. */
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly sizes?: Partial<UploadSizes>
  readonly times?: Partial<SpoolTimeouts>
}

export interface SpoolTimeouts extends BucketTimeouts {
  /** Before what has failed is tried again, about; then longer each time. */
  readonly retry_ms: number
  /** What is under way at the end is given so long. */
  readonly close_ms: number
  /** A removal waits so long for the bucket, and is remembered then. The ones behind it are remembered at once, until the bucket has done something. */
  readonly removal_ms: number
}

const RETRY_MS = 500
const CLOSE_MS = 3_000
const REMOVAL_MS = 2_000
const ABORTED_AT_ONCE = 4

/** What the bucket alone can tell is not to be had while it cannot be used: SERVICE_UNAVAILABLE. All else goes on. */
export class SpooledBucketStore implements ObjectStore, AsyncDisposable {
  readonly #spool: LocalObjectStore
  readonly #removals: PendingRemovals
  readonly #bucket: Bucket
  readonly #claim: PrefixClaim
  readonly #bucketObjects: BucketObjects
  readonly #transfers: TransferQueue
  readonly #options: SpoolOptions
  #hasWarned = false
  /** Whether a removal has waited in vain for the bucket, which has done nothing since: the next ones wait no more, as a folder may hold thousands. */
  #isBucketUnresponsive = false
  /** Of the uploads that an earlier process did not finish. */
  #aborting: Promise<void> = Promise.resolve()

  /**
   * Opens the folder `root`, which belongs to one process at a time, as the prefix of the bucket does; what it still holds goes up.
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
          log.error({ err, key }, 'a file could not be moved to the bucket of the storage: it is kept here meanwhile')
      },
      onRecovery: (took) => log.info({ took_ms: took }, 'the bucket of the storage can be used again'),
      now,
      pause_ms: times?.retry_ms ?? RETRY_MS,
    })
  }

  /** Keys whose objects, or whose removals, the bucket does not know of yet. */
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
    const settle = (key: string) => {
      this.#bucket.nameOf(key)
      received.commit(key)
      this.#transfers.add(key)
    }
    return { ...received, commit: settle }
  }

  async get(key: string, range: ByteRange): Promise<Readable | null> {
    const here = await this.#spool.get(key, range)
    if (here !== null || this.#bucketObjects.isRemovalPending(key)) return here
    return range.length > 0
      ? this.#bucketObjects.get(key, range)
      : (await this.#bucketObjects.stat(key)) && Readable.from([])
  }

  async stat(key: string): Promise<ObjectInfo | null> {
    const here = await this.#spool.stat(key)
    return here !== null || this.#bucketObjects.isRemovalPending(key) ? here : this.#bucketObjects.stat(key)
  }

  /** Where the bucket does not answer, or not soon, it is remembered, and settles to true. */
  async delete(key: string, put_since = Number.POSITIVE_INFINITY): Promise<boolean> {
    const put_at = this.#spool.lastPutAt(key)
    if (put_at === null && this.#bucketObjects.isRemovalPending(key)) return false
    if (put_at === null) return this.#transfers.runExclusively(key, () => this.#deleteFromBucket(key, put_since))
    if (put_at >= put_since) return false
    // The bucket may have it already, or another one that was put before. First this, so that a crash leaves both or neither.
    this.#removals.add(key, Number.POSITIVE_INFINITY)
    const removed = this.#spool.delete(key)
    this.#transfers.add(key)
    return await removed
  }

  async list(after: string | null, limit: number): Promise<string[]> {
    // First what is here: it may go up meanwhile, and is found there then.
    const here = await this.#spool.list(after, limit)
    const there = await this.#bucketObjects.list(after, limit)
    this.#isBucketUnresponsive = false
    return [...new Set([...here, ...there])].sort(compareKeys).slice(0, Math.max(0, limit))
  }

  listLocal(after: string | null, limit: number): Promise<string[]> {
    return this.#spool.list(after, limit)
  }

  /** What is under way gets a few seconds, and what is broken off then as many to clear up. What is left goes up after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    const patience_ms = this.#options.times?.close_ms ?? CLOSE_MS
    const cut = setTimeout(() => this.#bucket.close(), 2 * patience_ms)
    await this.#transfers.close(patience_ms)
    clearTimeout(cut)
    this.#bucket.close()
    await this.#aborting
  }

  /** Once an outage, whoever notices it first. */
  #warn(err?: unknown): void {
    if (!this.#hasWarned)
      this.#options.log.warn({ err }, 'the bucket of the storage cannot be used: files are kept here meanwhile')
    this.#hasWarned = true
  }

  /** Whether the prefix is known to be that of this database. @throws StartError where it is another's */
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
    // What a process that died was uploading in parts is kept by the bucket, unseen and at a price.
    if (answers) await this.#abortUploads()
    for (const key of this.#removals.keys()) this.#transfers.add(key)
    for (const key of await this.#spool.list(null, Number.POSITIVE_INFINITY)) this.#transfers.add(key)
  }

  /** Looks for all of them before the first new one begins, and aborts them in the background: there may be many. */
  async #abortUploads(): Promise<void> {
    try {
      const uploads = await this.#bucket.listUploads()
      this.#aborting = this.#abortEach(uploads)
    } catch (err) {
      this.#options.log.warn({ err }, 'unfinished uploads in the bucket of the storage could not be looked for')
    }
  }

  /** What is left when the bucket refuses or the service closes is found again at the next start. */
  async #abortEach(uploads: readonly UnfinishedUpload[]): Promise<void> {
    const left = [...uploads]
    const abortNext = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop())
        await abortUpload(this.#bucket, next.name, next.upload_id)
    }
    try {
      await Promise.all(Array.from({ length: ABORTED_AT_ONCE }, abortNext))
    } catch (err) {
      if (this.#bucket.closing.aborted) return
      const fields = { err, left: left.length }
      this.#options.log.warn(fields, 'unfinished uploads in the bucket of the storage could not be aborted')
    }
  }

  /** Removes an object that is in the bucket alone. Whatever is put here meanwhile stays. */
  async #deleteFromBucket(key: string, put_since: number): Promise<boolean> {
    if (this.#isBucketUnresponsive) {
      // Each is written to the disk at once, and others wait for their answers.
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

  /** Has the bucket told of a removal when it can be used. */
  #recordRemoval(key: string, put_since: number): true {
    this.#removals.add(key, put_since)
    this.#transfers.add(key)
    return true
  }

  /** Makes the bucket know what has become of a key: first what was removed, then what was put since. */
  async #syncKey(key: string, signal: AbortSignal): Promise<void> {
    await this.#claim.ensure()
    await this.#bucketObjects.applyRemoval(key)
    const held = await this.#spool.openHandle(key)
    if (held === null) return
    await using _held = held
    await uploadObject(this.#bucket, key, held, { ...UPLOAD_SIZES, ...this.#options.sizes }, signal)
    // Otherwise another was put in its place, or it was removed: that has its own turn.
    if (this.#removals.cutoffOf(key) === null) await held.remove()
  }
}
