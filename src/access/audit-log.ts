// The audit log: who handed out or took back what, who was refused, and what was administered. Lines of the log with the member `audit`,
// at the level info. They never hold a token, a secret or a query, and refusals cannot fill the disk.
import { LRUCache } from 'lru-cache'
import type { Log } from '../log.ts'
import type { RefusalCause } from './auth-verdict.ts'
import { resolveClientAddress } from './client-address.ts'
import type { Principal } from './principal.ts'
import { clientKey, type RateLimiterSettings } from './rate-limiter.ts'
import type { RequestFacts } from './request-facts.ts'

export type AuditEvent =
  | 'token_minted'
  | 'token_revoked'
  | 'secret_set'
  | 'secret_deleted'
  | 'settings_changed'
  | 'administrative_call'
  | 'refused'
  | 'refusals_left_out'

/** What a line says besides: names, ids and numbers. */
export type AuditFields = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

export interface RefusedRequest {
  readonly facts: RequestFacts
  readonly method: string
  /** As the caller was told it, or the code of the error, such as `FORBIDDEN` or `RATE_LIMITED`. */
  readonly reason: string
  /** Why the caller was not let in, where that is what happened. */
  readonly cause?: RefusalCause | undefined
  readonly request_id?: string | undefined
  /** Who was refused, where that is known. */
  readonly principal?: Principal | null | undefined
}

/** Lines of refusals in one window: of one caller, and of all. Those who are known have as many for themselves. */
const MAX_LINES_PER_CALLER = 5
const MAX_LINES = 20
const WINDOW_MS = 1_000
const MAX_PATH_LENGTH = 200
const MAX_HEADER_LENGTH = 100
/** A caller who is beyond its limit goes on calling: it is told of once in this time, and of so many callers it is known. */
const LIMITED_LOG_INTERVAL_MS = 60_000
const MAX_LIMITED_CALLERS = 1_000
/** So long a part of a path may be a secret, such as that of a share link: its beginning says which path it was. */
const LONG_PART = /[\w%-]{24,}/g
/** What a secret of any length stands behind where a target is malformed: a query by another sign, parameters, or their escapes. */
const QUERY_LIKE = /(?:[?#&;=]|%(?:3f|23|26|3b|3d)).*$/is
/** `//user:password@` of a target that is no URL which anybody should send (RFC 9110, section 4.2.4). */
const USER_INFORMATION = /\/\/[^/]*@/
const SHOWN_OF_PART = 8

/** The room of one window for lines of some callers. */
class RefusalLineQuota {
  readonly #lines = new Map<string, number>()
  #written = 0

  /** Takes one line of a caller's, where there is room. */
  take(caller: string): boolean {
    const lines = this.#lines.get(caller) ?? 0
    if (lines >= MAX_LINES_PER_CALLER || this.#written >= MAX_LINES) return false
    this.#lines.set(caller, lines + 1)
    this.#written++
    return true
  }

  clear(): void {
    this.#lines.clear()
    this.#written = 0
  }
}

type AuditSettings = Pick<RateLimiterSettings, 'trusted_proxies' | 'rate_limit_trust_proxy'>

export class AuditLog implements Disposable {
  readonly #log: Log
  readonly #settings: AuditSettings
  readonly #strangerQuota = new RefusalLineQuota()
  readonly #userQuota = new RefusalLineQuota()
  readonly #limited = new LRUCache<string, true>({ max: MAX_LIMITED_CALLERS, ttl: LIMITED_LOG_INTERVAL_MS })
  #skipped = 0
  #timer: NodeJS.Timeout | null = null

  constructor(log: Log, settings: AuditSettings) {
    this.#log = log
    this.#settings = settings
  }

  /** Something that `principal` did. */
  recordAction(event: AuditEvent, principal: Principal, fields: AuditFields = {}): void {
    this.#log.info({ audit: event, ...principalFields(principal), ...fields }, 'audit')
  }

  /**
   * A request or an upgrade was refused. At most 5 lines a second for one caller and 20 for all, and then how many were left out;
   * of the rate limit, one line a minute for a caller. Strangers are told apart as the limiter does it, and leave room for users.
   */
  recordRefusal({ facts, method, reason, cause, request_id, principal = null }: RefusedRequest): void {
    const caller = principal ? `user ${principal.user_id}` : (clientKey(facts, this.#settings) ?? 'this machine')
    const limited = reason === 'RATE_LIMITED'
    if (limited && this.#limited.has(caller)) return
    this.#timer ??= setTimeout(() => this.#endWindow(), WINDOW_MS).unref()
    if (!(principal ? this.#userQuota : this.#strangerQuota).take(caller)) {
      this.#skipped++
      return
    }
    if (limited) this.#limited.set(caller, true)
    const by = principal ? principalFields(principal) : {}
    const why = { reason, ...(cause && { cause, ...headerFields(facts, cause) }) }
    this.#log.info({ audit: 'refused', ...why, ...this.#requestFields(facts, method), ...by, request_id }, 'audit')
  }

  #requestFields(facts: RequestFacts, method: string) {
    const client =
      resolveClientAddress(facts, this.#settings.trusted_proxies).address?.toString() ?? facts.peer ?? 'unknown'
    return { client, transport: facts.transport, method, path: redactPath(facts.path) }
  }

  #endWindow(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#strangerQuota.clear()
    this.#userQuota.clear()
    if (this.#skipped === 0) return
    this.#log.info({ audit: 'refusals_left_out', count: this.#skipped }, 'audit')
    this.#skipped = 0
  }

  /** Says what was left out so far. */
  [Symbol.dispose](): void {
    this.#endWindow()
  }
}

function principalFields({ user_id, workspace_id, trusted_as, token_id }: Principal): AuditFields {
  return { user_id, workspace_id, trusted_as, by_token: token_id }
}

/** The header that a caller is refused for. */
function headerFields({ host, origin, forwarded_by }: RequestFacts, cause: RefusalCause): AuditFields {
  if (cause === 'host') return { host: truncate(host) }
  if (cause === 'origin') return { origin: truncate(origin) }
  return cause === 'forwarded' ? { forwarded_by: truncate(forwarded_by) } : {}
}

function truncate(text: string | null): string | null {
  return text === null || text.length <= MAX_HEADER_LENGTH ? text : `${text.slice(0, MAX_HEADER_LENGTH)}…`
}

function redactPath(path: string): string {
  // The whole path first: where it is cut, a secret may be shorter than one.
  const shown = path
    .replace(USER_INFORMATION, '//…@')
    .replace(QUERY_LIKE, '…')
    .replaceAll(LONG_PART, (part) => `${part.slice(0, SHOWN_OF_PART)}…`)
  return shown.length > MAX_PATH_LENGTH ? `${shown.slice(0, MAX_PATH_LENGTH)}…` : shown
}
