// What keeps bytes by key. Who may read them, and what they mean, is left to the assets.
import type { Readable } from 'node:stream'

export interface Written {
  /** Bytes. */
  readonly size: number
  /** 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

export interface ObjectFacts {
  /** Bytes. */
  readonly size: number
  /** Milliseconds since the epoch: when it was last put. */
  readonly put_at: number
}

/** Which bytes: `length` of them from `start`, which must lie within the object. */
export interface ByteRange {
  readonly start: number
  readonly length: number
}

/** Every method throws a TypeError for what is no key. */
export interface ObjectStore {
  /** Keeps bytes under a key, in the place of what was there. They are on disk when it settles; if it rejects, nothing has changed. */
  put(key: string, source: Uint8Array | AsyncIterable<Uint8Array>): Promise<Written>
  /**
   * As `put`, at once, for content that never changes under its key: where as many bytes are there already, they only count as
   * put anew.
   */
  putSync(key: string, bytes: Uint8Array): void
  /** The bytes of an object, read as they are asked for; null where there is no such object. Whoever gets a stream ends or destroys it. */
  get(key: string, range: ByteRange): Promise<Readable | null>
  stat(key: string): Promise<ObjectFacts | null>
  /**
   * Removes an object, unless it was put at `put_since` (milliseconds since the epoch) or later; reads that have begun go on.
   * It is out of reach when the call returns. Settles to whether there was one to remove.
   */
  delete(key: string, put_since?: number): Promise<boolean>
  /** At most `limit` keys behind `after`, segment by segment in the order of their characters. */
  list(after: string | null, limit: number): Promise<string[]>
}
