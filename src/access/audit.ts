// The audit log: who handed out or took back what, who was refused, and what was administered. Lines of the log with the member `audit`,
// at the level info. They never hold a token, a secret or a query, and refusals cannot fill the disk.
import { LRUCache } from 'lru-cache'
import type { Log } from '../log.ts'
import type { Range } from '../net/addresses.ts'
import { clientOf } from './client.ts'
import type { RequestFacts } from './facts.ts'
import type { Principal } from './principal.ts'

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

export interface Refused {
  readonly facts: RequestFacts
  readonly method: string
  /** As the caller was told it, or the code of the error, such as `FORBIDDEN` or `RATE_LIMITED`. */
  readonly reason: string
  readonly request_id?: string | undefined
  /** Who was refused, where that is known. */
  readonly principal?: Principal | null | undefined
}

/** Lines of refusals in one window: of one address, and of all. */
const LINES_PER_ADDRESS = 5
const LINES = 20
const WINDOW_MS = 1_000
const LONGEST_PATH = 200
/** A caller who is beyond its limit goes on calling: it is told of once in this time, and of so many callers it is known. */
const LIMITED_AGAIN_MS = 60_000
const LIMITED_KNOWN = 1_000
/** So long a part of a path may be a secret, such as that of a share link: its beginning says which path it was. */
const LONG_PART = /[\w-]{24,}/g
const SHOWN_OF_PART = 8

export class Audit implements Disposable {
  readonly #log: Log
  readonly #proxies: readonly Range[]
  /** Lines of the present window by address. */
  readonly #lines = new Map<string, number>()
  readonly #limited = new LRUCache<string, true>({ max: LIMITED_KNOWN, ttl: LIMITED_AGAIN_MS })
  #written = 0
  #left_out = 0
  #timer: NodeJS.Timeout | null = null

  constructor(log: Log, trusted_proxies: readonly Range[]) {
    this.#log = log
    this.#proxies = trusted_proxies
  }

  /** Something that `principal` did. */
  did(event: AuditEvent, principal: Principal, fields: AuditFields = {}): void {
    this.#log.info({ audit: event, ...who(principal), ...fields }, 'audit')
  }

  /**
   * A request or an upgrade was refused. At most 5 lines a second for one address and 20 for all, and then how many were left out;
   * of the rate limit, one line a minute for an address.
   */
  refused({ facts, method, reason, request_id, principal }: Refused): void {
    const where = this.#where(facts, method)
    if (reason === 'RATE_LIMITED') {
      if (this.#limited.has(where.client)) return
      this.#limited.set(where.client, true)
    }
    this.#timer ??= setTimeout(() => this.#endWindow(), WINDOW_MS).unref()
    const lines = this.#lines.get(where.client) ?? 0
    if (lines >= LINES_PER_ADDRESS || this.#written >= LINES) {
      this.#left_out++
      return
    }
    this.#lines.set(where.client, lines + 1)
    this.#written++
    const by = principal ? who(principal) : {}
    this.#log.info({ audit: 'refused', reason, ...where, ...by, request_id }, 'audit')
  }

  #where(facts: RequestFacts, method: string) {
    const client = clientOf(facts, this.#proxies).address?.toString() ?? facts.peer ?? 'unknown'
    return { client, transport: facts.transport, method, path: shownPath(facts.path) }
  }

  #endWindow(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#lines.clear()
    this.#written = 0
    if (this.#left_out === 0) return
    this.#log.info({ audit: 'refusals_left_out', count: this.#left_out }, 'audit')
    this.#left_out = 0
  }

  /** Says what was left out so far. */
  [Symbol.dispose](): void {
    this.#endWindow()
  }
}

function who({ user_id, workspace_id, trusted_as, token_id }: Principal): AuditFields {
  return { user_id, workspace_id, trusted_as, by_token: token_id }
}

function shownPath(path: string): string {
  const shown = path.slice(0, LONGEST_PATH).replaceAll(LONG_PART, (part) => `${part.slice(0, SHOWN_OF_PART)}…`)
  return path.length > LONGEST_PATH ? `${shown}…` : shown
}
