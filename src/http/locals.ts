// What is known of one request on its way through the application.
import type { Response } from 'express'
import type { RequestFacts } from '../access/facts.ts'
import type { Principal } from '../access/principal.ts'
import { peerKey, userKey } from '../db/scope.ts'
import type { Reader } from '../held-answers.ts'

export interface Locals {
  request_id: string
  facts: RequestFacts
  principal: Principal | null
  signed?: true
  /** Of an answer that is large. */
  reader?: Reader
  /** While nothing of the answer is made, and it may become another one: called where its reader is cut. */
  unmade?: (() => void) | undefined
}

export function localsOf(response: Response): Locals {
  return response.locals as Locals
}

export function factsOf(response: Response): RequestFacts {
  return localsOf(response).facts
}

/** Whose turns, time slices and memory a request takes: the user's, and where there is none those of the address that it came from. */
export function callerKey(response: Response): string {
  const { principal, facts } = localsOf(response)
  return principal ? userKey(principal) : peerKey(facts.peer)
}
