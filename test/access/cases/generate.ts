// Generates the cases: every word of a kind with every word of the kinds that it can combine with, for each mode.
import {
  type Case,
  FORWARDED,
  HOSTS,
  type Mode,
  ORIGINS,
  PATHS,
  PEERS,
  SOCKET_PATHS,
  TOKENS,
  type Token,
  TRANSPORTS,
} from './words.ts'

/** A plain request, from which the cases differ. */
const PLAIN: Omit<Case, 'mode'> = {
  peer: 'loopback',
  forwarded: 'nobody',
  host: 'localhost',
  origin: 'none',
  token: 'none',
  path: '/api/workflows',
  transport: 'HTTP',
}
const DOORS = [
  { transport: 'HTTP', path: '/api/workflows' },
  { transport: 'socket', path: '/ws' },
] as const
const NEAR_AND_FAR = ['loopback', 'own address'] as const
/** One word of each outcome, tried on every path. */
const TELLING: readonly Token[] = [
  'none',
  'garbage',
  'ntk_ good',
  'nta_ good',
  'nda_ good',
  'JWT good, of an administrator',
]

/** Each once, in a fixed order. */
export function casesOf(mode: Mode): Case[] {
  const all = [...places(), ...namesAndSites(), ...tokens(), ...targets()].map((differing) => ({
    ...PLAIN,
    ...differing,
    mode,
  }))
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
}

/** All places, on both transports. */
function* places(): Generator<Partial<Case>> {
  for (const door of DOORS) {
    for (const peer of PEERS) for (const forwarded of FORWARDED) yield { ...door, peer, forwarded }
  }
}

/** Every Host with every Origin over HTTP, each alone on sockets, and from a peer that is trusted for another reason. */
function* namesAndSites(): Generator<Partial<Case>> {
  for (const host of HOSTS) for (const origin of ORIGINS) yield { host, origin }
  for (const peer of NEAR_AND_FAR) {
    for (const door of DOORS) {
      for (const host of HOSTS) yield { ...door, peer, host }
      for (const origin of ORIGINS) yield { ...door, peer, origin }
      for (const host of HOSTS) yield { ...door, peer, host, origin: 'its own' }
    }
  }
  for (const host of HOSTS) yield { host, peer: 'proxy', forwarded: 'network' }
  for (const origin of ORIGINS) yield { origin, peer: 'proxy', forwarded: 'network' }
}

/** Every token in every form, local and remote, and from a page of another site under another name. */
function* tokens(): Generator<Partial<Case>> {
  for (const token of TOKENS) {
    for (const transport of TRANSPORTS) {
      const path = transport.startsWith('socket') ? '/ws' : '/api/workflows'
      for (const peer of NEAR_AND_FAR) yield { token, transport, path, peer }
      yield { token, transport, path, host: 'another name', origin: 'another site' }
      yield { token, transport, path, peer: 'proxy', forwarded: 'a stranger' }
    }
  }
}

function* targets(): Generator<Partial<Case>> {
  for (const peer of NEAR_AND_FAR) {
    for (const token of TELLING) {
      for (const path of PATHS) yield { peer, token, path }
      for (const path of SOCKET_PATHS) yield { peer, token, path, transport: 'socket' }
    }
  }
  // Operations that only some tokens may call.
  for (const token of TOKENS) {
    for (const path of ['/admin/collections', '/mcp', '/health'] as const) yield { peer: 'own address', token, path }
  }
}
