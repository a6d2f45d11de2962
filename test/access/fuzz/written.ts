// Requests as bytes, put together without anything that would correct them.
import type { Random } from '../../crash/random.ts'
import type { Headers } from './junk.ts'

/** Who is asked, as a client on this machine would say. */
export const host: Headers = [['Host', 'localhost']]

/** Puts a request together as it is, and asks for the end of the connection after it. */
export function written(method: string, target: string, headers: Headers): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1')
}

/** A good question but for these headers, on one of the doors. */
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
