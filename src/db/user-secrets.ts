// Secrets of users, by owner and name, with encrypted values. Callers decrypt them.

import { changeRows, isRowSound, type StatementSteps, selectRow, selectRows } from './catalogue.ts'
import type { OwnerScope } from './owner-scope.ts'
import { statement } from './statement.ts'
import type { UserSecretTable } from './tables/users.ts'

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
export function findUserSecret(owner: OwnerScope, name: string): StatementSteps<StoredUserSecret | undefined> {
  return selectRow(select, { ...toOwnerColumns(owner), name })
}

/** The same, but a damaged secret has a value that cannot be decrypted, so that it can be set again. */
export function* findUserSecretOrDamaged(
  owner: OwnerScope,
  name: string,
): StatementSteps<StoredUserSecret | undefined> {
  const row = yield* selectRow(selectUnverified, { ...toOwnerColumns(owner), name })
  return row && (yield* withoutDamagedValue(row))
}

function* withoutDamagedValue(row: UserSecretTable): StatementSteps<UserSecretTable> {
  return (yield* isRowSound('user_secret', row)) ? row : { ...row, body: new Uint8Array() }
}

/** The names of an owner's secrets in order, and when each was set. */
export function listUserSecretNames(owner: OwnerScope): StatementSteps<Pick<UserSecretTable, 'name' | 'updated_at'>[]> {
  return selectRows(list, toOwnerColumns(owner))
}

/** The number of an owner's other secrets, and the total bytes of their encrypted values. */
export function* measureOtherUserSecrets(
  owner: OwnerScope,
  name: string,
): StatementSteps<{ count: number; bytes: number }> {
  const { count, bytes } = (yield* selectRow(others, { ...toOwnerColumns(owner), name }))!
  return { count, bytes: bytes ?? 0 }
}

/** The owners that have secrets, in order. */
export function listSecretOwners(): StatementSteps<OwnerColumns[]> {
  return selectRows(owners, {})
}

/** The secrets of one owner, by name. A damaged secret has a value that cannot be decrypted. */
export function* listUserSecrets(owner: OwnerColumns): StatementSteps<UserSecretTable[]> {
  const secrets: UserSecretTable[] = []
  for (const row of yield* selectRows(owned, owner)) secrets.push(yield* withoutDamagedValue(row))
  return secrets
}

export function* putUserSecret(row: UserSecretTable): StatementSteps<void> {
  yield* changeRows(upsert, row)
}

export function* deleteUserSecret(owner: OwnerScope, name: string): StatementSteps<void> {
  yield* changeRows(remove, { ...toOwnerColumns(owner), name })
}
