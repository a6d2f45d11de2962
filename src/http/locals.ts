// What is known of one request on its way through the application.
import type { Response } from 'express'
import type { RequestFacts } from '../access/facts.ts'
import type { Principal } from '../access/principal.ts'

export interface Locals {
  request_id: string
  facts: RequestFacts
  principal: Principal | null
  signed?: true
}

export function localsOf(response: Response): Locals {
  return response.locals as Locals
}

export function factsOf(response: Response): RequestFacts {
  return localsOf(response).facts
}
