// Makes the principal of a user whom the identity provider names, in a token's claims or at its user endpoint.
import { ALL_SCOPES, LOCAL_USER, type Principal } from '../principal.ts'

/** The metadata of a user that are used here. */
interface AppMetadata {
  readonly workspace_id?: unknown
}

/** An opaque id of the contract. */
const MAX_ID_LENGTH = 512

/**
 * The principal. Null if `user_id` is not an opaque id, or is the id of the local user: that user sits at the server's machine and owns its data, and
 * no account of the provider may become this user by its number.
 */
export function createUserPrincipal(
  user_id: unknown,
  app_metadata: unknown,
  expires_at: number | null,
  admin_users: ReadonlySet<string>,
): Principal | null {
  if (!isOpaqueId(user_id) || user_id === LOCAL_USER) return null
  const workspace_id = (app_metadata as AppMetadata | null | undefined)?.workspace_id
  return {
    user_id,
    workspace_id: isOpaqueId(workspace_id) ? workspace_id : null,
    trusted_as: 'identity_provider',
    token_id: null,
    scopes: ALL_SCOPES,
    administrator: admin_users.has(user_id),
    app_id: null,
    expires_at,
  }
}

/** A lone surrogate would be stored as another character, which makes different ids equal. */
function isOpaqueId(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= MAX_ID_LENGTH && value.isWellFormed()
}
