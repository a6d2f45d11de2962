// Writes requests as bytes, without any correction.
import type { Random } from '../../crash/random.ts'
import type { Headers } from './junk.ts'

/** The host, as a client on this machine writes it. */
export const host: Headers = [['Host', 'localhost']]

/** Writes a request unchanged, with `Connection: close`. */
export function written(method: string, target: string, headers: Headers): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1')
}

/** A valid request but for these headers, over one of the transports. */
export function asked(random: Random, headers: Headers, path = '/api/workflows', query = ''): Buffer {
  return askedOf(random, [...host, ...headers], path, query)
}

export function askedOf(random: Random, headers: Headers, path = '/api/workflows', query = ''): Buffer {
  if (path !== '/ws' && random.chance(0.5)) return written('GET', path, headers)
  const upgrade: Headers = [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
    ['Sec-WebSocket-Version', '13'],
  ]
  return written('GET', `/ws${query}`, [...headers, ...upgrade])
}
