// PendingRemovals records on disk which objects are still to be removed from a bucket. So no removed object comes back after an outage or a
// crash.
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fsyncFolder } from '../../shared/fsync-folder.ts'
import { StartError } from '../../start-error.ts'
import { ensureFolder, writeDurablySync } from './file-system.ts'

/**
 * Objects of this key that were put before `put_since` are to be removed. `put_since` is in milliseconds since the epoch; Infinity means
 * any object.
 */
interface PendingRemoval {
  readonly key: string
  readonly put_since: number
}

export class PendingRemovals {
  readonly #folder: string
  readonly #now: () => number
  readonly #removals = new Map<string, PendingRemoval>()

  /**
   * Creates the folder if it is missing, and reads the recorded removals. `now` returns milliseconds since the epoch.
   * @throws StartError when the folder cannot be used
   */
  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
    try {
      ensureFolder(folder)
      for (const name of readdirSync(folder)) {
        const path = join(folder, name)
        if (name.endsWith('.json')) this.#load(path)
        else rmSync(path, { force: true })
      }
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      throw new StartError(`the folder ${folder} cannot be used (${reason}); check its owner and mode`, {
        cause: error,
      })
    }
  }

  keys(): string[] {
    return [...this.#removals.keys()]
  }

  /** Returns the time since which an object of a key must have been put in order to stay, or null if no removal is pending. */
  cutoffOf(key: string): number | null {
    return this.#removals.get(key)?.put_since ?? null
  }

  /** Records a removal, which is on disk when the call returns. @throws the error of the file system; then nothing has changed */
  add(key: string, put_since: number): void {
    const removal = { key, put_since: Math.max(put_since, this.cutoffOf(key) ?? 0) }
    const path = this.#pathOf(key)
    const incoming = join(this.#folder, randomUUID())
    // JSON has no Infinity.
    const text = JSON.stringify({ key, put_since: Number.isFinite(removal.put_since) ? removal.put_since : null })
    try {
      writeDurablySync(incoming, [Buffer.from(text)], this.#now())
      renameSync(incoming, path)
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
    fsyncFolder(this.#folder)
    this.#removals.set(key, removal)
  }

  /** Deletes the record of a completed removal; this is durable when the call returns. */
  complete(key: string): void {
    if (!this.#removals.delete(key)) return
    rmSync(this.#pathOf(key), { force: true })
    fsyncFolder(this.#folder)
  }

  #load(path: string): void {
    const { key, put_since } = JSON.parse(readFileSync(path, 'utf8')) as { key: string; put_since: number | null }
    this.#removals.set(key, { key, put_since: put_since ?? Number.POSITIVE_INFINITY })
  }

  #pathOf(key: string): string {
    return join(this.#folder, `${createHash('sha256').update(key).digest('hex')}.json`)
  }
}
