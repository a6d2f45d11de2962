// Callers that are user "1" without a token, written by hand only from the documents of the interface. Imports nothing of the service.
import type { Case, Forwarded, Host, Mode, Origin } from './words.ts'

export interface Rules {
  identity_provider: boolean
  trust_localhost: boolean
  trust_network: 'own address' | '10.9.0.0/16' | null
  proxies: boolean
  names: boolean
  bridges: boolean
  down: boolean
}

const LOCAL: Rules = {
  identity_provider: false,
  // "default off when auth is enforced, on otherwise"
  trust_localhost: true,
  trust_network: null,
  proxies: false,
  names: false,
  bridges: false,
  down: false,
}
const PROVIDER: Rules = { ...LOCAL, identity_provider: true, trust_localhost: false }

export const RULES: Readonly<Record<Mode, Rules>> = {
  local: LOCAL,
  'local, localhost not trusted': { ...LOCAL, trust_localhost: false },
  'local, own address trusted': { ...LOCAL, trust_network: 'own address' },
  'local, behind proxies': { ...LOCAL, proxies: true, trust_network: '10.9.0.0/16' },
  'local, names allowed': { ...LOCAL, names: true },
  'local, with bridges': { ...LOCAL, bridges: true },
  'identity provider': PROVIDER,
  'identity provider, localhost trusted': { ...PROVIDER, trust_localhost: true },
  // "honored only in Local mode, ignored in identity-provider mode"
  'identity provider, networks and bridges': { ...PROVIDER, bridges: true },
  'identity provider, down': { ...PROVIDER, down: true },
}

/** Whether the rules of trust make the caller user "1"; null if the documents leave it open. */
export function isLocalUser(one: Case, rules: Rules): boolean | null {
  const trusted = isTrusted(one, rules)
  return trusted && hostFits(one.host, rules) && originFits(one.origin, rules)
}

/** An address with a port counts as that address, and an IPv4-mapped one as IPv4 (RFC 4291, section 2.5.5.2). */
const NAMING_THE_NETWORK: readonly Forwarded[] = [
  'network',
  'a stranger, network',
  'network, proxy',
  'network, with a port',
  'network, IPv4-mapped',
  'network, IPv4-mapped with a port',
  'network, in HTTP/1.0',
]

function isTrusted({ peer, forwarded }: Case, rules: Rules): boolean | null {
  const from_proxy = rules.proxies && peer === 'proxy'
  // The interface defines only X-Forwarded-For; the meaning of the other header, or of none, from a trusted proxy is open.
  if (from_proxy && (forwarded.startsWith('nobody') || forwarded === 'X-Forwarded-Anything')) return null
  if (from_proxy && forwarded.startsWith('Forwarded')) return null
  // Decided: neither is a peer of a trusted network, else a proxy there would make all callers user "1". A peer that speaks HTTP/1.0 is a proxy,
  // since nginx does that without forwarding headers.
  if (!from_proxy && forwarded !== 'nobody') return false
  // "read from the right, only from trusted proxies"; "a forwarded loopback address never counts as loopback"
  if (from_proxy) return NAMING_THE_NETWORK.includes(forwarded)
  if (peer === 'own address' || peer === 'own IPv6 address') return rules.trust_network === 'own address'
  return rules.trust_localhost
}

/** "`localhost`, a `*.localhost` name, an IP literal, or a name in `SVC_ALLOWED_HOSTS`"; names have no case (RFC 9110, section 4.2.3). */
function hostFits(host: Host, { names }: Rules): boolean {
  const table: Record<Host, boolean> = {
    localhost: true,
    LOCALHOST: true,
    'a name below localhost': true,
    'an IPv4 address': true,
    'an IPv6 address': true,
    'the allowed name': names,
    'another name': false,
    'a name that begins with localhost': false,
    'a name that begins with an address': false,
    // A request with two Host headers has no host (RFC 9112, section 3.2).
    'localhost, twice': false,
    'localhost and another name': false,
  }
  return table[host]
}

/** "the server's own, a localhost dev server, `file://`, a browser extension, or in `SVC_ALLOWED_ORIGINS`. `Origin: null` is refused." */
function originFits(origin: Origin, { names }: Rules): boolean {
  const table: Record<Origin, boolean> = {
    // "Clients that send no Origin are unaffected."
    none: true,
    'its own': true,
    'a dev server on localhost': true,
    'a file': true,
    'a browser extension': true,
    'the allowed origin': names,
    'another site': false,
    'a site that begins with localhost': false,
    null: false,
    // "instead adds the header `X-Svc-Local-Client` carrying the per-launch secret"
    'null, with the secret of the launch': names,
    'null, with another secret': false,
  }
  return table[origin]
}
