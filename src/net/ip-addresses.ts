// Tells which IP addresses lie on the public internet. `allow-list.ts` decides which others a request may reach.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6
export type IpRange = readonly [IpAddress, number]

/** The addresses that RFC 4291 §2.4 and IANA have assigned to the internet so far. Special ranges within them are refused as well. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('2000::/3')
/** The well-known prefix of NAT64 (RFC 6052). Networks without IPv4 reach all IPv4 hosts through it. */
const NAT64: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/** A cloud's metadata service answers at this address. The address looks public and works only inside the cloud. */
const CLOUD_SERVICE_ADDRESS = '168.63.129.16'

/** Replaces an IPv4-mapped or NAT64 address with the IPv4 address that it stands for. */
function unwrapMappedAddress(address: IpAddress): IpAddress {
  if (address instanceof ipaddr.IPv4) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(-4)) : address
}

/** Parses an address that `isIP` accepts, without its zone. */
function parseAddressText(text: string): IpAddress {
  if (isIP(text) === 4) return ipaddr.IPv4.parse(text)
  const [address] = text.split('%', 1)
  // The hexadecimal spelling has only one meaning. The library would read ::127.0.0.1 as ::ffff:127.0.0.1.
  return ipaddr.IPv6.parse(new URL(`http://[${address}]/`).hostname.slice(1, -1))
}

/** Reads an address in its usual spelling, an IPv6 one with or without a zone. Returns null where the text is no address. */
export function parseIpAddress(text: string): IpAddress | null {
  return isIP(text) === 0 ? null : unwrapMappedAddress(parseAddressText(text))
}

/** Reads `10.0.0.0/8` or `fd00::/8`. Returns null where the text is no range. */
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
 * Whether an address belongs to the public internet. Special ranges do not: loopback, private, shared, link-local, multicast, reserved,
 * documentation, benchmarks, and the tunnels of 6to4 and Teredo.
 */
export function isPublicAddress(address: IpAddress): boolean {
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv6) return address.match(GLOBAL_UNICAST)
  return address.toString() !== CLOUD_SERVICE_ADDRESS
}
