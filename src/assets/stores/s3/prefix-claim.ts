// PrefixClaim checks which database owns a prefix of a bucket. Each database sweeps objects that it does not know, so two databases under
// one prefix would remove each other's files. An object beside the prefix names its owner, and all other databases refuse to use it.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Bucket } from './bucket.ts'
import { BucketError } from './bucket-error.ts'
import { type BucketRequest, readBodyText } from './connection.ts'

/** The prefix of the bucket belongs to another database. */
export class ForeignPrefixError extends BucketError {
  constructor(name: string) {
    super(
      `the object ${name} says that the prefix belongs to another database: use another prefix, or remove that object if this database replaces the other one`,
      { status: 403 },
    )
    this.name = 'ForeignPrefix'
  }
}

/** Milliseconds that a start, and each call, waits for an answer. */
const TIMEOUT_MS = 10_000

export class PrefixClaim {
  readonly #bucket: Bucket
  readonly #owner: string
  #isConfirmed = false

  /** `owner`: the permanent name of the database. */
  constructor(bucket: Bucket, owner: string) {
    this.#bucket = bucket
    this.#owner = owner
  }

  /** Resolves once the prefix is known to belong to the owner. @throws ForeignPrefixError; BucketError while the bucket cannot be used */
  async ensure(): Promise<void> {
    if (this.#isConfirmed) return
    const patience = AbortSignal.timeout(Math.min(TIMEOUT_MS, this.#bucket.read_ms))
    let named = await this.#readOwner(patience)
    if (named === null) {
      await this.#writeOwner(patience)
      // If two databases claim the prefix at once, both then read what the later one wrote.
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
