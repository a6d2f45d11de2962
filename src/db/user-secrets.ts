// Secrets of users, by owner and name. Their values are sealed, and opened elsewhere.
import type { UserSecretTable } from './schema.ts'
import type { Scope } from './scope.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

interface Owner {
  user_id: string
  workspace: string
}

const ownerOf = ({ user_id, workspace_id }: Scope): Owner => ({ user_id, workspace: workspace_id ?? '' })

const select = statement<Owner & { name: string }>()((db, p) =>
  db
    .selectFrom('user_secret')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

const selectAnyhow = statement<Owner & { name: string }>('unverified')((db, p) =>
  db
    .selectFrom('user_secret')
    .selectAll()
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

const list = statement<Owner>()((db, p) =>
  db
    .selectFrom('user_secret')
    .select(['name', 'updated_at'])
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .orderBy('name'),
)

const others = statement<Owner & { name: string }>()((db, p) =>
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

const owned = statement<Owner>('unverified')((db, p) =>
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

const remove = statement<Owner & { name: string }>()((db, p) =>
  db
    .deleteFrom('user_secret')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

export type StoredSecret = Pick<UserSecretTable, 'body' | 'updated_at'>

/** A damaged secret is never used, so that a name that is not found is unknown even while another row is damaged. @throws DATA_DAMAGED where it is this one */
export function userSecret(tx: Tx, owner: Scope, name: string): StoredSecret | undefined {
  return tx.get(select, { ...ownerOf(owner), name })
}

/** The same, where a damaged one has a value that does not open: it can be set again. */
export function sealedSecret(tx: Tx, owner: Scope, name: string): StoredSecret | undefined {
  const row = tx.get(selectAnyhow, { ...ownerOf(owner), name })
  return row && unlessDamaged(tx, row)
}

function unlessDamaged(tx: Tx, row: UserSecretTable): UserSecretTable {
  return tx.isSound('user_secret', row) ? row : { ...row, body: new Uint8Array() }
}

/** The names of an owner's secrets in order, and when each was set. */
export function userSecretNames(tx: Tx, owner: Scope): Pick<UserSecretTable, 'name' | 'updated_at'>[] {
  return tx.all(list, ownerOf(owner))
}

/** How many secrets an owner has besides the one of that name, and how many bytes their sealed values take together. */
export function otherUserSecrets(tx: Tx, owner: Scope, name: string): { count: number; bytes: number } {
  const { count, bytes } = tx.get(others, { ...ownerOf(owner), name })!
  return { count, bytes: bytes ?? 0 }
}

/** Those of all owners, each user's together; those of one at a time are in memory. A damaged one has a value that does not open. */
export function* eachUserSecret(tx: Tx): Iterable<UserSecretTable> {
  for (const owner of tx.all(owners, {})) for (const row of tx.all(owned, owner)) yield unlessDamaged(tx, row)
}

export function allUserSecrets(tx: Tx): UserSecretTable[] {
  return [...eachUserSecret(tx)]
}

export function putUserSecret(tx: Tx, row: UserSecretTable): void {
  tx.run(upsert, row)
}

export function deleteUserSecret(tx: Tx, owner: Scope, name: string): void {
  tx.run(remove, { ...ownerOf(owner), name })
}
