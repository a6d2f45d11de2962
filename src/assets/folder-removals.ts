// FolderRemovals removes the contents of deleted folders in the background: rows in small batches with pauses, and blobs that no row needs.
// Rows record these folders, so that a restart continues.
import { setTimeout as sleep } from 'node:timers/promises'
import { listBlobKeys, purgeDeletedFolders } from '../db/assets/deleted-folders.ts'
import { startTimeBudget } from '../db/row-batches.ts'
import type { Store } from '../db/store.ts'
import type { Log } from '../log.ts'
import type { BlobStore } from './stores/blob-store.ts'

export interface FolderRemovalParts {
  readonly store: Store
  readonly contents: Pick<BlobStore, 'discard'>
  readonly log: Log
}

/** How long one batch may keep the database busy, in milliseconds, and the length of the pause after it, as a multiple. */
const BATCH_MS = 3
const PAUSE_FACTOR = 3

export class FolderRemovals implements AsyncDisposable {
  readonly #parts: FolderRemovalParts
  readonly #stopped = new AbortController()
  #running: Promise<void> | null = null
  /** Whether folders may have been deleted since the run began. */
  #isRequestedAgain = false

  constructor(parts: FolderRemovalParts) {
    this.#parts = parts
  }

  /** Removes the contents in the background. What fails is tried again at the next call. */
  begin(): void {
    void this.finish()
  }

  /** Does what `begin` does, and resolves when all contents are removed or the removal failed. */
  finish(): Promise<void> {
    this.#isRequestedAgain = true
    this.#running ??= this.#removeAll().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #removeAll(): Promise<void> {
    try {
      while (this.#isRequestedAgain && !this.#stopped.signal.aborted) {
        this.#isRequestedAgain = false
        while (!(await this.#removeBatch()));
      }
    } catch (error) {
      if (!this.#stopped.signal.aborted)
        this.#parts.log.error({ err: error }, 'the contents of deleted folders could not be removed')
    }
  }

  async #removeBatch(): Promise<boolean> {
    const { store, contents } = this.#parts
    this.#stopped.signal.throwIfAborted()
    let took = 0
    const { removed, done } = await store.write((tx) => {
      const began = performance.now()
      const batch = purgeDeletedFolders(tx, startTimeBudget(BATCH_MS))
      took = performance.now() - began
      return batch
    })
    await contents.discard(listBlobKeys(removed))
    await sleep(Math.max(1, took * PAUSE_FACTOR), null, { signal: this.#stopped.signal, ref: false })
    return done
  }

  /** Completes the current batch and starts no other. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }
}
