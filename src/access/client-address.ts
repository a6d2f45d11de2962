// Finds the address of a client: the peer of the socket, or the address that a trusted proxy names.
import { isIP } from 'node:net'
import { type IpAddress, type IpRange, isInRange, parseIpRange } from '../net/ip-addresses.ts'
import type { RequestFacts } from './request-facts.ts'

export interface ClientAddress {
  /** Null if no trusted source names an address, or the value is no address, or a loopback address. */
  readonly address: IpAddress | null
  /** Whether a trusted proxy stands between the client and this server. Such a client is never on this machine. */
  readonly forwarded: boolean
  /** Whether the peer is a proxy that the settings do not trust, so that its client is unknown. */
  readonly unbelieved: boolean
}

/**
 * The client's address. A trusted proxy is never the client, even if it names none; for every other peer, the client is the peer, whatever the
 * headers say. Users write the headers of requests that this process sends for them, so these count only after a trusted proxy has added to them.
 */
export function resolveClientAddress(
  facts: Pick<RequestFacts, 'peer' | 'own_connection' | 'forwards' | 'forwarded_for'>,
  proxies: readonly IpRange[],
): ClientAddress {
  const peer = facts.peer === null ? null : parseCachedAddress(facts.peer)
  if (!isWithinAny(peer, proxies)) return { address: peer, forwarded: false, unbelieved: facts.forwards }
  const forwarded_for = facts.own_connection ? null : facts.forwarded_for
  return { address: parseForwardedFor(forwarded_for, proxies), forwarded: true, unbelieved: false }
}

export function isWithinAny(address: IpAddress | null, ranges: readonly IpRange[]): boolean {
  return address !== null && ranges.some((range) => isInRange(address, range))
}

/**
 * The first address from the right of `X-Forwarded-For` that is no proxy's; the leftmost if all are. Null if that entry is no address, since entries
 * left of it are not trusted. Also null for a loopback address, which does not say where the client is.
 */
export function parseForwardedFor(list: string | null, proxies: readonly IpRange[]): IpAddress | null {
  let last: IpAddress | null = null
  for (const entry of (list ?? '').split(',').reverse()) {
    last = parseForwardedEntry(entry.trim())
    if (!isWithinAny(last, proxies)) break
  }
  return isLoopbackAddress(last) ? null : last
}

/** `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`. */
function parseForwardedEntry(entry: string): IpAddress | null {
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1]
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? parseCachedAddress(bracketed) : null
  return parseCachedAddress(/^([\d.]+):\d{1,5}$/.exec(entry)?.[1] ?? entry)
}

/**
 * Parses an address; null if it is none. An IPv4-mapped address becomes IPv4 (RFC 4291, section 2.5.5.2). A zone is dropped: it has meaning only for
 * its writer. A NAT64 address stays as it is: its translator is not trusted.
 */
function parseCachedAddress(text: string): IpAddress | null {
  const known = addressCache.get(text)
  if (known !== undefined) return known
  const address = readAddress(text)
  if (addressCache.size >= MAX_CACHED_ADDRESSES) addressCache.clear()
  addressCache.set(text, address)
  return address
}

/** Callers repeat, and so do their addresses. */
const addressCache = new Map<string, IpAddress | null>()
const MAX_CACHED_ADDRESSES = 1_000

function readAddress(text: string): IpAddress | null {
  const family = isIP(text)
  if (family === 4) return parseIpRange(`${text}/32`)?.[0] ?? null
  return family === 6 ? (parseIpRange(`${text.split('%', 1)[0]}/128`)?.[0] ?? null) : null
}

const LOOPBACK_RANGES = ['127.0.0.0/8', '::1/128'].map(parseIpRange).filter((range) => range !== null)

/** 127.0.0.0/8 and ::1, the IPv4-mapped forms included. */
export function isLoopbackAddress(address: IpAddress | null): boolean {
  return isWithinAny(address, LOOPBACK_RANGES)
}

/** As `isLoopbackAddress`, for text. */
export function isLoopbackText(address: string | null): boolean {
  return address !== null && isLoopbackAddress(parseCachedAddress(address))
}
