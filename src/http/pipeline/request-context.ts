// The context of a request for its handler, and the request id.
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../../access/principal.ts'
import type { AppContext } from '../../context.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'
import type { Platform } from '../../platform.ts'

/** The context that a handler gets besides the validated request. */
export interface RequestContext {
  readonly app: AppContext
  /** The caller. To read it in a public operation is a bug, and throws. */
  readonly principal: Principal
  /** The key of the caller for turns and time slices, with or without a principal. */
  readonly caller: string
  readonly request_id: string
  /** The raw request, for operations that read their body themselves. */
  readonly incoming: IncomingMessage
  /** The bytes of the body, for operations of the OpenAI endpoints; can be taken once. Null if they are not UTF-8. */
  takeText(): Uint8Array | null
  /** Whether a signature in the query authorises the request. Such a request has no principal. */
  readonly signed: boolean
  /** The media type that the client prefers; null if it accepts none (RFC 9110, section 12.5.1). The first is the default. */
  accepts<Type extends string>(types: readonly Type[]): Type | null
  /** Accounts for large data that is held until the client takes it. If a caller holds too much, the response breaks off. Created on first use. */
  readonly reader: ResponseReader
  /** Aborts when the connection to the client is closed, and when the caller's credential is no longer valid, unless the handler takes `revoked`. */
  readonly signal: AbortSignal
  /** Aborts when the client has half-closed the connection. The client may still read, or be gone, which only a write reveals. */
  readonly half_closed: AbortSignal
  /**
   * As `signal`, and also when the client half-closes: it may be gone, which shows only when the server writes. For responses that cost something as
   * long as they are made.
   */
  readonly abandoned: AbortSignal
  /** Aborts when the caller's credential is no longer valid. A handler that takes it ends its response itself; any other response is cut. */
  readonly revoked: AbortSignal
  /** Checks the caller's credential again: before something is stored after a wait. @throws AUTHENTICATION_REQUIRED */
  confirmCredential(): Promise<void>
  /** Waits for `work` as long as the caller's credential is valid, and checks it at the end. @throws AUTHENTICATION_REQUIRED with `headers` */
  whileAuthenticated<T>(work: Promise<T>, headers?: Readonly<Record<string, string>>): Promise<T>
}

/** The caller's `X-Request-Id` where it is 1–128 visible ASCII characters, else a new one. */
export function resolveRequestId(request: IncomingMessage, platform: Platform): string {
  const header = request.headers['x-request-id']
  return typeof header === 'string' && /^[\x21-\x7e]{1,128}$/.test(header) ? header : platform.id('req')
}
