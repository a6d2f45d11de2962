// The addresses beyond the public internet that requests may reach. An operator writes the list; this module parses and checks it.
import { isIP } from 'node:net'
import { type IpRange, isInRange, isPublicAddress, parseIpAddress, parseIpRange } from '../ip-addresses.ts'

interface AllowListEntry {
  /** A host name in lower case. Null where the entry is a range of addresses. */
  readonly host: string | null
  readonly range: IpRange | null
  /** Null allows every port that is not reserved for another protocol than HTTP. */
  readonly port: number | null
}

const MAX_PORT = 65_535
const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

/** Normalizes a host for comparison: lower case, without brackets and without the final dot. */
export function normalizeHost(host: string): string {
  const name = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
}

/** Splits `host:port` and `[address]:port`. An IPv6 address without brackets has no port. */
function splitHostAndPort(text: string): { host: string; port: number | null } | null {
  if (isIP(text) === 6) return { host: text, port: null }
  const [, host, digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (!host) return null
  const port = digits === undefined ? null : Number(digits)
  return port === null || (port >= 1 && port <= MAX_PORT) ? { host, port } : null
}

function parseEntry(text: string): AllowListEntry | null {
  if (text.includes('/')) {
    const range = parseIpRange(text)
    return range && { host: null, range, port: null }
  }
  const parts = splitHostAndPort(text)
  if (!parts || parts.host.includes('%')) return null
  const { port } = parts
  const literal = normalizeHost(parts.host)
  const address = parseIpAddress(literal)
  if (address) return { host: null, range: [address, address.toByteArray().length * 8], port }
  // URLs of requests go through the same parser. A host that it reads as an address is an address in an unusual spelling.
  const url = URL.parse(`http://${parts.host}/`)
  if (url?.href !== `http://${url?.host}/`) return null
  const host = normalizeHost(url.hostname)
  return HOST_NAME.test(host) && isIP(host) === 0 ? { host, range: null, port } : null
}

/** Whether an entry of `SVC_HTTP_NODE_ALLOW` is a range, an address or a host name. Addresses and host names may have a port. */
export function isAllowListEntry(text: string): boolean {
  return parseEntry(text) !== null
}

export class AllowList {
  readonly #entries: readonly AllowListEntry[]

  /** @throws Error for an invalid entry; settings are validated earlier */
  constructor(entries: readonly string[]) {
    this.#entries = entries.map((text) => {
      const entry = parseEntry(text)
      if (!entry) throw new Error(`"${text}" is not a range of addresses, an address or a host name`)
      return entry
    })
  }

  /** Whether a request to `host` and `port` may connect to `address`. `host` has resolved to that address. */
  permits(host: string, port: number, address: string): boolean {
    const read = parseIpAddress(address)
    if (read === null) return false
    if (isPublicAddress(read)) return true
    return this.#entries.some((entry) => {
      if (entry.port !== null && entry.port !== port) return false
      return entry.host === null ? isInRange(read, entry.range!) : entry.host === host
    })
  }

  /** Whether the list names this host with this port. */
  listsHostAndPort(host: string, port: number): boolean {
    const address = parseIpAddress(host)
    return this.#entries.some((entry) => {
      if (entry.port !== port) return false
      return entry.host === null ? address !== null && isInRange(address, entry.range!) : entry.host === host
    })
  }
}
