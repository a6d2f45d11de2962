// Whom the identity provider means: the user of a token's claims, or of its user endpoint, as a principal.
import { ALL_SCOPES, LOCAL_USER, type Principal } from '../principal.ts'

/** What a provider says of a user, as far as it is looked at. */
interface AppMetadata {
  readonly workspace_id?: unknown
}

/** An opaque id of the contract. */
const MAX_ID_LENGTH = 512

/**
 * The principal, or null where `user_id` is none that this service takes: not an opaque id, or the id of the local user. Whose id that is
 * sits at the server's machine, and owns what was made there; no account elsewhere becomes it by its number.
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

/** Half of a surrogate pair would be stored as another character, and two ids as one. */
function isOpaqueId(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= MAX_ID_LENGTH && value.isWellFormed()
}
