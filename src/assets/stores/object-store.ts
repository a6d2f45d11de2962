// An object store keeps bytes by key. The assets decide who may read the bytes, and what they mean.
import type { Readable } from 'node:stream'

export interface WriteResult {
  /** Bytes. */
  readonly size: number
  /** 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

/** Bytes, or pieces, each of which is valid until the next one is requested. */
export type ByteSource = Uint8Array | AsyncIterable<Uint8Array>

export type TrailerBuilder = (written: WriteResult) => Uint8Array

/** Bytes that were received completely and are on disk, but have no key yet. Disposing of the object removes them unless they were committed. */
export interface StagedObject extends WriteResult, Disposable {
  /** The first bytes: all of them, or more than SNIFFED_BYTES. */
  readonly head: Uint8Array
  /**
   * Stores the bytes under a key, synchronously and durably. The content under a key never changes: if it is stored already with the same
   * size, only its time is set to now. May be called once.
   */
  commit(key: string): void
}

export interface ObjectInfo {
  /** Bytes. */
  readonly size: number
  /** When the object was last put, in milliseconds since the epoch. */
  readonly put_at: number
}

/** A range of `length` bytes from `start`, which must lie within the object. */
export interface ByteRange {
  readonly start: number
  readonly length: number
}

/** Every method throws a TypeError for an invalid key. A store may refuse a key that another key extends after a slash. */
export interface ObjectStore {
  /**
   * Stores bytes under a key and replaces what was there. The bytes are on disk when the promise resolves; if it rejects, nothing has
   * changed. `tail` builds a trailer from the size and digest of the source, which is stored at the end of the object.
   */
  put(key: string, source: ByteSource, tail?: TrailerBuilder): Promise<WriteResult>
  /**
   * Does what `put` does, synchronously, for content that never changes under its key. If as many bytes are stored already, only their time
   * is set to now. With `tail` the bytes are always written.
   */
  putSync(key: string, bytes: Uint8Array, tail?: Uint8Array): void
  /** Reads bytes whose key is known only at their end. If the promise rejects, no bytes are left. */
  receive(source: ByteSource): Promise<StagedObject>
  /** Returns the bytes of an object, read on demand; null if there is no such object. The caller ends or destroys the stream. */
  get(key: string, range: ByteRange): Promise<Readable | null>
  stat(key: string): Promise<ObjectInfo | null>
  /**
   * Removes an object, unless it was put at `put_since` (milliseconds since the epoch) or later. Reads that have begun go on. No new read
   * finds the object once the call has returned. Resolves to whether there was an object to remove.
   */
  delete(key: string, put_since?: number): Promise<boolean>
  /** Returns at most `limit` keys after `after`, in the order of their bytes. */
  list(after: string | null, limit: number): Promise<string[]>
  /** Does what `list` does for the objects on this machine, without asking a bucket. */
  listLocal(after: string | null, limit: number): Promise<string[]>
}
