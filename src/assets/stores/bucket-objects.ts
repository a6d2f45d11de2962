// BucketObjects shows the objects of a bucket, except those whose removal is pending.
import type { Readable } from 'node:stream'
import { ServiceError } from '../../errors.ts'
import type { ByteRange, ObjectInfo } from './object-store.ts'
import type { PendingRemovals } from './pending-removals.ts'
import type { Bucket } from './s3/bucket.ts'
import { BucketError } from './s3/bucket-error.ts'
import type { PrefixClaim } from './s3/prefix-claim.ts'

/** Reads throw SERVICE_UNAVAILABLE while the bucket cannot be used. */
export class BucketObjects {
  readonly #bucket: Bucket
  readonly #claim: PrefixClaim
  readonly #removals: PendingRemovals

  constructor(bucket: Bucket, claim: PrefixClaim, removals: PendingRemovals) {
    this.#bucket = bucket
    this.#claim = claim
    this.#removals = removals
  }

  /** Whether any object under this key is to be removed, whenever it was put. */
  isRemovalPending(key: string): boolean {
    return this.#removals.cutoffOf(key) === Number.POSITIVE_INFINITY
  }

  async get(key: string, range: ByteRange): Promise<Readable | null> {
    const opened = await this.#callBucket(() => this.#bucket.open(key, range))
    if (opened === null || !this.#isRemoved(key, opened.facts)) return opened?.stream ?? null
    opened.stream.destroy()
    return null
  }

  stat(key: string): Promise<ObjectInfo | null> {
    return this.#callBucket(() => this.#stat(key))
  }

  /** Returns at most `limit` keys after `after`, in the order of their bytes. */
  async list(after: string | null, limit: number): Promise<string[]> {
    const keys: string[] = []
    for (let from = after; keys.length < limit; ) {
      const page = await this.#callBucket(() => this.#bucket.list(from, limit))
      keys.push(...page.filter((key) => this.#removals.cutoffOf(key) === null))
      if (page.length < limit) break
      from = page.at(-1)!
    }
    return keys.slice(0, limit)
  }

  /**
   * Removes an object that was put before `put_since`, unless `stays` returns true at the last moment. Returns false if the object stays.
   * @throws BucketError, also when `patience` is aborted
   */
  async delete(key: string, put_since: number, stays: () => boolean, patience: AbortSignal): Promise<boolean> {
    await this.#claim.ensure()
    const found = await this.#stat(key, patience)
    if (found === null || found.put_at >= put_since || stays()) return false
    await this.#bucket.delete(key, patience)
    return true
  }

  /** Carries out the pending removal of a key. @throws BucketError */
  async applyRemoval(key: string): Promise<void> {
    for (;;) {
      const put_since = this.#removals.cutoffOf(key)
      if (put_since === null) return
      const found = await this.#bucket.stat(key)
      if (found !== null && this.#isRemoved(key, found)) await this.#bucket.delete(key)
      // Another removal may have been added meanwhile, with a later time.
      if (this.#removals.cutoffOf(key) === put_since) this.#removals.complete(key)
    }
  }

  async #stat(key: string, patience?: AbortSignal): Promise<ObjectInfo | null> {
    const found = await this.#bucket.stat(key, patience)
    return found === null || this.#isRemoved(key, found) ? null : { size: found.size, put_at: found.put_at }
  }

  async #callBucket<T>(ask: () => Promise<T>): Promise<T> {
    try {
      await this.#claim.ensure()
      return await ask()
    } catch (error) {
      throw toUnavailableError(error)
    }
  }

  #isRemoved(key: string, { put_at }: ObjectInfo): boolean {
    const put_since = this.#removals.cutoffOf(key)
    return put_since !== null && put_at < put_since
  }
}

/** Turns a BucketError into SERVICE_UNAVAILABLE, and returns any other error unchanged. */
export function toUnavailableError(error: unknown): unknown {
  return error instanceof BucketError ? new ServiceError('SERVICE_UNAVAILABLE', { cause: error }) : error
}
