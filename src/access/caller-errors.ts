// The last redaction of an error before its caller sees it: whichever part of the service failed, the caller sees no known secret.
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import { type ServiceError, toServiceError } from '../errors.ts'
import { redactServiceError } from '../redaction/error-redaction.ts'
import type { Redactor } from '../redaction/redactor.ts'

/** Converts anything thrown. Without a caller, nothing was done that could quote a secret. */
export function toCallerError(
  thrown: unknown,
  caller: OwnerScope | null | undefined,
  redactor: Redactor,
): ServiceError {
  const error = toServiceError(thrown)
  if (!caller) return error
  const own = redactor.forOwner(ownerScopeKey(caller))
  return redactServiceError(error, (text) => own.message(text))
}
