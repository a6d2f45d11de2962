// What is known of one request on its way through the application.
import type { Response } from 'express'
import type { Principal } from '../../access/principal.ts'
import type { RequestFacts } from '../../access/request-facts.ts'
import { peerShareKey, userShareKey } from '../../db/owner-scope.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'

export interface ResponseLocals {
  request_id: string
  facts: RequestFacts
  principal: Principal | null
  signed?: true
  /** Of an answer that is large. */
  reader?: ResponseReader
  /** While nothing of the answer is made, and it may become another one: called where its reader is cut. */
  cancelUnstarted?: (() => void) | undefined
}

export function localsOf(response: Response): ResponseLocals {
  return response.locals as ResponseLocals
}

export function requestFactsOf(response: Response): RequestFacts {
  return localsOf(response).facts
}

/** Whose turns, time slices and memory a request takes: the user's, and where there is none those of the address that it came from. */
export function callerKey(response: Response): string {
  const { principal, facts } = localsOf(response)
  return principal ? userShareKey(principal) : peerShareKey(facts.peer)
}
