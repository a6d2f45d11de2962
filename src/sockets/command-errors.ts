// Errors of commands, as their client may see them.
import { toCallerError } from '../access/caller-errors.ts'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import type { ServiceError } from '../errors.ts'

/** Converts anything thrown into an error without secrets that the client must not see. */
export function toCommandError(
  { principal, app }: { readonly principal: Principal; readonly app: AppContext },
  thrown: unknown,
): ServiceError {
  return toCallerError(thrown, principal, app.users.redactor)
}
