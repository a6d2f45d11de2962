// Pure rules by which a caller without a token is the local user: its address, the requested host, and the origin of the page.
import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { IpRange } from '../net/ip-addresses.ts'
import type { RefusalCause } from './auth-verdict.ts'
import { type ClientAddress, isLoopbackAddress, isLoopbackText, isWithinAny } from './client-address.ts'
import { LOCAL_PRINCIPAL, NETWORK_PRINCIPAL, type Principal } from './principal.ts'
import type { RequestFacts } from './request-facts.ts'

export interface LocalTrustSettings {
  readonly trust_localhost: boolean
  readonly trust_local_networks: readonly IpRange[]
  readonly allowed_hosts: readonly string[]
  readonly allowed_origins: readonly string[]
  /** The URL at which the server is reached, as configured. Pages from there are its own. */
  readonly public_url: string | null
  readonly local_client_token: string | null
}

/** The local principal, or null if the caller needs a credential. */
export function resolveLocalPrincipal(
  facts: RequestFacts,
  client: ClientAddress,
  settings: LocalTrustSettings,
): Principal | null {
  // Without this check, all clients behind an untrusted proxy would be the local user, and so would users whose workflows this process runs.
  const principal = client.unbelieved || facts.own_request ? null : resolveByAddress(client, settings)
  if (!principal) return null
  if (!isHostAllowed(facts.host, settings.allowed_hosts)) return null
  return isOriginAllowed(facts, settings) || hasLocalClientToken(facts, settings) ? principal : null
}

/** The first rule that keeps a caller from being the local user. */
export function findLocalRefusalCause(
  facts: RequestFacts,
  client: ClientAddress,
  settings: LocalTrustSettings,
): RefusalCause {
  if (!resolveByAddress(client, settings)) return 'place'
  if (facts.own_request) return 'own_request'
  if (client.unbelieved) return 'forwarded'
  return isHostAllowed(facts.host, settings.allowed_hosts) ? 'origin' : 'host'
}

/** The principal of a client by its address, provided that the peer is the client or a trusted proxy. */
export function resolveByAddress(
  { address, forwarded }: ClientAddress,
  { trust_localhost, trust_local_networks }: Pick<LocalTrustSettings, 'trust_localhost' | 'trust_local_networks'>,
): Principal | null {
  if (trust_localhost && !forwarded && isLoopbackAddress(address)) return LOCAL_PRINCIPAL
  return isWithinAny(address, trust_local_networks) ? NETWORK_PRINCIPAL : null
}

/**
 * Whether a Host header names `localhost`, a `*.localhost` name, an IP literal, or a name of `allowed`, which is in lower case. This stops DNS
 * rebinding.
 */
export function isHostAllowed(host: string | null, allowed: readonly string[]): boolean {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^\s:/@?#[\]]+))(?::\d{1,5})?$/i.exec(host ?? '')
  if (!found) return false
  if (found[1] !== undefined) return isIP(found[1]) === 6
  const name = found[2]!.toLowerCase()
  return isLocalName(name) || isIP(name) === 4 || allowed.includes(name)
}

function isLocalName(name: string): boolean {
  return /^(?:[a-z0-9_-]+\.)*localhost$/.test(name)
}

/** The origin of an extension page in the three browser families: its id and nothing after it. */
const EXTENSION_ORIGIN = /^(?:chrome|moz|safari-web)-extension:\/\/[\w-]+$/

type OriginFacts = Pick<RequestFacts, 'origin' | 'host'>
type OriginSettings = Pick<LocalTrustSettings, 'allowed_origins' | 'public_url'>

/** Whether an origin is allowed: no origin, one of the server, of this machine, of a browser extension, or of the settings. */
export function isOriginAllowed({ origin, host }: OriginFacts, settings: OriginSettings): boolean {
  if (origin === null || origin === 'file://' || EXTENSION_ORIGIN.test(origin)) return true
  if (settings.allowed_origins.includes(origin)) return true
  const url = URL.parse(origin)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return false
  // An origin ends with its port: a longer value is not from a browser.
  if (url.origin !== origin.toLowerCase()) return false
  if (settings.public_url !== null && URL.parse(settings.public_url)?.origin === url.origin) return true
  return isLocalOrigin(url.hostname) || url.host === host?.toLowerCase()
}

function isLocalOrigin(hostname: string): boolean {
  return isLocalName(hostname) || isLoopbackText(hostname.replace(/^\[|\]$/g, ''))
}

/** A desktop window has the origin `null`, and sends the secret of its launch instead. */
export function hasLocalClientToken({ origin, local_client }: RequestFacts, settings: LocalTrustSettings): boolean {
  return origin === 'null' && isSameSecret(local_client, settings.local_client_token)
}

function isSameSecret(actual: string | null, expected: string | null): boolean {
  if (actual === null || expected === null) return false
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
