// The headers of every answer that tell browsers what they may do with it. Whoever answers with a page or a file of a user
// says more than this, in the place of it; HTTPS, and so Strict-Transport-Security, is the proxy's.
import type { ServerResponse } from 'node:http'

/**
 * An answer is data: it is not guessed at, runs nothing, stands in no frame, and is read by no page of another site, not even as an
 * image or a script that did not ask (Fetch, "Cross-Origin-Resource-Policy header"). It is kept nowhere, unless who made it says so.
 */
const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cache-Control', 'no-store'],
  ['Vary', 'Origin'],
]

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value)
}

/** Whoever has a signed address may show what it names, on any page. */
export function allowCrossOriginUse(response: ServerResponse): void {
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
}
