// Settings that users have changed, by owner and name. Callers know what a value means.

import type { OwnerScope } from './owner-scope.ts'
import type { UserSettingTable } from './schema.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const all = statement('unverified')((db) => db.selectFrom('user_setting').selectAll())

const upsert = statement<UserSettingTable>()((db, p) =>
  db.replaceInto('user_setting').values({
    user_id: p('user_id'),
    workspace: p('workspace'),
    name: p('name'),
    value: p('value'),
    updated_at: p('updated_at'),
  }),
)

const remove = statement<{ user_id: string; workspace: string; name: string }>()((db, p) =>
  db
    .deleteFrom('user_setting')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('name', '=', p('name')),
)

/** The settings of all owners; the value of a damaged row is null. */
export function listAllUserSettings(tx: Tx): (Omit<UserSettingTable, 'value'> & { value: string | null })[] {
  return tx.all(all, {}).map((row) => (tx.isSound('user_setting', row) ? row : { ...row, value: null }))
}

export function putUserSetting(tx: Tx, row: UserSettingTable): void {
  tx.run(upsert, row)
}

/** The setting has its default again. */
export function deleteUserSetting(tx: Tx, { user_id, workspace_id }: OwnerScope, name: string): void {
  tx.run(remove, { user_id, workspace: workspace_id ?? '', name })
}
