// Databases as a first start leaves them, copied from one that is made once in a process: to migrate takes longer than the rest of a start.
// That it comes to the present schema, and from every older one, is tested where migrations are.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Store } from '../../src/db/store.ts'

let migrated: Promise<Buffer> | null = null

/** Puts an empty database with the present schema at `path`, where nothing is. */
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
