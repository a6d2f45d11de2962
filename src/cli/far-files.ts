// Files of assets that lie in a bucket, for the commands that check them and copy them.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { CONTENTS } from '../assets/open.ts'
import { Bucket } from '../assets/s3/bucket.ts'
import { BucketFailure } from '../assets/s3/failure.ts'
import type { StoredContent } from '../db/contents.ts'
import { syncFile } from '../db/snapshot.ts'
import type { Place } from './place.ts'
import { CommandError, EXIT } from './terminal.ts'

/** All of it throws CommandError where the bucket cannot be used. */
export class FarFiles implements Disposable {
  readonly #bucket: Bucket

  private constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  /** Null where files are in the data folder alone. */
  static of({ bucket }: Place): FarFiles | null {
    return bucket ? new FarFiles(new Bucket(bucket, CONTENTS)) : null
  }

  /** What is wrong with a file, or null. */
  async wrongWith({ content_key, size, sha256 }: StoredContent): Promise<string | null> {
    const found = await told(() => this.#bucket.stat(content_key))
    if (found === null) return 'is missing'
    if (found.size !== size) return `has ${found.size} bytes, and should have ${size}`
    if (sha256 === null || size === 0) return null
    const hash = createHash('sha256')
    const read = await this.#read(content_key, size, async (chunks) => {
      for await (const chunk of chunks) hash.update(chunk)
    })
    if (read === 'gone') return 'is missing'
    return read === 'whole' && hash.digest('hex') === sha256 ? null : 'has another content than it was written with'
  }

  /** Copies a file to `to`, whose folder is there. What is not to be had whole is left out. */
  async fetch({ content_key, size }: StoredContent, to: string): Promise<void> {
    if ((await told(() => this.#bucket.stat(content_key)))?.size !== size) return
    const write = (chunks: AsyncIterable<Uint8Array>) => pipeline(chunks, createWriteStream(to, { mode: 0o600 }))
    if ((await this.#read(content_key, size, write)) === 'whole') syncFile(to)
    else await rm(to, { force: true })
  }

  [Symbol.dispose](): void {
    this.#bucket.close()
  }

  async #read(
    key: string,
    length: number,
    use: (chunks: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<'whole' | 'gone' | 'broken'> {
    if (length === 0) {
      await use(nothing())
      return 'whole'
    }
    const opened = await told(() => this.#bucket.open(key, { start: 0, length }))
    if (opened === null) return 'gone'
    try {
      await use(opened.stream)
      return 'whole'
    } catch (error) {
      if (error instanceof BucketFailure || (error as NodeJS.ErrnoException).code !== undefined) throw failed(error)
      return 'broken'
    }
  }
}

async function told<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw failed(error)
  }
}

function failed(error: unknown): unknown {
  if (!(error instanceof BucketFailure)) return error
  return new CommandError(EXIT.failed, `the bucket of SVC_STORAGE_URL cannot be used: ${error.message}`)
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
