// What the procedure says of a caller. The doors translate it into answers.
import type { Principal } from './principal.ts'

/** Why a caller is not let in. `reason` is the whole body of the 401: the interface fixes the words. */
export type Refusal =
  | { readonly kind: 'unauthorized'; readonly reason: string }
  /** Nobody can tell now who it is, because the identity provider cannot be asked. */
  | { readonly kind: 'unavailable' }

export type Verdict =
  | { readonly principal: Principal; readonly refusal?: never }
  | { readonly principal?: never; readonly refusal: Refusal }

export function admitted(principal: Principal): Verdict {
  return { principal }
}

export function refused(reason: string): Verdict {
  return { refusal: { kind: 'unauthorized', reason } }
}

export const UNAUTHORIZED = refused('Unauthorized')
export const REMOTE = refused('Remote access requires authentication')
export const INVALID_TOKEN = refused('invalid_token')
export const UNAVAILABLE: Verdict = { refusal: { kind: 'unavailable' } }
