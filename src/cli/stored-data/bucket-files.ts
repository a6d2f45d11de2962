// Asset files in a bucket, for the commands that check and copy them.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { BLOB_FOLDER } from '../../assets/store-factory.ts'
import { Bucket } from '../../assets/stores/s3/bucket.ts'
import { BucketError } from '../../assets/stores/s3/bucket-error.ts'
import { fsyncFile } from '../../db/files/database-copy.ts'
import type { ReferencedFile } from '../../db/files/referenced-files.ts'
import { CommandError, EXIT_CODES } from '../shared/terminal.ts'
import type { DataLocation } from './data-location.ts'

/** All methods throw CommandError if the bucket cannot be used. */
export class BucketFiles implements Disposable {
  readonly #bucket: Bucket

  private constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  /** Null: files are only in the data folder. */
  static openIfConfigured({ bucket }: DataLocation): BucketFiles | null {
    return bucket ? new BucketFiles(new Bucket(bucket, BLOB_FOLDER)) : null
  }

  /** The problem of a file, or null. */
  async findProblem({ content_key, size, sha256 }: ReferencedFile): Promise<string | null> {
    const found = await withBucketErrors(() => this.#bucket.stat(content_key))
    if (found === null) return 'is missing'
    if (found.size !== size) return `has ${found.size} bytes instead of ${size}`
    if (sha256 === null || size === 0) return null
    const hash = createHash('sha256')
    const read = await this.#read(content_key, size, async (chunks) => {
      for await (const chunk of chunks) hash.update(chunk)
    })
    if (read === 'gone') return 'is missing'
    return read === 'whole' && hash.digest('hex') === sha256 ? null : 'has different content than was written'
  }

  /** Copies a file to `to`, whose folder exists. A missing or incomplete file is skipped. */
  async fetch({ content_key, size }: ReferencedFile, to: string): Promise<void> {
    if ((await withBucketErrors(() => this.#bucket.stat(content_key)))?.size !== size) return
    const write = (chunks: AsyncIterable<Uint8Array>) => pipeline(chunks, createWriteStream(to, { mode: 0o600 }))
    if ((await this.#read(content_key, size, write)) === 'whole') fsyncFile(to)
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
      await use(emptyStream())
      return 'whole'
    }
    const opened = await withBucketErrors(() => this.#bucket.open(key, { start: 0, length }))
    if (opened === null) return 'gone'
    try {
      await use(opened.stream)
      return 'whole'
    } catch (error) {
      if (error instanceof BucketError || (error as NodeJS.ErrnoException).code !== undefined)
        throw toBucketError(error)
      return 'broken'
    }
  }
}

async function withBucketErrors<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw toBucketError(error)
  }
}

function toBucketError(error: unknown): unknown {
  if (!(error instanceof BucketError)) return error
  return new CommandError(EXIT_CODES.failed, `the bucket of SVC_STORAGE_URL cannot be used: ${error.message}`)
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}
