// Access tokens (`ntk_…`): minted by a person for a program, listed, revoked, and checked when they are sent.
// Who may mint one is said here as well; the last use is kept by last-uses.ts, their form by kept-tokens.ts.
import type { AccessToken, CreatedToken, CreateTokenRequest } from '../../generated/types.ts'
import {
  accessTokenById,
  accessTokensOf,
  countAccessTokens,
  deleteAccessToken,
  deleteExpiredAccessTokens,
  insertAccessToken,
} from '../db/access-tokens.ts'
import type { AccessTokenTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { instantOf } from './date-time.ts'
import { type KeptToken, KeptTokens } from './kept-tokens.ts'
import { LastUses, minuteOf } from './last-uses.ts'
import { isPerson, type Principal, type TokenScope } from './principal.ts'

export interface AccessTokenParts {
  readonly store: Store
  readonly platform: Platform
  readonly log: Log
  /** Whether a user is an administrator now. */
  readonly isAdministrator: (user_id: string) => boolean
}

interface Kept extends KeptToken {
  readonly principal: Principal
  /** Of its last use that was noted, in minutes since the epoch. */
  used: number
}

/** As many tokens an owner may have, expired ones left out. */
const MOST_TOKENS = 1_000
const DEFAULT_SCOPES: readonly TokenScope[] = ['read', 'write']
/** What RFC 3339 can write ends with the year 9999. */
const LAST_TIME = Date.UTC(10_000, 0) - 1

export class AccessTokens implements AsyncDisposable {
  readonly #parts: AccessTokenParts
  readonly #kept: KeptTokens<Kept>
  readonly #uses: LastUses

  constructor(parts: AccessTokenParts) {
    this.#parts = parts
    this.#uses = new LastUses(parts.store, parts.log)
    this.#kept = new KeptTokens('ntk', 'token', (id) => {
      const row = parts.store.read((tx) => accessTokenById(tx, id))
      return row ? keptOf(row, parts.isAdministrator(row.user_id)) : null
    })
  }

  /**
   * Makes a token that acts as `person` in its workspace.
   * @throws FORBIDDEN for a program, and for `admin` asked by somebody else than an administrator
   * @throws INVALID_REQUEST where `expires_at` is no time, INVALID_PARAMETERS where it is none in the future
   * @throws CONFLICT at 1,000 tokens
   */
  async mint(person: Principal, request: CreateTokenRequest): Promise<CreatedToken> {
    requirePerson(person)
    const scopes = request.scopes ?? DEFAULT_SCOPES
    if (scopes.includes('admin') && !person.administrator)
      throw new ServiceError('FORBIDDEN', { message: 'Only an administrator can mint a token with the scope admin.' })
    const { store, platform } = this.#parts
    const created_at = platform.timestamp()
    const { id, token, digest } = this.#kept.make(platform)
    const row: AccessTokenTable = {
      id,
      user_id: person.user_id,
      workspace_id: person.workspace_id,
      name: request.name,
      digest,
      scopes: JSON.stringify(scopes),
      created_at,
      expires_at: request.expires_at ? future(request.expires_at, platform.now()) : null,
      last_used_at: null,
    }
    await store.write((tx) => {
      makeRoom(tx, person, created_at)
      insertAccessToken(tx, row)
    })
    return { ...this.#record(row), token }
  }

  /** The person's own tokens, the newest first. @throws FORBIDDEN for a program */
  list(person: Principal): AccessToken[] {
    requirePerson(person)
    return this.#parts.store.read((tx) => accessTokensOf(tx, person)).map((row) => this.#record(row))
  }

  /**
   * Ends a token of the person's own: it is refused from now on. Its row is read again for the next request that brings it, whatever comes of this: one
   * that was damaged since it was last read is refused then.
   * @throws FORBIDDEN for a program
   * @throws NOT_FOUND
   * @throws DATA_DAMAGED where it is damaged
   */
  async revoke(person: Principal, id: string): Promise<void> {
    requirePerson(person)
    const deleting = this.#parts.store.write((tx) => deleteAccessToken(tx, person, id))
    const found = await deleting.finally(() => this.#kept.forget(id))
    if (!found) throw new ServiceError('NOT_FOUND', { message: 'The token does not exist.' })
  }

  /** Whom a token stands for at `now` (milliseconds); null where it is not good. */
  check(token: string, now: number): Principal | null {
    const kept = this.#kept.check(token, now)
    if (!kept) return null
    const minute = minuteOf(now)
    if (minute !== kept.used) {
      kept.used = minute
      this.#uses.note(kept.principal.token_id as string, minute)
    }
    return kept.principal
  }

  /** Whether there is a token with this id that is good at `now`. */
  isGood(id: string, now: number): boolean {
    return this.#kept.good(id, now) !== null
  }

  /** Whether a token that `check` did not take at `now` was good before. */
  hasEnded(token: string, now: number): boolean {
    return this.#kept.hasEnded(token, now)
  }

  #record({ id, name, scopes, workspace_id, created_at, expires_at, last_used_at }: AccessTokenTable): AccessToken {
    const used = this.#uses.of(id, last_used_at)
    return { id, name, scopes: scopesIn(scopes), workspace_id, created_at, expires_at, last_used_at: used }
  }

  /** Writes what is not written yet. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#uses[Symbol.asyncDispose]()
  }
}

/** A token that could mint tokens would outlive its own end. */
function requirePerson(principal: Principal): void {
  if (isPerson(principal)) return
  const message = 'Tokens are minted, listed and revoked by a signed-in or trusted person: a token cannot do it.'
  throw new ServiceError('FORBIDDEN', { message })
}

/** The time as UTC. */
function future(text: string, now: number): string {
  const path = '/body/expires_at'
  const at = instantOf(text)
  if (at === null) {
    const problem = { path, message: 'must match format "date-time"', code: 'format' }
    throw new ServiceError('INVALID_REQUEST', { message: `${path}: ${problem.message}`, problems: [problem] })
  }
  if (at > now && at <= LAST_TIME) return new Date(at).toISOString()
  const message = 'Some parts of the request cannot be accepted.'
  throw new ServiceError('INVALID_PARAMETERS', {
    message,
    problems: [{ path, message: 'must be a time in the future' }],
  })
}

function makeRoom(tx: Tx, owner: Scope, now: string): void {
  if (countAccessTokens(tx, owner) < MOST_TOKENS) return
  deleteExpiredAccessTokens(tx, owner, now)
  if (countAccessTokens(tx, owner) < MOST_TOKENS) return
  throw new ServiceError('CONFLICT', { message: `You have ${MOST_TOKENS} tokens. Revoke some first.` })
}

function keptOf(row: AccessTokenTable, administrator: boolean): Kept {
  const scopes = scopesIn(row.scopes)
  const expires_at = row.expires_at === null ? null : Date.parse(row.expires_at)
  const principal: Principal = {
    user_id: row.user_id,
    workspace_id: row.workspace_id,
    trusted_as: 'access_token',
    token_id: row.id,
    scopes,
    administrator: administrator && scopes.includes('admin'),
    app_id: null,
    expires_at,
  }
  const used = row.last_used_at === null ? -1 : minuteOf(Date.parse(row.last_used_at))
  return { digest: row.digest, expires_at, principal, used }
}

function scopesIn(json: string): TokenScope[] {
  return JSON.parse(json) as TokenScope[]
}
