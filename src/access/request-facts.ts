// What a request or an upgrade says, before anything of it is believed.
import type { IncomingMessage } from 'node:http'
import type { OwnRequestDetector } from '../net/own-request-detector.ts'

export type Transport = 'http' | 'socket'

export interface RequestFacts {
  readonly transport: Transport
  /** The path of the target as it was sent: nothing is decoded or normalised. A target of another form is given whole. */
  readonly path: string
  /** The address of the socket's peer. */
  readonly peer: string | null
  /** Whether this process sent it, for a user who is somewhere else: its place says nothing of whose it is. */
  readonly own_request: boolean
  /** Whether it came straight on a connection of this process: then all of its headers are the user's, those of a proxy included. */
  readonly own_connection: boolean
  /** Whether a header, or the protocol that it speaks, says that the peer forwards for somebody. */
  readonly forwards: boolean
  /** What says so: the name of the first such header in lower case, or the protocol. */
  readonly forwarded_by: string | null
  /** `X-Forwarded-For`, several of them joined. */
  readonly forwarded_for: string | null
  readonly host: string | null
  readonly origin: string | null
  /** `X-Svc-Local-Client`. */
  readonly local_client: string | null
  /** The bearer token. A header that is none, or not the only one, is as if none had been sent. */
  readonly token: string | null
  /** Whether something was sent in the place of a token that is none. */
  readonly malformed: boolean
}

/** What proxies add: RFC 7239, RFC 9110 (sections 7.6.2 and 7.6.3), RFC 8586, and what is customary. Only ever a reason for less trust. */
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

/** HTTP/1.0 as well: hardly a program speaks it, but nginx by default, which then says nothing else of itself. */
function findForwarder({ httpVersion, rawHeaders }: IncomingMessage): string | null {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (FORWARDING_HEADER.test(rawHeaders[at]!)) return rawHeaders[at]!.toLowerCase()
  return httpVersion === '1.1' ? null : `HTTP/${httpVersion}`
}

function singleValue(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** `scheme://authority`, without user information, which RFC 9110 (section 4.2.4) calls an error. */
const ABSOLUTE_TARGET = /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\@]*)(?=[/?]|$)/i

/** The path of a target, be it `/path?query` or an absolute URL (RFC 9112, section 3.2). */
function pathOf(url: string): string {
  return url.replace(ABSOLUTE_TARGET, '').split('?', 1)[0] ?? ''
}

/** The host that a request is for: the target's own where it has one (RFC 9112, section 3.2.2), else the one Host header. */
function hostOf({ url = '', headers, rawHeaders }: IncomingMessage): string | null {
  if (!url.startsWith('/') && url !== '*') return ABSOLUTE_TARGET.exec(url)?.[1] ?? null
  return countHeader(rawHeaders, 'host') === 1 ? (headers.host ?? null) : null
}

/** Of repeated headers of some names Node keeps the first alone: they are counted as they came. */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let found = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.toLowerCase() === name) found++
  return found
}

/** RFC 6750, section 2.1. */
const BEARER = /^bearer +([\w\-.~+/]+=*) *$/i
/** No token is longer: a longer one is none. */
const MAX_TOKEN_LENGTH = 8192

function tokenOf(request: IncomingMessage, transport: Transport): string | null {
  const { authorization } = request.headers
  if (authorization === undefined) return transport === 'socket' ? apiKeyOf(request.url ?? '') : null
  if (authorization.length > MAX_TOKEN_LENGTH || countHeader(request.rawHeaders, 'authorization') !== 1) return null
  return BEARER.exec(authorization)?.[1] ?? null
}

/** The query parameter `api_key`, where it stands once. */
function apiKeyOf(url: string): string | null {
  const at = url.indexOf('?')
  if (at < 0) return null
  const given = new URLSearchParams(url.slice(at + 1)).getAll('api_key')
  const [key] = given
  return given.length === 1 && key && key.length <= MAX_TOKEN_LENGTH && BEARER.test(`Bearer ${key}`) ? key : null
}

function hasApiKey(url: string): boolean {
  const at = url.indexOf('?')
  return at >= 0 && new URLSearchParams(url.slice(at + 1)).has('api_key')
}
