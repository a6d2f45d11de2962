// One request as handlers see it, and its id.
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import type { Platform } from '../platform.ts'

/** What a handler is handed besides the validated request. */
export interface RequestContext {
  readonly app: AppContext
  /** Who calls. Reading it in a public operation is a mistake of ours and throws. */
  readonly principal: Principal
  readonly request_id: string
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
}

/** The caller's `X-Request-Id` where it is 1–128 visible ASCII characters, else a new one. */
export function requestId(request: IncomingMessage, platform: Platform): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : platform.id('req')
}
