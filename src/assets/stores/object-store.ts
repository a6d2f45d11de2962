// What keeps bytes by key. Who may read them, and what they mean, is left to the assets.
import type { Readable } from 'node:stream'

export interface WriteResult {
  /** Bytes. */
  readonly size: number
  /** 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

/** Bytes, or pieces of which each is good until the next is asked for. */
export type ByteSource = Uint8Array | AsyncIterable<Uint8Array>

export type TrailerBuilder = (written: WriteResult) => Uint8Array

/** Bytes that came to their end and are on disk, under no key yet. What is not settled when it is disposed of is removed. */
export interface StagedObject extends WriteResult, Disposable {
  /** The first bytes: all of them, or more than `LOOKED_AT`. */
  readonly head: Uint8Array
  /**
   * Keeps them under a key, at once and on disk, for content that never changes under its key: where as many bytes are there already, they
   * only count as put anew. Once.
   */
  commit(key: string): void
}

export interface ObjectInfo {
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

/** Every method throws a TypeError for what is no key. A key may be refused where another one continues it behind a slash. */
export interface ObjectStore {
  /**
   * Keeps bytes under a key, in the place of what was there. They are on disk when it settles; if it rejects, nothing has changed. What
   * `tail` makes of the size and digest of the source is kept behind it, as a part of the object.
   */
  put(key: string, source: ByteSource, tail?: TrailerBuilder): Promise<WriteResult>
  /**
   * As `put`, at once, for content that never changes under its key: where as many bytes are there already, they only count as
   * put anew. With `tail` they are written in any case.
   */
  putSync(key: string, bytes: Uint8Array, tail?: Uint8Array): void
  /** Reads bytes whose key is known only at their end. If it rejects, nothing of them is left. */
  receive(source: ByteSource): Promise<StagedObject>
  /** The bytes of an object, read as they are asked for; null where there is no such object. Whoever gets a stream ends or destroys it. */
  get(key: string, range: ByteRange): Promise<Readable | null>
  stat(key: string): Promise<ObjectInfo | null>
  /**
   * Removes an object, unless it was put at `put_since` (milliseconds since the epoch) or later; reads that have begun go on.
   * It is out of reach when the call returns. Settles to whether there was one to remove.
   */
  delete(key: string, put_since?: number): Promise<boolean>
  /** At most `limit` keys behind `after`, in the order of their bytes. */
  list(after: string | null, limit: number): Promise<string[]>
  /** As `list`, of the objects that lie on this machine: those elsewhere are not asked for. */
  listLocal(after: string | null, limit: number): Promise<string[]>
}
