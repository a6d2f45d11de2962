// The settings that decide who may call, and how often.
import { isIP } from 'node:net'
import { type IpRange, isInRange, parseIpRange } from '../net/ip-addresses.ts'
import type { SettingsReader } from './settings-reader.ts'

export interface RateLimitSettings {
  rate_limit_disabled: boolean
  /** Requests per window and client address. */
  rate_limit_max: number
  rate_limit_window_ms: number
  /** Whether the limiter tells clients apart by `X-Forwarded-For`. */
  rate_limit_trust_proxy: boolean
}

export interface AccessSettings {
  /** The identity provider whose tokens are accepted; null: Local mode. */
  identity_provider: { readonly url: string; readonly key: string } | null
  /** Whether loopback callers are the local user. */
  trust_localhost: boolean
  /** Ranges and addresses of callers who are the local user; empty in identity-provider mode. */
  trust_local_networks: readonly IpRange[]
  /** Ranges and addresses of proxies whose `X-Forwarded-For` is believed. */
  trusted_proxies: readonly IpRange[]
  /** Users of the identity provider who are administrators. */
  admin_users: readonly string[]
  /** The credential of messaging bridges; null: bridges are off. */
  integration_token: string | null
  /** Host names in lower case. */
  allowed_hosts: readonly string[]
  /** As browsers write them. */
  allowed_origins: readonly string[]
  local_client_token: string | null
}

/** The minimum length of the bridges' credential, in characters. */
const SHORTEST_INTEGRATION_TOKEN = 16
/** Visible ASCII, which a header carries unchanged, and long enough that it cannot be guessed. */
const LOCAL_CLIENT_TOKEN = /^[\x21-\x7e]{16,}$/
/** A range with fewer bits is warned of as a large part of the internet: a provider's network has 32 bits of IPv6. */
const WIDEST_RANGE_BITS = { ipv4: 8, ipv6: 32 }
/** RFC 4193: addresses that are not part of the internet, however wide the range is. */
const UNIQUE_LOCAL = parseIpRange('fc00::/7')!

export function readRateLimitSettings(read: SettingsReader): RateLimitSettings {
  return {
    rate_limit_disabled: read.flag('SVC_RATE_LIMIT_DISABLED'),
    rate_limit_max: read.integer('SVC_RATE_LIMIT_MAX', 1, 1_000_000_000) ?? 1000,
    rate_limit_window_ms: read.integer('SVC_RATE_LIMIT_WINDOW_MS', 100, 86_400_000) ?? 60_000,
    rate_limit_trust_proxy: read.flag('SVC_RATE_LIMIT_TRUST_PROXY'),
  }
}

/** `host` is the address that the server listens on. */
export function readAccessSettings(
  read: SettingsReader,
  host: string,
  problems: string[],
  warnings: string[],
): AccessSettings {
  const identity_provider = readIdentityProvider(read, warnings)
  const trusted_proxies = readTrustedProxies(read, problems, warnings)
  const reached: ListenReach = { host, by_proxies: trusted_proxies.length > 0 }
  return {
    identity_provider,
    trust_localhost: read.boolean('SVC_TRUST_LOCALHOST') ?? identity_provider === null,
    trust_local_networks: readTrustedNetworks(read, identity_provider !== null, reached, problems, warnings),
    trusted_proxies,
    admin_users: readAdminUsers(read, identity_provider !== null, warnings),
    integration_token: readIntegrationToken(read, warnings),
    allowed_hosts: readAllowedHosts(read, problems),
    allowed_origins: readAllowedOrigins(read, problems),
    local_client_token: readLocalClientToken(read, problems),
  }
}

function readIdentityProvider(read: SettingsReader, warnings: string[]): AccessSettings['identity_provider'] {
  const [url, key] = [read.url('IDP_URL'), read.text('IDP_KEY')]
  if (url !== null && key !== null) return { url, key }
  const [there, missing] = read.text('IDP_URL') !== null ? ['IDP_URL', 'IDP_KEY'] : ['IDP_KEY', 'IDP_URL']
  if (read.text(there) !== null && read.text(missing) === null)
    warnings.push(
      `${there} is set without ${missing}: the server stays in Local mode, and no identity provider is asked`,
    )
  return null
}

/** How programs of other machines reach the server. */
interface ListenReach {
  readonly host: string
  readonly by_proxies: boolean
}

