// What the temporary objects of a user take, in all workspaces: the sum of one range of their keys. One statement.
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const select = statement<{ from: string; to: string; now: string }>()((db, p) =>
  db
    .selectFrom('object')
    .select((eb) => [
      eb.fn.coalesce(eb.fn.sum<number>('size'), eb.lit(0)).as('bytes'),
      eb.fn.min<string | null>('expires_at').as('next'),
    ])
    .where('storage_key', '>=', p('from'))
    .where('storage_key', '<', p('to'))
    .where('expires_at', '>', p('now')),
)

/**
 * The bytes of the objects below `folder`, which ends with a slash, that are not past their time, and when the first of them is: in milliseconds
 * since the epoch as `now` is; null where there are none.
 */
export function temporaryUse(tx: Tx, folder: string, now: number): { bytes: number; next_at: number | null } {
  const to = `${folder.slice(0, -1)}0`
  const { bytes, next } = tx.get(select, { from: folder, to, now: new Date(now).toISOString() })!
  return { bytes: Number(bytes), next_at: next === null ? null : Date.parse(next) }
}
