// Secrets of users, by owner and name, with encrypted values. Callers decrypt them.

import type { OwnerScope } from './owner-scope.ts'
import type { UserSecretTable } from './schema.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

interface OwnerColumns {
  user_id: string
  workspace: string
}

const toOwnerColumns = ({ user_id, workspace_id }: OwnerScope): OwnerColumns => ({
  user_id,
  workspace: workspace_id ?? '',
})

const select = statement<OwnerColumns & { name: string }>()((db, p) =>
  db
    .selectFrom('user_secret')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

const selectUnverified = statement<OwnerColumns & { name: string }>('unverified')((db, p) =>
  db
    .selectFrom('user_secret')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

const list = statement<OwnerColumns>()((db, p) =>
  db
    .selectFrom('user_secret')
    .select(['name', 'updated_at'])
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .orderBy('name'),
)

const others = statement<OwnerColumns & { name: string }>()((db, p) =>
  db
    .selectFrom('user_secret')
    .select((eb) => [
      eb.fn.countAll<number>().as('count'),
      eb.fn.sum<number | null>(eb.fn('length', ['body'])).as('bytes'),
    ])
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '<>', p('name')),
)

const owners = statement()((db) =>
  db.selectFrom('user_secret').select(['user_id', 'workspace']).distinct().orderBy('user_id').orderBy('workspace'),
)

const owned = statement<OwnerColumns>('unverified')((db, p) =>
  db
    .selectFrom('user_secret')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .orderBy('name'),
)

const upsert = statement<UserSecretTable>()((db, p) =>
  db.replaceInto('user_secret').values({
    user_id: p('user_id'),
    workspace: p('workspace'),
    name: p('name'),
    body: p('body'),
    updated_at: p('updated_at'),
  }),
)

const remove = statement<OwnerColumns & { name: string }>()((db, p) =>
  db
    .deleteFrom('user_secret')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

export type StoredUserSecret = Pick<UserSecretTable, 'body' | 'updated_at'>

/** A damaged secret is never used, so another damaged row does not keep a name from being unknown. @throws DATA_DAMAGED if this secret is damaged */
export function findUserSecret(tx: Tx, owner: OwnerScope, name: string): StoredUserSecret | undefined {
  return tx.get(select, { ...toOwnerColumns(owner), name })
}

/** The same, but a damaged secret has a value that cannot be decrypted, so that it can be set again. */
export function findUserSecretOrDamaged(tx: Tx, owner: OwnerScope, name: string): StoredUserSecret | undefined {
  const row = tx.get(selectUnverified, { ...toOwnerColumns(owner), name })
  return row && withoutDamagedValue(tx, row)
}

function withoutDamagedValue(tx: Tx, row: UserSecretTable): UserSecretTable {
  return tx.isSound('user_secret', row) ? row : { ...row, body: new Uint8Array() }
}

/** The names of an owner's secrets in order, and when each was set. */
export function listUserSecretNames(tx: Tx, owner: OwnerScope): Pick<UserSecretTable, 'name' | 'updated_at'>[] {
  return tx.all(list, toOwnerColumns(owner))
}

/** The number of an owner's other secrets, and the total bytes of their encrypted values. */
export function measureOtherUserSecrets(tx: Tx, owner: OwnerScope, name: string): { count: number; bytes: number } {
  const { count, bytes } = tx.get(others, { ...toOwnerColumns(owner), name })!
  return { count, bytes: bytes ?? 0 }
}

/** The secrets of all owners, grouped by owner; only one owner's are in memory at a time. A damaged secret has a value that cannot be decrypted. */
export function* iterateUserSecrets(tx: Tx): Iterable<UserSecretTable> {
  for (const owner of tx.all(owners, {})) for (const row of tx.all(owned, owner)) yield withoutDamagedValue(tx, row)
}

export function listAllUserSecrets(tx: Tx): UserSecretTable[] {
  return [...iterateUserSecrets(tx)]
}

export function putUserSecret(tx: Tx, row: UserSecretTable): void {
  tx.run(upsert, row)
}

export function deleteUserSecret(tx: Tx, owner: OwnerScope, name: string): void {
  tx.run(remove, { ...toOwnerColumns(owner), name })
}
