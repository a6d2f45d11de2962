// One request as handlers see it, and its id.
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../../access/principal.ts'
import type { AppContext } from '../../context.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'
import type { Platform } from '../../platform.ts'

/** What a handler is handed besides the validated request. */
export interface RequestContext {
  readonly app: AppContext
  /** Who calls. Reading it in a public operation is a mistake of ours and throws. */
  readonly principal: Principal
  /** Whose turns and time slices the request takes, whether it has a principal or not. */
  readonly caller: string
  readonly request_id: string
  /** The request as it comes, for operations that read their body themselves. */
  readonly incoming: IncomingMessage
  /** The body as it came, for operations whose door is OpenAI's, and once; null where it is not UTF-8. */
  takeText(): Uint8Array | null
  /** Whether a signature in the query authorises the request, whoever makes it: then there is no principal. */
  readonly signed: boolean
  /** Which of these media types the client prefers; null for none (RFC 9110, section 12.5.1). The first is the default. */
  accepts<Type extends string>(types: readonly Type[]): Type | null
  /** Is told of what is large and held until the client takes it. Where too much is held for a caller, the answer breaks off. Made when it is asked for. */
  readonly reader: ResponseReader
  /** Aborts when the connection to the client is closed. */
  readonly signal: AbortSignal
  /** Aborts when the client has closed its own side of the connection. It may still read, or have gone: only a write tells. */
  readonly half_closed: AbortSignal
  /**
   * As `signal`, and also where the client has only closed its own side: it may have gone altogether, which shows when something is written, and not
   * before. For answers that cost something for as long as they are made.
   */
  readonly abandoned: AbortSignal
  /** Aborts when the caller's credential is no longer good, as long as the answer lasts. For answers that last. */
  readonly revoked: AbortSignal
}

/** The caller's `X-Request-Id` where it is 1–128 visible ASCII characters, else a new one. */
export function resolveRequestId(request: IncomingMessage, platform: Platform): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : platform.id('req')
}
