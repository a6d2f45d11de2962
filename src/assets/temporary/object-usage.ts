// Lists the temporary objects that have rows, for the quota of their user.
import { setImmediate } from 'node:timers/promises'
import { listTemporaryObjectRows, type TemporaryObjectRow } from '../../db/assets/temporary-objects.ts'
import { ownerScopeKey } from '../../db/owner-scope.ts'
import type { Store } from '../../db/store.ts'
import type { ObjectTable } from '../../db/tables/assets.ts'
import { temporaryKeyPrefix } from './keys.ts'
import type { QuotaEntry } from './quota.ts'

/** Rows that are read in one turn of the event loop. */
const ROWS_PER_TURN = 500

/** Yields the temporary objects of a user that have rows, expired or not. Other work gets its turn in between. */
export async function* listTemporaryObjects(store: Store, user_id: string): AsyncGenerator<QuotaEntry> {
  const folder = temporaryKeyPrefix(user_id)
  for (let after: TemporaryObjectRow | null = null; ; ) {
    const last: TemporaryObjectRow | null = after
    const rows: TemporaryObjectRow[] = store.read((tx) => listTemporaryObjectRows(tx, folder, last, ROWS_PER_TURN))
    for (const row of rows) if (row.expires_at !== null) yield rowToQuotaEntry({ ...row, user_id })
    if (rows.length < ROWS_PER_TURN) return
    after = rows.at(-1)!
    await setImmediate()
  }
}

/** Turns a row into a quota entry. Each workspace has its own object under the same key. */
export function rowToQuotaEntry(row: TemporaryObjectRow & Pick<ObjectTable, 'user_id'>): QuotaEntry {
  return { key: ownerScopeKey(row, row.storage_key), bytes: row.size, expires_at: Date.parse(row.expires_at!) }
}
