// What the access settings mean together: how a start describes the trusted callers, and which settings contradict each other.
import type { IpRange } from '../net/ip-addresses.ts'
import { type AccessSettings, isLoopbackHost } from './access.ts'

/** One line: which callers are trusted by address alone, or which identity provider vouches for callers. */
export function describeAccessMode({
  identity_provider,
  trust_localhost,
  trust_local_networks,
}: AccessSettings): string {
  const trusted = [
    ...(trust_localhost ? ['on this machine'] : []),
    ...(trust_local_networks.length > 0 ? [`in ${trust_local_networks.map(formatRange).join(', ')}`] : []),
  ].join(' and ')
  if (identity_provider) {
    const { url } = identity_provider
    const besides = trusted && `; without a token, callers ${trusted} are the administrator`
    return `Identity provider ${url}, issuer ${url}/auth/v1${besides}`
  }
  if (!trusted) return 'Local mode: every caller needs a token, on this machine as well'
  return `Local mode: callers ${trusted} are the administrator, all others need a token`
}

function formatRange([address, bits]: IpRange): string {
  return `${address}/${bits}`
}

type AccessModeSettings = Pick<AccessSettings, 'identity_provider' | 'trusted_proxies'> & {
  readonly host: string
  readonly public_url: string | null
}

/** One sentence per warning. */
export function accessModeWarnings({
  identity_provider,
  trusted_proxies,
  host,
  public_url,
}: AccessModeSettings): string[] {
  const found: string[] = []
  if (identity_provider?.url.endsWith('/auth/v1'))
    found.push('IDP_URL must not end with /auth/v1: the server appends that path itself')
  const public_host = public_url && URL.parse(public_url)?.hostname
  if (public_host && !isOfThisMachine(public_host) && isLoopbackHost(host) && trusted_proxies.length === 0)
    found.push(
      `SVC_PUBLIC_URL names ${public_host} and the server listens on ${host}, so requests must come through a proxy, but SVC_TRUSTED_PROXIES is empty: callers behind the proxy may pass for callers on this machine`,
    )
  return found
}

/** `hostname`: as in URLs. */
function isOfThisMachine(hostname: string): boolean {
  return hostname.endsWith('.localhost') || isLoopbackHost(hostname.replace(/^\[|\]$/g, ''))
}
