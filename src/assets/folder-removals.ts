// Removes what lies below deleted folders, in the background: rows in small batches between pauses, and the bytes that nothing else needs. Which folders
// they are is known by rows, so that a restart goes on.
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

/** How long one batch may keep the database busy, in milliseconds, and how many times as long the pause after it is. */
const BATCH_MS = 3
const PAUSE_FACTOR = 3

export class FolderRemovals implements AsyncDisposable {
  readonly #parts: FolderRemovalParts
  readonly #stopped = new AbortController()
  #running: Promise<void> | null = null
  /** Folders may have been deleted while it came to its end. */
  #isRequestedAgain = false

  constructor(parts: FolderRemovalParts) {
    this.#parts = parts
  }

  /** Removes what there is, in the background. What fails is tried again the next time. */
  begin(): void {
    void this.finish()
  }

  /** As `begin`; resolves when nothing is left, or it failed. */
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
        this.#parts.log.error({ err: error }, 'what deleted folders held could not be removed')
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

  /** Ends the batch that is under way, and begins no other. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }
}
