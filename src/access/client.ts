// Where a request comes from: the peer of the socket, or whom a trusted proxy names.
import { isIP } from 'node:net'
import { type Address, isWithin, type Range, readAddress } from '../net/addresses.ts'
import type { RequestFacts } from './facts.ts'

export interface Client {
  /** Null where a proxy does not say it, or says something that is no address. */
  readonly address: Address | null
  /** Whether somebody stands between the client and this server. It is never local then. */
  readonly forwarded: boolean
  /** Whether the peer forwards for somebody and nobody said that it may: whom it speaks for is not known. */
  readonly unbelieved: boolean
}

/**
 * The client's address. `X-Forwarded-For` is read from the right, and only from trusted proxies: the first address that
 * is not one of theirs is the client's.
 */
export function clientOf(
  facts: Pick<RequestFacts, 'peer' | 'forwards' | 'forwarded_for'>,
  proxies: readonly Range[],
): Client {
  const address = facts.peer === null ? null : readAddress(facts.peer)
  if (!facts.forwards) return { address, forwarded: false, unbelieved: false }
  if (!isOneOf(address, proxies)) return { address, forwarded: false, unbelieved: true }
  return { address: forwardedAddress(facts.forwarded_for, proxies), forwarded: true, unbelieved: false }
}

export function isOneOf(address: Address | null, ranges: readonly Range[]): boolean {
  return address !== null && ranges.some((range) => isWithin(address, range))
}

/** The address on the right of a list that is not a proxy's; the leftmost where all are; null where there is none. */
export function forwardedAddress(list: string | null, proxies: readonly Range[]): Address | null {
  let last: Address | null = null
  for (const entry of (list ?? '').split(',').reverse()) {
    last = entryAddress(entry.trim())
    if (!isOneOf(last, proxies)) return last
  }
  return last
}

/** `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1`, `[2001:db8::1]:4711`. */
function entryAddress(entry: string): Address | null {
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1]
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? readAddress(bracketed) : null
  return readAddress(/^([\d.]+):\d{1,5}$/.exec(entry)?.[1] ?? entry)
}

/** 127.0.0.0/8 and ::1, the IPv4-mapped forms included. */
export function isLoopback(address: string | null): boolean {
  if (address === null) return false
  const plain = address.toLowerCase().startsWith('::ffff:') ? address.slice(7) : address
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1'
}
