// The credential of a request that is under way. When it is no longer valid, the body is not read on, the handler's signal aborts, and a response that
// is being sent is cut; what is about to be stored or answered is checked once more.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { UnauthorizedRefusal } from '../../access/auth-verdict.ts'
import type { CredentialRechecker } from '../../access/credential-rechecker.ts'
import type { Principal } from '../../access/principal.ts'
import type { RequestFacts } from '../../access/request-facts.ts'
import { ServiceError } from '../../errors.ts'
import { failBody } from '../connection/malformed-requests.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'
import { closeWithUnreadBody } from '../connection/unread-body.ts'

type Headers = Readonly<Record<string, string>>
type Exchange = ServerResponse & { readonly req: IncomingMessage }

export class RequestCredential {
  readonly #rechecker: CredentialRechecker
  readonly #response: Exchange
  readonly #facts: RequestFacts
  readonly #principal: Principal
  readonly #listeners: ((error: ServiceError) => void)[] = []
  #refusal: UnauthorizedRefusal | null = null
  /** Whether the body was incomplete at the end of the turn of the event loop in which authentication ended. */
  #isBodyLate = false
  #isReplying = false
  #isTakenOver = false

  constructor(rechecker: CredentialRechecker, response: Exchange, facts: RequestFacts, principal: Principal) {
    this.#rechecker = rechecker
    this.#response = response
    this.#facts = facts
    this.#principal = principal
    // A body that arrives together with the head is parsed after it, in the same turn of the event loop.
    setImmediate(() => {
      this.#isBodyLate = !response.req.complete
    })
    const forget = rechecker.watch(facts, principal, { onEnded: (refusal) => this.#end(refusal) })
    if (response.closed) forget()
    else onResponseClose(response, forget)
  }

  /** How a new request with this credential is refused, once the credential has ended. */
  get refusal(): UnauthorizedRefusal | null {
    return this.#refusal
  }

  /** Calls `run` when the credential has ended; at once if it has. */
  onEnd(run: (error: ServiceError) => void): void {
    if (this.#refusal) run(credentialEndedError())
    else this.#listeners.push(run)
  }

  /** As `onEnd`, unless the handler ends its response itself. */
  onCut(run: (error: ServiceError) => void): void {
    this.onEnd((error) => {
      if (!this.#isTakenOver) run(error)
    })
  }

  /** A signal that aborts at the end. The handler that takes it ends its response itself. */
  takeOver(): AbortSignal {
    this.#isTakenOver = true
    const controller = new AbortController()
    this.onEnd((error) => controller.abort(error))
    return controller.signal
  }

  /** Checks the credential now. @throws AUTHENTICATION_REQUIRED with `headers` */
  async confirm(headers: Headers = {}): Promise<void> {
    const refusal = this.#refusal ?? (await this.#rechecker.check(this.#facts, this.#principal))
    if (!refusal) return
    this.#end(refusal)
    throw credentialEndedError(headers)
  }

  /** Checks the credential once more if part of the body arrived after authentication. @throws AUTHENTICATION_REQUIRED */
  async confirmAfterBody(): Promise<void> {
    if (this.#refusal || this.#isBodyLate) await this.confirm()
  }

  /**
   * Waits for `work` as long as the credential is valid, and checks the credential once `work` is done.
   * @throws AUTHENTICATION_REQUIRED with `headers`
   */
  async whileValid<T>(work: Promise<T>, headers: Headers): Promise<T> {
    const ended = new Promise<never>((_resolve, reject) => this.onEnd(() => reject(credentialEndedError(headers))))
    const result = await Promise.race([work, ended])
    await this.confirm(headers)
    return result
  }

  /**
   * From now on the end cuts the response. A read that the credential has not outlived is refused; the answer to a write says what was done.
   * @throws AUTHENTICATION_REQUIRED
   */
  beginReply(body: unknown): void {
    this.#isReplying = true
    if (!this.#refusal || this.#isTakenOver || !isSafe(this.#response.req)) return
    if (body instanceof Readable) body.destroy()
    throw credentialEndedError()
  }

  #end(refusal: UnauthorizedRefusal): void {
    if (this.#refusal) return
    this.#refusal = refusal
    const { req } = this.#response
    if (!req.complete) {
      closeWithUnreadBody(req, this.#response)
      failBody(req, credentialEndedError())
    }
    for (const listener of this.#listeners.splice(0)) listener(credentialEndedError())
    if (this.#isReplying && !this.#isTakenOver) this.#response.destroy()
  }
}

function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

function credentialEndedError(headers: Headers = {}): ServiceError {
  return new ServiceError('AUTHENTICATION_REQUIRED', { message: 'The credential is no longer valid.', headers })
}
