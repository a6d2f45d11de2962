// The verdict on a caller, which the transports turn into responses.
import type { Principal } from './principal.ts'

/** The cause of a refusal, for the log only: the caller's place, a header, or its token. */
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

/** `reason` is the whole body of the 401, and its words are part of the API. */
export interface UnauthorizedRefusal {
  readonly kind: 'unauthorized'
  readonly reason: string
  readonly cause: RefusalCause
}

/** Why a caller is refused. */
export type AuthRefusal =
  | UnauthorizedRefusal
  /** The caller is unknown now, because the identity provider cannot be reached. */
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
