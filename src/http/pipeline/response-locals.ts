// Data of a request on its way through the application.
import type { Response } from 'express'
import type { Principal } from '../../access/principal.ts'
import type { RequestFacts } from '../../access/request-facts.ts'
import { peerShareKey, userShareKey } from '../../db/owner-scope.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'
import type { RequestCredential } from './request-credential.ts'

export interface ResponseLocals {
  request_id: string
  facts: RequestFacts
  principal: Principal | null
  signed?: true
  /** Present for a caller whose credential may end. */
  credential?: RequestCredential
  /** Present for a large response. */
  reader?: ResponseReader
  /** Present while the response has not begun and can still be replaced. Called if its reader is cut. */
  cancelUnstarted?: (() => void) | undefined
}

export function localsOf(response: Response): ResponseLocals {
  return response.locals as ResponseLocals
}

export function requestFactsOf(response: Response): RequestFacts {
  return localsOf(response).facts
}

/** The key whose turns, time slices and memory a request takes: the user's, or without a principal the address of the peer. */
export function callerKey(response: Response): string {
  const { principal, facts } = localsOf(response)
  return principal ? userShareKey(principal) : peerShareKey(facts.peer)
}
