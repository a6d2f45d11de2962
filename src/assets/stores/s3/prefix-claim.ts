// Whose a prefix of a bucket is. What a database does not know is swept away, so two of them under one prefix would remove each other's files,
// as a new one would those of the one that was lost. So an object beside the prefix names the database that came first, and all others refuse.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Bucket } from './bucket.ts'
import { BucketError } from './bucket-error.ts'
import { type BucketRequest, readBodyText } from './connection.ts'

/** The prefix of the bucket belongs to another database. */
export class ForeignPrefixError extends BucketError {
  constructor(name: string) {
    super(
      `the object ${name} says that it keeps the files of another database: take another prefix, or remove that object where this database has taken the place of that one`,
      { status: 403 },
    )
    this.name = 'ForeignPrefix'
  }
}

/** A start, and all that waits for it, waits no longer for an answer. */
const TIMEOUT_MS = 10_000

export class PrefixClaim {
  readonly #bucket: Bucket
  readonly #owner: string
  #isConfirmed = false

  /** `owner`: what names the database, for ever. */
  constructor(bucket: Bucket, owner: string) {
    this.#bucket = bucket
    this.#owner = owner
  }

  /** Settles once the prefix is known to belong to the owner. @throws ForeignPrefix; BucketFailure while the bucket cannot be asked */
  async ensure(): Promise<void> {
    if (this.#isConfirmed) return
    const patience = AbortSignal.timeout(Math.min(TIMEOUT_MS, this.#bucket.read_ms))
    let named = await this.#readOwner(patience)
    if (named === null) {
      await this.#writeOwner(patience)
      // Two that come at once both find what the later one wrote.
      named = await this.#readOwner(patience)
    }
    if (named !== this.#owner) throw new ForeignPrefixError(this.#bucket.claim_name)
    this.#isConfirmed = true
  }

  async #readOwner(patience: AbortSignal): Promise<string | null> {
    const response = await this.#request({ method: 'GET' }, patience, [404])
    const text = await readBodyText(response)
    return response.statusCode === 404 ? null : text.trim()
  }

  async #writeOwner(patience: AbortSignal): Promise<void> {
    const bytes = Buffer.from(`${this.#owner}\n`)
    const headers = {
      'content-type': 'text/plain; charset=utf-8',
      'content-md5': createHash('md5').update(bytes).digest('base64'),
    }
    const body = {
      bytes: singleChunk(bytes),
      length: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    }
    await readBodyText(await this.#request({ method: 'PUT', headers, body }, patience))
  }

  async #request(
    call: Pick<BucketRequest, 'method' | 'headers' | 'body'>,
    patience: AbortSignal,
    also?: readonly number[],
  ): Promise<IncomingMessage> {
    const { claim_name: key, closing, connection } = this.#bucket
    try {
      return await connection.request({ ...call, key, signal: AbortSignal.any([closing, patience]) }, also)
    } catch (error) {
      throw patience.aborted && !closing.aborted ? new BucketError('it did not answer in time') : error
    }
  }
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
