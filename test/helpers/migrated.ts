// Databases as a first start leaves them. They are copied from one that each process makes once, because migrations take longer than the
// rest of a start. Other tests check the migrations themselves.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Store } from '../../src/db/store.ts'

let migrated: Promise<Buffer> | null = null

/** Puts an empty database with the current schema at `path`, which must not exist. */
export async function giveDatabase(path: string): Promise<void> {
  migrated ??= migrate()
  writeFileSync(path, await migrated)
}

async function migrate(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  try {
    const path = join(folder, 'svc.db')
    const store = await Store.open(path)
    await store[Symbol.asyncDispose]()
    return readFileSync(path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