function readTrustedNetworks(
  read: SettingsReader,
  enforced: boolean,
  { host, by_proxies }: ListenReach,
  problems: string[],
  warnings: string[],
): readonly IpRange[] {
  const found = readRanges('SVC_TRUST_LOCAL_NETWORKS', read, problems)
  if (found.length > 0 && enforced) {
    warnings.push('SVC_TRUST_LOCAL_NETWORKS has no effect with an identity provider')
    return []
  }
  for (const { text, range } of found) {
    const behind = isLoopbackHost(host)
    if (!isWide(range) || (behind && !by_proxies)) continue
    const [way, everybody] = behind
      ? ['is behind SVC_TRUSTED_PROXIES', 'EVERYBODY WHO REACHES THOSE PROXIES']
      : [`listens on ${host}`, 'EVERYBODY WHO REACHES THIS PORT']
    warnings.push(
      `SVC_TRUST_LOCAL_NETWORKS holds ${text} and the server ${way}: ${everybody} IS THE ADMINISTRATOR, WITHOUT A PASSWORD; name only the networks that you trust`,
    )
  }
  return found.map(({ range }) => range)
}

function isWide([address, bits]: IpRange): boolean {
  if (bits >= UNIQUE_LOCAL[1] && isInRange(address, UNIQUE_LOCAL)) return false
  return bits < WIDEST_RANGE_BITS[address.kind()]
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function readTrustedProxies(read: SettingsReader, problems: string[], warnings: string[]): readonly IpRange[] {
  const found = readRanges('SVC_TRUSTED_PROXIES', read, problems)
  for (const { text, range } of found)
    if (isWide(range))
      warnings.push(
        `SVC_TRUSTED_PROXIES holds ${text}: every sender in it can forge its address with X-Forwarded-For; name only the proxies`,
      )
  return found.map(({ range }) => range)
}

function readRanges(name: string, read: SettingsReader, problems: string[]): { text: string; range: IpRange }[] {
  return read.list(name).flatMap((text) => {
    const range = text.includes('/') ? parseIpRange(text) : singleAddressRange(text)
    if (range) return [{ text, range }]
    problems.push(
      `${name} must be a list of addresses and of ranges such as 172.16.0.0/12${read.shownEntry(name, text)}`,
    )
    return []
  })
}

function singleAddressRange(text: string): IpRange | null {
  return parseIpRange(`${text}/${isIP(text) === 4 ? 32 : 128}`)
}

function readAdminUsers(read: SettingsReader, enforced: boolean, warnings: string[]): readonly string[] {
  const users = read.list('SVC_ADMIN_USERS')
  if (users.length > 0 && !enforced) warnings.push('SVC_ADMIN_USERS has no effect without an identity provider')
  return users
}

function readIntegrationToken(read: SettingsReader, warnings: string[]): string | null {
  const token = read.text('SVC_INTEGRATION_TOKEN')
  if (token === null || token.length >= SHORTEST_INTEGRATION_TOKEN) return token
  warnings.push(
    `SVC_INTEGRATION_TOKEN has fewer than ${SHORTEST_INTEGRATION_TOKEN} characters: integrations and delegated tokens stay off`,
  )
  return null
}

function readAllowedHosts(read: SettingsReader, problems: string[]): readonly string[] {
  return read.list('SVC_ALLOWED_HOSTS').flatMap((host) => {
    if (host.length <= 253 && /^[\w-]{1,63}(?:\.[\w-]{1,63})*$/.test(host)) return [host.toLowerCase()]
    const shown = read.shownEntry('SVC_ALLOWED_HOSTS', host)
    problems.push(`SVC_ALLOWED_HOSTS must be a list of host names without ports${shown}`)
    return []
  })
}

/** `scheme://host` or `scheme://host:port` (RFC 6454, section 6.2), as browsers send it. */
function readAllowedOrigins(read: SettingsReader, problems: string[]): readonly string[] {
  return read.list('SVC_ALLOWED_ORIGINS').flatMap((text) => {
    const origin = parseOrigin(text)
    if (origin !== null) return [origin]
    const shown = read.shownEntry('SVC_ALLOWED_ORIGINS', text)
    problems.push(
      `SVC_ALLOWED_ORIGINS must be a list of origins such as https://app.example:8443, without * and null${shown}`,
    )
    return []
  })
}

function parseOrigin(text: string): string | null {
  if (!/^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text)) return null
  const url = URL.parse(text)
  if (url === null) return null
  // Browsers send origins of schemes that the URL standard does not know, such as an app's own, unchanged.
  return url.origin === 'null' ? text : url.origin
}

// The problem names only the setting: its value may be most of a secret.
function readLocalClientToken(read: SettingsReader, problems: string[]): string | null {
  const token = read.text('SVC_LOCAL_CLIENT_TOKEN')
  if (token === null || LOCAL_CLIENT_TOKEN.test(token)) return token
  problems.push('SVC_LOCAL_CLIENT_TOKEN must be 16 or more characters of visible ASCII')
  return null
}
