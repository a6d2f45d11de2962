// What the procedure says of a caller. The doors translate it into answers.
import type { Principal } from './principal.ts'

/** What a caller would have to change, for the log alone: the place that it calls from, a header, or its token. */
export type RefusalCause =
  | 'place'
  | 'own_request'
  | 'forwarded'
  | 'host'
  | 'origin'
  | 'no_token'
  | 'malformed_header'
  | 'token_unknown'
  | 'token_expired'
  | 'token_rejected'

/** Why a caller is not let in. `reason` is the whole body of the 401: the interface fixes the words. */
export type AuthRefusal =
  | { readonly kind: 'unauthorized'; readonly reason: string; readonly cause: RefusalCause }
  /** Nobody can tell now who it is, because the identity provider cannot be asked. */
  | { readonly kind: 'unavailable' }

export type AuthVerdict =
  | { readonly principal: Principal; readonly refusal?: never }
  | { readonly principal?: never; readonly refusal: AuthRefusal }

export function admitPrincipal(principal: Principal): AuthVerdict {
  return { principal }
}

export function refuseCaller(reason: string, cause: RefusalCause): AuthVerdict {
  return { refusal: { kind: 'unauthorized', reason, cause } }
}

export const UNAUTHORIZED = 'Unauthorized'
export const REMOTE_UNAUTHENTICATED = 'Remote access requires authentication'
export const INVALID_TOKEN = 'invalid_token'
export const AUTH_UNAVAILABLE: AuthVerdict = { refusal: { kind: 'unavailable' } }
