// Shared by the tests of tokens: a clock that the test controls, all kinds of tokens over one store, and damaged tokens.
import { randomInt } from 'node:crypto'
import { LOCAL_PRINCIPAL, type Principal } from '../../src/access/principal.ts'
import {
  createTokenServices,
  createTokenVerifiers,
  type TokenServices,
  type TokenSettings,
} from '../../src/access/tokens/token-services.ts'
import { SqliteCatalogue } from '../../src/db/catalogue.ts'
import type { Store } from '../../src/db/store.ts'
import { createLog } from '../../src/log.ts'
import { type Platform, systemPlatform } from '../../src/platform.ts'
import { Vault } from '../../src/vault/vault.ts'

export const START = Date.UTC(2026, 0, 15, 9, 30)
export const HOUR_MS = 3_600_000

/** A user who signed in. */
export const ADA: Principal = {
  ...LOCAL_PRINCIPAL,
  user_id: 'ada',
  workspace_id: 'red',
  trusted_as: 'identity_provider',
  administrator: false,
}

export const LOCAL_MODE: TokenSettings = { identity_provider: null, admin_users: [], integration_token: null }
export const WITH_PROVIDER: TokenSettings = { ...LOCAL_MODE, identity_provider: {} }

/** A page of another site, which is not trusted without a token. */
export const ELSEWHERE = { Origin: 'http://elsewhere.example' }

export function bearer(token: string): Record<string, string> {
  return { ...ELSEWHERE, Authorization: `Bearer ${token}` }
}

export interface Clock extends Platform {
  ms: number
}

export function clock(ms = START): Clock {
  const it: Clock = {
    ...systemPlatform(),
    ms,
    now: () => it.ms,
    timestamp: () => new Date(it.ms).toISOString(),
  }
  return it
}

interface Given {
  settings?: TokenSettings
  platform?: Platform
  master?: string
  publicUrl?: () => string
}

/** Combined as by the server. */
export function tokensOver(store: Store, { settings = LOCAL_MODE, platform = clock(), ...given }: Given = {}) {
  const vault = new Vault(Buffer.from(given.master ?? 'a master key of one test'))
  const publicUrl = given.publicUrl ?? (() => 'https://svc.example')
  const tokens: TokenServices = createTokenServices(settings, {
    catalogue: new SqliteCatalogue(store),
    platform,
    vault,
    log: createLog('silent'),
    publicUrl,
  })
  return { ...tokens, checks: createTokenVerifiers(settings, tokens) }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** A token with one fault: a changed, missing, extra or swapped character. */
export function damaged(token: string): string {
  for (;;) {
    const at = randomInt(token.length)
    const other = ALPHABET[randomInt(ALPHABET.length)]!
    const [before, after] = [token.slice(0, at), token.slice(at + 1)]
    const forms = [before + other + after, before + after, before + other + token[at] + after, swapped(token, at)]
    const form = forms[randomInt(forms.length)]!
    if (form !== token) return form
  }
}

function swapped(token: string, at: number): string {
  return token.slice(0, at) + (token[at + 1] ?? '') + token[at] + token.slice(at + 2)
}
