// The audit log of credentials, refusals and administration: log lines with the member `audit`, at level info. They contain no token, secret or
// query, and refusals cannot fill the disk.
import { LRUCache } from 'lru-cache'
import type { Log } from '../log.ts'
import { truncateText } from '../shared/text-truncation.ts'
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

/** Further fields of a line: names, ids and numbers. */
export type AuditFields = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

export interface RefusedRequest {
  readonly facts: RequestFacts
  readonly method: string
  /** The reason that the caller got, or the error code, such as `FORBIDDEN` or `RATE_LIMITED`. */
  readonly reason: string
  /** Present if authentication failed. */
  readonly cause?: RefusalCause | undefined
  readonly request_id?: string | undefined
  /** The refused principal, if known. */
  readonly principal?: Principal | null | undefined
}

/** Lines of refusals in a window: of each caller, and of all. Known users have a quota of their own. */
const MAX_LINES_PER_CALLER = 5
const MAX_LINES = 20
const WINDOW_MS = 1_000
const MAX_PATH_LENGTH = 200
const MAX_HEADER_LENGTH = 100
/** A rate-limited caller is logged once in this interval, and this many callers are tracked. */
const LIMITED_LOG_INTERVAL_MS = 60_000
const MAX_LIMITED_CALLERS = 1_000
/** A part of a path of this length may be a secret, as in a share link: only its beginning is logged. */
const LONG_PART = /[\w%-]{24,}/g
/** A malformed target may contain a secret of any length after these: other query marks, parameters, or their escapes. */
const QUERY_LIKE = /(?:[?#&;=]|%(?:3f|23|26|3b|3d)).*$/is
/** `//user:password@` of an absolute target, which clients must not send (RFC 9110, section 4.2.4). */
const USER_INFORMATION = /\/\/[^/]*@/
const SHOWN_OF_PART = 8

/** The quota of lines in a window. */
class RefusalLineQuota {
  readonly #lines = new Map<string, number>()
  #written = 0

  /** Takes a line for a caller, if the quota has one left. */
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

  /** Records an action of `principal`. */
  recordAction(event: AuditEvent, principal: Principal, fields: AuditFields = {}): void {
    this.#log.info({ audit: event, ...principalFields(principal), ...fields }, 'audit')
  }

  /**
   * Records a refused request or upgrade: at most 5 lines a second for a caller and 20 for all, then the number of skipped lines. A rate-limited
   * caller gets a line a minute. Strangers are told apart as by the rate limiter, and have a quota apart from users.
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
    const principal_fields = principal ? principalFields(principal) : {}
    const reason_fields = { reason, ...(cause && { cause, ...headerFields(facts, cause) }) }
    this.#log.info(
      { audit: 'refused', ...reason_fields, ...this.#requestFields(facts, method), ...principal_fields, request_id },
      'audit',
    )
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

  /** Logs the number of lines skipped so far. */
  [Symbol.dispose](): void {
    this.#endWindow()
  }
}

function principalFields({ user_id, workspace_id, trusted_as, token_id }: Principal): AuditFields {
  return { user_id, workspace_id, trusted_as, by_token: token_id }
}

/** The header that caused the refusal. */
function headerFields({ host, origin, forwarded_by }: RequestFacts, cause: RefusalCause): AuditFields {
  if (cause === 'host') return { host: truncate(host) }
  if (cause === 'origin') return { origin: truncate(origin) }
  return cause === 'forwarded' ? { forwarded_by: truncate(forwarded_by) } : {}
}

function truncate(text: string | null): string | null {
  return text && truncateText(text, MAX_HEADER_LENGTH)
}

function redactPath(path: string): string {
  // Before the cut: a secret that is cut might be too short to be recognized.
  const shown = path
    .replace(USER_INFORMATION, '//…@')
    .replace(QUERY_LIKE, '…')
    .replaceAll(LONG_PART, (part) => `${part.slice(0, SHOWN_OF_PART)}…`)
  return truncateText(shown, MAX_PATH_LENGTH)
}
