// The objects of a bucket without those that are to be removed from it: whoever asks never sees them again.
import type { Readable } from 'node:stream'
import { ServiceError } from '../errors.ts'
import type { ByteRange, ObjectFacts } from './object-store.ts'
import type { Removals } from './removals.ts'
import type { Bucket } from './s3/bucket.ts'
import type { Claim } from './s3/claim.ts'
import { BucketFailure } from './s3/failure.ts'

/** Reads throw SERVICE_UNAVAILABLE while the bucket cannot be used. */
export class FarObjects {
  readonly #bucket: Bucket
  readonly #claim: Claim
  readonly #removals: Removals

  constructor(bucket: Bucket, claim: Claim, removals: Removals) {
    this.#bucket = bucket
    this.#claim = claim
    this.#removals = removals
  }

  /** Whether whatever is there under a key is to be removed. */
  isGone(key: string): boolean {
    return this.#removals.of(key) === Number.POSITIVE_INFINITY
  }

  async get(key: string, range: ByteRange): Promise<Readable | null> {
    const opened = await this.#asked(() => this.#bucket.open(key, range))
    if (opened === null || !this.#isRemoved(key, opened.facts)) return opened?.stream ?? null
    opened.stream.destroy()
    return null
  }

  stat(key: string): Promise<ObjectFacts | null> {
    return this.#asked(() => this.#stat(key))
  }

  /** At most `limit` keys behind `after`, in the order of their bytes. */
  async list(after: string | null, limit: number): Promise<string[]> {
    const keys: string[] = []
    for (let from = after; keys.length < limit; ) {
      const page = await this.#asked(() => this.#bucket.list(from, limit))
      keys.push(...page.filter((key) => this.#removals.of(key) === null))
      if (page.length < limit) break
      from = page.at(-1)!
    }
    return keys.slice(0, limit)
  }

  /**
   * Removes an object that was put before `put_since`, unless `stays` says no at the last moment. False where it stays.
   * @throws BucketFailure, also when `patience` is aborted
   */
  async delete(key: string, put_since: number, stays: () => boolean, patience: AbortSignal): Promise<boolean> {
    await this.#claim.ensure()
    const found = await this.#stat(key, patience)
    if (found === null || found.put_at >= put_since || stays()) return false
    await this.#bucket.delete(key, patience)
    return true
  }

  /** Removes what is to be removed of a key. @throws BucketFailure */
  async settle(key: string): Promise<void> {
    for (;;) {
      const put_since = this.#removals.of(key)
      if (put_since === null) return
      const found = await this.#bucket.stat(key)
      if (found !== null && this.#isRemoved(key, found)) await this.#bucket.delete(key)
      // Meanwhile more may be to be removed than was.
      if (this.#removals.of(key) === put_since) this.#removals.done(key)
    }
  }

  async #stat(key: string, patience?: AbortSignal): Promise<ObjectFacts | null> {
    const found = await this.#bucket.stat(key, patience)
    return found === null || this.#isRemoved(key, found) ? null : { size: found.size, put_at: found.put_at }
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      await this.#claim.ensure()
      return await ask()
    } catch (error) {
      throw unavailable(error)
    }
  }

  #isRemoved(key: string, { put_at }: ObjectFacts): boolean {
    const put_since = this.#removals.of(key)
    return put_since !== null && put_at < put_since
  }
}

/** SERVICE_UNAVAILABLE for what a bucket failed with, and any other error as it is. */
export function unavailable(error: unknown): unknown {
  return error instanceof BucketFailure ? new ServiceError('SERVICE_UNAVAILABLE', { cause: error }) : error
}
