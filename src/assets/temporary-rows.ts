// Temporary objects that have rows, as the quota of their user counts them.
import { setImmediate } from 'node:timers/promises'
import type { ObjectTable } from '../db/schema.ts'
import { scopedKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { type TemporaryRow, temporaryRows } from '../db/temporary-use.ts'
import { temporaryFolder } from './temporary-keys.ts'
import type { KeptBytes } from './temporary-quota.ts'

/** Rows that are read in one turn of the event loop. */
const READ_AT_ONCE = 500

/** What rows keep of a user, past its time or not. Others have their turns meanwhile. */
export async function* rowsOfUser(store: Store, user_id: string): AsyncGenerator<KeptBytes> {
  const folder = temporaryFolder(user_id)
  for (let after: TemporaryRow | null = null; ; ) {
    const last: TemporaryRow | null = after
    const rows: TemporaryRow[] = store.read((tx) => temporaryRows(tx, folder, last, READ_AT_ONCE))
    for (const row of rows) if (row.expires_at !== null) yield keptRow({ ...row, user_id })
    if (rows.length < READ_AT_ONCE) return
    after = rows.at(-1)!
    await setImmediate()
  }
}

/** As the quota counts it. Each workspace has its own under the same key. */
export function keptRow(row: TemporaryRow & Pick<ObjectTable, 'user_id'>): KeptBytes {
  return { key: scopedKey(row, row.storage_key), bytes: row.size, expires_at: Date.parse(row.expires_at!) }
}
