// Local mode: a loopback caller is user "1", provided that the Host and Origin rules hold. Pure; the doors translate the answer.
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Log } from '../log.ts'
import { LOCAL_PRINCIPAL, type Principal } from './principal.ts'

/** What is known of a request or an upgrade before anything of it is believed. */
export interface RequestFacts {
  /** The socket's peer address. */
  readonly peer: string | null
  readonly host: string | null
  readonly origin: string | null
  /** The `X-Svc-Local-Client` header. */
  readonly local_client: string | null
  /** Whether a proxy says that it forwards for somebody. */
  readonly forwarded: boolean
}

export interface LocalSettings {
  readonly allowed_hosts: readonly string[]
  readonly allowed_origins: readonly string[]
  readonly local_client_token: string | null
}

const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

export function requestFacts(request: IncomingMessage): RequestFacts {
  const { headers } = request
  const one = (value: string | string[] | undefined): string | null => (typeof value === 'string' ? value : null)
  return {
    peer: request.socket.remoteAddress ?? null,
    host: hostOf(request),
    origin: one(headers.origin),
    local_client: one(headers['x-svc-local-client']),
    forwarded: FORWARDING.some((name) => headers[name] !== undefined),
  }
}

/** The host that a request is for: the target's own where it has one (RFC 9112, section 3.2.2), else the one Host header. */
function hostOf({ url = '', headers, rawHeaders }: IncomingMessage): string | null {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return URL.parse(url)?.host ?? null
  const given = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  return given.length === 1 ? (headers.host ?? null) : null
}

/** Decides on requests and upgrades, and says once in the log why a proxy on this host is not believed. */
export function localGate(settings: LocalSettings, log: Log): (request: IncomingMessage) => Principal | null {
  let told = false
  return (request) => {
    const facts = requestFacts(request)
    if (facts.forwarded && isLoopback(facts.peer) && !told) {
      told = true
      log.warn('a loopback caller sends forwarding headers: whoever is behind that proxy is not the local user')
    }
    return localPrincipal(facts, settings)
  }
}

/** The local principal, or null where the caller must prove who it is. */
export function localPrincipal(facts: RequestFacts, settings: LocalSettings): Principal | null {
  // A proxy on this host would make everyone behind it the local user.
  if (!isLoopback(facts.peer) || facts.forwarded) return null
  if (!hostAllowed(facts.host, settings.allowed_hosts)) return null
  return originAllowed(facts, settings) ? LOCAL_PRINCIPAL : null
}

/** 127.0.0.0/8 and ::1, the IPv4-mapped forms included. */
export function isLoopback(address: string | null): boolean {
  if (address === null) return false
  const plain = address.toLowerCase().startsWith('::ffff:') ? address.slice(7) : address
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1'
}

/** A Host header names `localhost`, a `*.localhost` name, an IP literal, or a host that the settings allow. Against DNS rebinding. */
export function hostAllowed(host: string | null, allowed: readonly string[]): boolean {
  const name = hostName(host)
  if (name === null) return false
  return isLocalName(name) || isIP(name) !== 0 || allowed.some((entry) => entry.toLowerCase() === name)
}

function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/** The name in a Host header without port and brackets, in lower case; null where it is malformed. */
function hostName(host: string | null): string | null {
  if (host === null) return null
  const found = /^(?:\[([0-9a-f:.]+)\]|([^\s:/@?#[\]]+))(?::\d{1,5})?$/i.exec(host)
  return (found?.[1] ?? found?.[2])?.toLowerCase() ?? null
}

const EXTENSIONS = ['chrome-extension:', 'moz-extension:', 'safari-web-extension:']

function originAllowed({ origin, host, local_client }: RequestFacts, settings: LocalSettings): boolean {
  if (origin === null) return true
  if (origin === 'null') return sameSecret(local_client, settings.local_client_token)
  if (settings.allowed_origins.includes(origin)) return true
  if (origin === 'file://') return true
  const url = URL.parse(origin)
  if (!url) return false
  if (EXTENSIONS.includes(url.protocol)) return true
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false
  // An origin has nothing behind its port: anything longer was not made by a browser.
  if (url.origin !== origin.toLowerCase()) return false
  return isLocalOrigin(url.hostname) || url.host === host?.toLowerCase()
}

function isLocalOrigin(hostname: string): boolean {
  return isLocalName(hostname) || isLoopback(hostname.replace(/^\[|\]$/g, ''))
}

function sameSecret(given: string | null, expected: string | null): boolean {
  if (given === null || expected === null) return false
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
