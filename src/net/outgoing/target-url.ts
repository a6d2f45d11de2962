// Parses the URL of a request, and checks that it is an HTTP URL with a permitted host and port.
import { isIP } from 'node:net'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import type { SecretMask } from '../secret-mask.ts'
import { type AllowList, normalizeHost } from './allow-list.ts'
import { validateUrlLength } from './url-length.ts'

export interface OutgoingTarget {
  readonly url: URL
  /** The host without brackets and without the final dot. */
  readonly host: string
  readonly port: number
  /** The host as messages show it. */
  readonly shown: string
  /** `user:password` of the URL as an Authorization header (RFC 7617), or null. */
  readonly authorization: string | null
}

const MAX_SHOWN_LENGTH = 80
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Ports of other protocols that a request could attack: the fetch standard's list of bad ports. */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])

function maskAndTruncate(text: string, mask: SecretMask): string {
  return truncateText(mask(text), MAX_SHOWN_LENGTH)
}

/** An address may not be reached. The message names the address and goes only to the log. */
export class RefusedAddressError extends Error {}

/** Says that an address may not be reached, and how an operator can allow it. The message does not reveal the resolved address. */
export function addressRefusedError(
  { shown, port }: Pick<OutgoingTarget, 'shown' | 'port'>,
  cause: RefusedAddressError,
): NodeError {
  const text = `Requests to "${shown}" are refused: it is not on the public internet.`
  const entry = `${shown.includes(':') ? `[${shown}]` : shown}:${port}`
  const cure = `The server's operator can allow it: SVC_HTTP_NODE_ALLOW=${entry}`
  return new NodeError(`${text} ${cure}`, 'address_refused', { cause })
}

function toBasicAuthorization(url: URL): string | null {
  if (url.username === '' && url.password === '') return null
  try {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    return `Basic ${Buffer.from(pair).toString('base64')}`
  } catch {
    throw new NodeError('The user name or password in the URL is not correctly percent-encoded.', 'bad_url')
  }
}

function parseHttpUrl(text: string, base: URL | null, mask: SecretMask): URL {
  validateUrlLength(text)
  const url = URL.parse(text, base?.href)
  if (url === null) {
    const example = 'Write a complete URL, such as https://example.org/path.'
    throw new NodeError(`"${maskAndTruncate(text, mask)}" is not a URL. ${example}`, 'bad_url')
  }
  if (url.protocol in DEFAULT_PORTS) return url
  throw new NodeError(
    `The scheme "${maskAndTruncate(url.protocol, mask)}" is not supported. Use http or https.`,
    'bad_url',
  )
}

/**
 * Reads a URL, relative to `base` if that is given. An address in the URL is checked here, a name when it is looked up.
 * @throws NodeError `bad_url`, `address_refused`
 */
export function resolveTarget(text: string, base: URL | null, allow: AllowList, mask: SecretMask): OutgoingTarget {
  const url = parseHttpUrl(text, base, mask)
  const host = normalizeHost(url.hostname)
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol]! : Number(url.port)
  const shown = maskAndTruncate(host, mask)
  if (BLOCKED_PORTS.has(port) && !allow.listsHostAndPort(host, port)) {
    throw new NodeError(`Port ${port} of "${shown}" is reserved for another protocol than HTTP.`, 'address_refused')
  }
  if (isIP(host) !== 0 && !allow.permits(host, port, host)) {
    throw addressRefusedError({ shown, port }, new RefusedAddressError('The URL holds the address'))
  }
  const authorization = toBasicAuthorization(url)
  url.username = ''
  url.password = ''
  return { url, host, port, shown, authorization }
}
