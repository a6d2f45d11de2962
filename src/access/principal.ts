// Who is calling.
import type { Scope } from '../db/scope.ts'

/** A caller that was let in. Rows are read and written through it. */
export interface Principal extends Scope {
  readonly user_id: string
  readonly workspace_id: string | null
  readonly trusted_as: 'loopback'
  readonly administrator: boolean
}

/** The one user of Local mode. */
export const LOCAL_PRINCIPAL: Principal = {
  user_id: '1',
  workspace_id: null,
  trusted_as: 'loopback',
  administrator: true,
}
