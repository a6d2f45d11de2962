// Keeps a server from removing files of its journal while they are copied. A lease expires an hour after its last renewal, so that a killed process
// does no harm.
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { journalLeasesFolderPath } from '../../db/files/data-folder.ts'

/** The minimum interval of renewals, in milliseconds. */
const RENEW_INTERVAL_MS = 10_000

export class JournalLease implements Disposable {
  readonly #path: string | null
  #touched = Date.now()

  /** A data folder that cannot be written gets no lease: a job that ends meanwhile may then leave the copy without its files. */
  constructor(data_dir: string) {
    const folder = journalLeasesFolderPath(data_dir)
    this.#path = join(folder, randomUUID())
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(this.#path, '', { mode: 0o600 })
    } catch {
      this.#path = null
    }
  }

  renew(): void {
    const now = Date.now()
    if (this.#path === null || now - this.#touched < RENEW_INTERVAL_MS) return
    this.#touched = now
    utimesSync(this.#path, now / 1_000, now / 1_000)
  }

  [Symbol.dispose](): void {
    if (this.#path !== null) rmSync(this.#path, { force: true })
  }
}
