// Security headers of every response. A page, or a file of a user, replaces them by headers of its own. HTTPS, and so Strict-Transport-Security, is
// the task of the proxy.
import type { ServerResponse } from 'node:http'

/**
 * A response is data: its type is not guessed, it runs nothing, and stands in no frame. Pages of other sites cannot read it, not even as an image or
 * script (Fetch, "Cross-Origin-Resource-Policy header"). It is not cached unless its handler allows that.
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

/** Any page may embed the resource of a signed URL. */
export function allowCrossOriginUse(response: ServerResponse): void {
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
}
