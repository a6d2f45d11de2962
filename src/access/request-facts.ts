// Reads the facts of a request or an upgrade, before any of them is trusted.
import type { IncomingMessage } from 'node:http'
import type { OwnRequestDetector } from '../net/own-request-detector.ts'

export type Transport = 'http' | 'socket'

export interface RequestFacts {
  readonly transport: Transport
  /** The path of the target as sent, neither decoded nor normalized. A target of another form is kept whole. */
  readonly path: string
  /** The address of the socket's peer. */
  readonly peer: string | null
  /** Whether this process sent the request for a user somewhere else: its address says nothing of the user. */
  readonly own_request: boolean
  /** Whether the request came directly on a connection of this process: the user wrote all its headers, those of a proxy included. */
  readonly own_connection: boolean
  /** Whether a header, or the protocol version, shows that the peer is a proxy. */
  readonly forwards: boolean
  /** The first such header in lower case, or the protocol version. */
  readonly forwarded_by: string | null
  /** `X-Forwarded-For`; several headers are joined. */
  readonly forwarded_for: string | null
  readonly host: string | null
  readonly origin: string | null
  /** `X-Svc-Local-Client`. */
  readonly local_client: string | null
  /** The bearer token. A malformed or repeated header counts as none. */
  readonly token: string | null
  /** Whether a malformed token was sent. */
  readonly malformed: boolean
  /** True if the credential of an open socket or stream is checked again. */
  readonly is_recheck?: boolean
}

/** Headers that proxies add: RFC 7239, RFC 9110 (sections 7.6.2 and 7.6.3), RFC 8586, and customary ones. They only ever reduce trust. */
const FORWARDING_HEADER = new RegExp(
  `^(?:(?:x-forwarded|x-original-|x-real-|x-envoy-|x-azure-|cf-|fastly-|fly-|tailscale-)|(?:${[
    'forwarded',
    'via',
    'max-forwards',
    'cdn-loop',
    'true-client-ip',
    'x-client-ip',
    'x-cluster-client-ip',
    'proxy-client-ip',
    'wl-proxy-client-ip',
    'x-scheme',
    'x-url-scheme',
    'front-end-https',
    'x-rewrite-url',
    'x-nginx-proxy',
  ].join('|')})$)`,
  'i',
)

export function readRequestFacts(
  request: IncomingMessage,
  transport: Transport,
  own: OwnRequestDetector,
): RequestFacts {
  const { headers, url = '' } = request
  const forwarded_by = findForwarder(request)
  const token = tokenOf(request, transport)
  return {
    transport,
    path: pathOf(url),
    peer: request.socket.remoteAddress ?? null,
    own_request: own.isOwnRequest(request),
    own_connection: own.isOwnConnection(request.socket),
    forwards: forwarded_by !== null,
    forwarded_by,
    forwarded_for: singleValue(headers['x-forwarded-for']),
    host: hostOf(request),
    origin: singleValue(headers.origin),
    local_client: singleValue(headers['x-svc-local-client']),
    token,
    malformed: token === null && (headers.authorization !== undefined || (transport === 'socket' && hasApiKey(url))),
  }
}

/** HTTP/1.0 counts too: few programs use it, but nginx does by default, without forwarding headers. */
function findForwarder({ httpVersion, rawHeaders }: IncomingMessage): string | null {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (FORWARDING_HEADER.test(rawHeaders[at]!)) return rawHeaders[at]!.toLowerCase()
  return httpVersion === '1.1' ? null : `HTTP/${httpVersion}`
}

function singleValue(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** `scheme://authority`, without user information, which is an error in RFC 9110 (section 4.2.4). */
const ABSOLUTE_TARGET = /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\@]*)(?=[/?]|$)/i

/** The path of a target, be it `/path?query` or an absolute URL (RFC 9112, section 3.2). */
function pathOf(url: string): string {
  return url.replace(ABSOLUTE_TARGET, '').split('?', 1)[0] ?? ''
}

/** The host of a request: that of an absolute target (RFC 9112, section 3.2.2), else that of a single Host header. */
function hostOf({ url = '', headers, rawHeaders }: IncomingMessage): string | null {
  if (!url.startsWith('/') && url !== '*') return ABSOLUTE_TARGET.exec(url)?.[1] ?? null
  return countHeader(rawHeaders, 'host') === 1 ? (headers.host ?? null) : null
}

/** Counts the raw headers: Node keeps only the first of some repeated headers. */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let found = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.toLowerCase() === name) found++
  return found
}

/** RFC 6750, section 2.1. */
const BEARER = /^bearer +([\w\-.~+/]+=*) *$/i
/** Longer values are no token. */
const MAX_TOKEN_LENGTH = 8192

function tokenOf(request: IncomingMessage, transport: Transport): string | null {
  const { authorization } = request.headers
  if (authorization === undefined) return transport === 'socket' ? apiKeyOf(request.url ?? '') : null
  if (authorization.length > MAX_TOKEN_LENGTH || countHeader(request.rawHeaders, 'authorization') !== 1) return null
  return BEARER.exec(authorization)?.[1] ?? null
}

/** The query parameter `api_key`, if it occurs once. */
function apiKeyOf(url: string): string | null {
  const at = url.indexOf('?')
  if (at < 0) return null
  const keys = new URLSearchParams(url.slice(at + 1)).getAll('api_key')
  const [key] = keys
  return keys.length === 1 && key && key.length <= MAX_TOKEN_LENGTH && BEARER.test(`Bearer ${key}`) ? key : null
}

function hasApiKey(url: string): boolean {
  const at = url.indexOf('?')
  return at >= 0 && new URLSearchParams(url.slice(at + 1)).has('api_key')
}
