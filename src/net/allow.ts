// What callers may reach beyond the public internet: the list that an operator writes, read and asked.
import { isIP } from 'node:net'
import { isPublic, isWithin, type Range, readAddress, readRange } from './addresses.ts'

interface Entry {
  /** A name in lower case, or null where the entry is a range of addresses. */
  readonly host: string | null
  readonly range: Range | null
  /** Null: any port that is not kept for something else than HTTP. */
  readonly port: number | null
}

const HIGHEST_PORT = 65_535
const NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

/** A host as it is compared: without brackets and the dot at its end, in lower case. */
export function bareHost(host: string): string {
  const name = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
}

/** `host:port` and `[address]:port` as their parts; an IPv6 address without brackets has no port. */
function splitPort(text: string): { host: string; port: number | null } | null {
  if (isIP(text) === 6) return { host: text, port: null }
  const [, host, digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (!host) return null
  const port = digits === undefined ? null : Number(digits)
  return port === null || (port >= 1 && port <= HIGHEST_PORT) ? { host, port } : null
}

function readEntry(text: string): Entry | null {
  if (text.includes('/')) {
    const range = readRange(text)
    return range && { host: null, range, port: null }
  }
  const parts = splitPort(text)
  if (!parts || parts.host.includes('%')) return null
  const { port } = parts
  const literal = bareHost(parts.host)
  const address = readAddress(literal)
  if (address) return { host: null, range: [address, address.toByteArray().length * 8], port }
  // The same parser as for the URLs of requests. What it takes for an address is one in an unusual spelling.
  const url = URL.parse(`http://${parts.host}/`)
  if (url?.href !== `http://${url?.host}/`) return null
  const host = bareHost(url.hostname)
  return NAME.test(host) && isIP(host) === 0 ? { host, range: null, port } : null
}

/** Whether an entry of `SVC_HTTP_NODE_ALLOW` is a range, an address, a host name, or one of the last two with a port. */
export function isAllowEntry(text: string): boolean {
  return readEntry(text) !== null
}

export class AllowList {
  readonly #entries: readonly Entry[]

  /** Throws where an entry is none: settings are checked before. */
  constructor(entries: readonly string[]) {
    this.#entries = entries.map((text) => {
      const entry = readEntry(text)
      if (!entry) throw new Error(`"${text}" is neither a range of addresses nor an address or host name`)
      return entry
    })
  }

  /** Whether a request to `host` and `port` may go to `address`, to which that host resolved. */
  permits(host: string, port: number, address: string): boolean {
    const read = readAddress(address)
    if (read === null) return false
    if (isPublic(read)) return true
    return this.#entries.some((entry) => {
      if (entry.port !== null && entry.port !== port) return false
      return entry.host === null ? isWithin(read, entry.range!) : entry.host === host
    })
  }

  /** Whether the list names this very host with this very port. */
  names(host: string, port: number): boolean {
    const address = readAddress(host)
    return this.#entries.some((entry) => {
      if (entry.port !== port) return false
      return entry.host === null ? address !== null && isWithin(address, entry.range!) : entry.host === host
    })
  }
}
