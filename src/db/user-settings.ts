// Settings that users have changed, by owner and name. Callers know what a value means.

import { changeRows, isRowSound, type StatementSteps, selectRows } from './catalogue.ts'
import type { OwnerScope } from './owner-scope.ts'
import { statement } from './statement.ts'
import type { UserSettingTable } from './tables/users.ts'

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

/** A setting; the value of a damaged row is null. */
type StoredUserSetting = Omit<UserSettingTable, 'value'> & { value: string | null }

/** The settings of all owners; the value of a damaged row is null. */
export function* listAllUserSettings(): StatementSteps<StoredUserSetting[]> {
  const settings: StoredUserSetting[] = []
  for (const row of yield* selectRows(all, {}))
    settings.push((yield* isRowSound('user_setting', row)) ? row : { ...row, value: null })
  return settings
}

export function* putUserSetting(row: UserSettingTable): StatementSteps<void> {
  yield* changeRows(upsert, row)
}

/** The setting has its default again. */
export function* deleteUserSetting({ user_id, workspace_id }: OwnerScope, name: string): StatementSteps<void> {
  yield* changeRows(remove, { user_id, workspace: workspace_id ?? '', name })
}
