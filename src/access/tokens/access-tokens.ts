// Access tokens (`ntk_…`): minted by a person for a program, listed, revoked and verified. This file decides who may mint a token; last-used-times.ts
// keeps the last use, hashed-tokens.ts the format.
import type { AccessToken, CreatedToken, CreateTokenRequest } from '../../../generated/types.ts'
import {
  countAccessTokens,
  deleteAccessToken,
  deleteExpiredAccessTokens,
  findAccessToken,
  insertAccessToken,
  listAccessTokens,
} from '../../db/access-tokens.ts'
import type { Catalogue, StatementSteps } from '../../db/catalogue.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { AccessTokenTable } from '../../db/tables/users.ts'
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import { thenOrNow } from '../../shared/then-or-now.ts'
import { parseDateTime } from '../date-time.ts'
import { isPerson, type Principal, type TokenScope } from '../principal.ts'
import { type HashedToken, HashedTokenStore } from './hashed-tokens.ts'
import { LastUsedTimes, minuteOf } from './last-used-times.ts'

export interface AccessTokenDependencies {
  readonly catalogue: Catalogue
  readonly platform: Platform
  readonly log: Log
  /** Whether a user is an administrator now. */
  readonly isAdministrator: (user_id: string) => boolean
}

interface CachedAccessToken extends HashedToken {
  readonly principal: Principal
  /** The last recorded use, in minutes since the epoch. */
  last_used_minute: number
}

/** Tokens that an owner may have, without expired ones. */
const MAX_TOKENS = 1_000
const DEFAULT_SCOPES: readonly TokenScope[] = ['read', 'write']
/** The last time that RFC 3339 can express, in the year 9999. */
const MAX_EXPIRY_MS = Date.UTC(10_000, 0) - 1

export class AccessTokenService implements AsyncDisposable {
  readonly #dependencies: AccessTokenDependencies
  readonly #tokens: HashedTokenStore<CachedAccessToken>
  readonly #lastUsedTimes: LastUsedTimes

