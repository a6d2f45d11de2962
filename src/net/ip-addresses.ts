// Which addresses lie on the public internet. What may be reached beyond it is decided in allow-list.ts.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6
export type IpRange = readonly [IpAddress, number]

/** What RFC 4291 §2.4 and IANA have given out for the internet so far; special ranges within it are refused as well. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('2000::/3')
/** The well-known prefix of NAT64 (RFC 6052): networks without IPv4 reach all of its hosts through it. */
const NAT64: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/** Answers only inside of a cloud, with what its machines are told, although it looks public. */
const CLOUD_SERVICE_ADDRESS = '168.63.129.16'

/** An address that stands for another one, as that one: IPv4-mapped and NAT64 addresses name an IPv4 host. */
function unwrapMappedAddress(address: IpAddress): IpAddress {
  if (address instanceof ipaddr.IPv4) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(-4)) : address
}

/** Parses what `isIP` accepts; a zone is left out. */
function parseAddressText(text: string): IpAddress {
  if (isIP(text) === 4) return ipaddr.IPv4.parse(text)
  const [address] = text.split('%', 1)
  // In hexadecimal there is one way to read it: the library takes ::127.0.0.1 for ::ffff:127.0.0.1.
  return ipaddr.IPv6.parse(new URL(`http://[${address}]/`).hostname.slice(1, -1))
}

/** Reads an address in its usual spelling, an IPv6 one with or without a zone; null where it is none. */
export function parseIpAddress(text: string): IpAddress | null {
  return isIP(text) === 0 ? null : unwrapMappedAddress(parseAddressText(text))
}

/** Reads `10.0.0.0/8` or `fd00::/8`; null where it is none. */
export function parseIpRange(text: string): IpRange | null {
  const [address, bits, ...rest] = text.split('/')
  if (rest.length > 0 || !address || isIP(address) === 0 || address.includes('%')) return null
  if (!/^\d{1,3}$/.test(bits ?? '')) return null
  const length = Number(bits)
  const given = parseAddressText(address)
  if (length > given.toByteArray().length * 8) return null
  const mapped = given instanceof ipaddr.IPv6 && given.isIPv4MappedAddress() && length >= 96
  return mapped ? [given.toIPv4Address(), length - 96] : [given, length]
}

export function isInRange(address: IpAddress, [start, bits]: IpRange): boolean {
  return address.kind() === start.kind() && address.match(start, bits)
}

/**
 * Whether an address is one of the public internet. Everything with another purpose is not: loopback, private, shared,
 * link-local, multicast, reserved, documentation, benchmarks, and the tunnels of 6to4 and Teredo.
 */
export function isPublicAddress(address: IpAddress): boolean {
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv6) return address.match(GLOBAL_UNICAST)
  return address.toString() !== CLOUD_SERVICE_ADDRESS
}
