// The RequestContext of a handler, made from the response.
import type { IncomingMessage } from 'node:http'
import type { Response } from 'express'
import type { Principal } from '../../access/principal.ts'
import type { AppContext } from '../../context.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'
import { takeBodyText } from '../body/json-body.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'
import type { RequestContext } from './request-context.ts'
import { callerKey, localsOf } from './response-locals.ts'
import { getResponseReader } from './response-reader.ts'

/** A class: for an object literal with getters V8 keeps a shape of its own, and with it the whole request, until it collects its old generation. */
export class HandlerContext implements RequestContext {
  readonly app: AppContext
  readonly request_id: string
  readonly signed: boolean
  readonly #response: Response
  readonly #deadline: AbortSignal | undefined
  #signal: AbortSignal | null = null

  /** `deadline` aborts when the response is due. */
  constructor(app: AppContext, response: Response, deadline?: AbortSignal) {
    const { request_id, signed } = localsOf(response)
    this.app = app
    this.request_id = request_id
    this.signed = signed === true
    this.#response = response
    this.#deadline = deadline
  }

  get principal(): Principal {
    const { principal } = localsOf(this.#response)
    if (!principal) throw new Error('a public operation has no principal')
    return principal
  }

  get caller(): string {
    return callerKey(this.#response)
  }

  get incoming(): IncomingMessage {
    return this.#response.req
  }

  takeText(): Uint8Array | null {
    return takeBodyText(this.#response.req)
  }

  accepts<Type extends string>(types: readonly Type[]): Type | null {
    return (this.#response.req.accepts([...types]) || null) as Type | null
  }

  get reader(): ResponseReader {
    return getResponseReader(this.#response, this.app.transport.response_buffers)
  }

  /** Created only for handlers that use it: most never do. */
  get signal(): AbortSignal {
    this.#signal ??= this.#deadline
      ? AbortSignal.any([createCloseSignal(this.#response), this.#deadline])
      : createCloseSignal(this.#response)
    return this.#signal
  }

  get half_closed(): AbortSignal {
    const controller = new AbortController()
    onHalfClose(this.#response, () => controller.abort())
    return controller.signal
  }

  get abandoned(): AbortSignal {
    onHalfClose(this.#response, () => this.#response.destroy())
    return this.signal
  }

  get revoked(): AbortSignal {
    return localsOf(this.#response).credential?.takeOver() ?? new AbortController().signal
  }

  async confirmCredential(): Promise<void> {
    await localsOf(this.#response).credential?.confirm()
  }

  whileAuthenticated<T>(work: Promise<T>, headers: Readonly<Record<string, string>> = {}): Promise<T> {
    return localsOf(this.#response).credential?.whileValid(work, headers) ?? work
  }
}

function createCloseSignal(response: Response): AbortSignal {
  const controller = new AbortController()
  // A handler may read the signal after the client has gone.
  if (response.closed && !response.writableFinished) controller.abort()
  // After a complete response the signal has no listeners. An abort would cost as much as an SQL statement, for its error with a stack.
  onResponseClose(response, () => {
    if (!response.writableFinished) controller.abort()
  })
  localsOf(response).credential?.onCut((error) => controller.abort(error))
  return controller.signal
}

/** Runs `run` once the client has half-closed, unless the response is complete before. */
function onHalfClose(response: Response, run: () => void): void {
  const { socket } = response.req
  if (socket.readableEnded) return run()
  socket.once('end', run)
  onResponseClose(response, () => socket.off('end', run))
}