  constructor(parts: AccessTokenDependencies) {
    this.#dependencies = parts
    this.#lastUsedTimes = new LastUsedTimes(parts.catalogue, parts.log)
    this.#tokens = new HashedTokenStore('ntk', 'token', async (id) => {
      const row = await parts.catalogue.read(() => findAccessToken(id))
      return row ? toCachedToken(row, parts.isAdministrator(row.user_id)) : null
    })
  }

  /**
   * Mints a token that acts as `person` in its workspace.
   * @throws FORBIDDEN for a program, and for the scope `admin` if the person is no administrator
   * @throws INVALID_REQUEST if `expires_at` is no time, INVALID_PARAMETERS if it is not in the future
   * @throws CONFLICT at 1,000 tokens
   */
  async mint(person: Principal, request: CreateTokenRequest): Promise<CreatedToken> {
    requirePerson(person)
    const scopes = request.scopes ?? DEFAULT_SCOPES
    // With an identity provider, the local user is an administrator at this machine alone: its tokens are not.
    const { isAdministrator } = this.#dependencies
    if (scopes.includes('admin') && !(person.administrator && isAdministrator(person.user_id)))
      throw new ServiceError('FORBIDDEN', { message: 'Only an administrator can mint a token with the scope admin.' })
    const { catalogue, platform } = this.#dependencies
    const created_at = platform.timestamp()
    const { id, token, digest } = this.#tokens.generate(platform)
    const row: AccessTokenTable = {
      id,
      user_id: person.user_id,
      workspace_id: person.workspace_id,
      name: request.name,
      digest,
      scopes: JSON.stringify(scopes),
      created_at,
      expires_at: request.expires_at ? parseFutureTime(request.expires_at, platform.now()) : null,
      last_used_at: null,
    }
    await catalogue.write(function* () {
      yield* enforceTokenLimit(person, created_at)
      yield* insertAccessToken(row)
    })
    return { ...this.#record(row), token }
  }

  /**
   * The person's own tokens, newest first.
   * @throws FORBIDDEN for a program
   */
  async list(person: Principal): Promise<AccessToken[]> {
    requirePerson(person)
    const rows = await this.#dependencies.catalogue.read(() => listAccessTokens(person))
    return rows.map((row) => this.#record(row))
  }

  /**
   * Revokes a token of the person: it is refused from now on. Even if this fails, the cached row is dropped, so that a row that was damaged meanwhile
   * is refused at the next request.
   * @throws FORBIDDEN for a program
   * @throws NOT_FOUND
   * @throws DATA_DAMAGED if the row is damaged
   */
  async revoke(person: Principal, id: string): Promise<void> {
    requirePerson(person)
    const deleting = this.#dependencies.catalogue.write(() => deleteAccessToken(person, id))
    const existed = await deleting.finally(() => this.#tokens.invalidate(id))
    if (!existed) throw new ServiceError('NOT_FOUND', { message: 'The token does not exist.' })
  }

  /** The principal of a token at `now` (milliseconds); null if the token is not valid. Returns at once if the token is cached. */
  verify(token: string, now: number): Principal | null | Promise<Principal | null> {
    return thenOrNow(this.#tokens.verify(token, now), (kept) => this.#use(kept, now))
  }

  #use(cached: CachedAccessToken | null, now: number): Principal | null {
    if (!cached) return null
    const minute = minuteOf(now)
    if (minute !== cached.last_used_minute) {
      cached.last_used_minute = minute
      this.#lastUsedTimes.record(cached.principal.token_id as string, minute)
    }
    return cached.principal
  }

  /** Whether a token with this id is valid at `now`. */
  async isValid(id: string, now: number): Promise<boolean> {
    return (await this.#tokens.findValid(id, now)) !== null
  }

  /** Whether a token that is not valid at `now` was valid before. */
  hasExpired(token: string, now: number): boolean {
    return this.#tokens.hasExpired(token, now)
  }

  #record({ id, name, scopes, workspace_id, created_at, expires_at, last_used_at }: AccessTokenTable): AccessToken {
    const used = this.#lastUsedTimes.resolve(id, last_used_at)
    return { id, name, scopes: parseScopes(scopes), workspace_id, created_at, expires_at, last_used_at: used }
  }

  /** Writes pending uses. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lastUsedTimes[Symbol.asyncDispose]()
  }
}

/** A token that could mint tokens would outlive its own end. */
function requirePerson(principal: Principal): void {
  if (isPerson(principal)) return
  const message = 'Only a signed-in or trusted person can mint, list and revoke tokens. A token cannot.'
  throw new ServiceError('FORBIDDEN', { message })
}

/** The time as UTC. */
function parseFutureTime(text: string, now: number): string {
  const path = '/body/expires_at'
  const at = parseDateTime(text)
  if (at === null) {
    const problem = { path, message: 'must match format "date-time"', code: 'format' }
    throw new ServiceError('INVALID_REQUEST', { message: `${path}: ${problem.message}`, problems: [problem] })
  }
  if (at > now && at <= MAX_EXPIRY_MS) return new Date(at).toISOString()
  const message = 'Some parts of the request cannot be accepted.'
  throw new ServiceError('INVALID_PARAMETERS', {
    message,
    problems: [{ path, message: 'must be a time in the future' }],
  })
}

function* enforceTokenLimit(owner: OwnerScope, now: string): StatementSteps<void> {
  if ((yield* countAccessTokens(owner)) < MAX_TOKENS) return
  yield* deleteExpiredAccessTokens(owner, now)
  if ((yield* countAccessTokens(owner)) < MAX_TOKENS) return
  throw new ServiceError('CONFLICT', { message: `You have ${MAX_TOKENS} tokens. Revoke some first.` })
}

function toCachedToken(row: AccessTokenTable, administrator: boolean): CachedAccessToken {
  const scopes = parseScopes(row.scopes)
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
  return { digest: row.digest, expires_at, principal, last_used_minute: used }
}

function parseScopes(json: string): TokenScope[] {
  return JSON.parse(json) as TokenScope[]
}
