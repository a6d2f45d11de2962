// Where a request comes from: the peer of the socket, or whom a trusted proxy names.
import { isIP } from 'node:net'
import { type IpAddress, type IpRange, isInRange, parseIpRange } from '../net/ip-addresses.ts'
import type { RequestFacts } from './request-facts.ts'

export interface ClientAddress {
  /** Null where nobody says it who is believed, or where what is said is no address, or a loopback address. */
  readonly address: IpAddress | null
  /** Whether a trusted proxy stands between the client and this server. Such a client is never on this machine. */
  readonly forwarded: boolean
  /** Whether the peer forwards for somebody and nobody said that it may: whom it speaks for is not known. */
  readonly unbelieved: boolean
}

/**
 * Who asks. A peer that is a trusted proxy never asks for itself, also where it does not say for whom it does; of every other
 * peer the address is that of its socket, whatever its headers say. Users write the headers of requests that this process sends for them:
 * what those say is believed of no peer, unless a proxy has added to them on the way.
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
 * The first address from the right of `X-Forwarded-For` that is no proxy's; the leftmost where all are. Null where what stands
 * there is no address: nothing to the left of it is believed. Null as well for a loopback address, which says nothing of where
 * the client is.
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
 * Reads an address; null where it is none. An IPv4-mapped one is its IPv4 address (RFC 4291, section 2.5.5.2). A zone is left
 * out: it names a cable of whoever wrote it. An address of NAT64 stays what it is: no translator vouches for whom it carries.
 */
function parseCachedAddress(text: string): IpAddress | null {
  const known = addressCache.get(text)
  if (known !== undefined) return known
  const address = readAddress(text)
  if (addressCache.size >= MAX_CACHED_ADDRESSES) addressCache.clear()
  addressCache.set(text, address)
  return address
}

/** A caller asks again, and what is read of its address is the same. */
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

/** As `isLoopbackAddress`, of an address as it is written. */
export function isLoopbackText(address: string | null): boolean {
  return address !== null && isLoopbackAddress(parseCachedAddress(address))
}
