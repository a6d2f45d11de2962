// What a handler is handed besides the validated request, made of the answer that it is to fill.
import type { Response } from 'express'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { localsOf } from './locals.ts'
import type { RequestContext } from './request.ts'

/**
 * A class: of an object that is written down with getters the engine keeps a shape of its own, and with it the whole request, until it
 * cleans its old generation.
 */
export class HandlerContext implements RequestContext {
  readonly app: AppContext
  readonly request_id: string
  readonly signed: boolean
  readonly #response: Response
  #signal: AbortSignal | null = null

  constructor(app: AppContext, response: Response) {
    const { request_id, signed } = localsOf(response)
    this.app = app
    this.request_id = request_id
    this.signed = signed === true
    this.#response = response
  }

  get principal(): Principal {
    const { principal } = localsOf(this.#response)
    if (!principal) throw new Error('a public operation has no principal')
    return principal
  }

  accepts<Type extends string>(types: readonly Type[]): Type | null {
    return (this.#response.req.accepts([...types]) || null) as Type | null
  }

  /** Made only for handlers that watch for it: most never do. */
  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#response)
    return this.#signal
  }

  get revoked(): AbortSignal {
    return revokedSignal(this.app, this.#response, this.principal)
  }
}

function closeSignal(response: Response): AbortSignal {
  const controller = new AbortController()
  // After a whole answer nobody listens, and an abort costs what a statement does: its reason is an error with a stack.
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}

function revokedSignal({ rechecks }: AppContext, response: Response, principal: Principal): AbortSignal {
  const controller = new AbortController()
  const forget = rechecks.watch(localsOf(response).facts, principal, { ended: () => controller.abort() })
  if (response.closed) forget()
  else response.once('close', forget)
  return controller.signal
}
