// The fault of an answer to a caller that must be refused, or null.
import type { Reply } from './exchange.ts'

/** No server error, and in the server's own format. */
export function sound({ status, body, head }: Reply): string | null {
  if (status !== null && status >= 500) return 'a fault of the server'
  if (/<html/i.test(body)) return 'a page that is none of ours'
  return /node:|node_modules|\.ts:\d/.test(head + body) ? 'it tells of the inside' : null
}

/** Sound, and neither executed nor upgraded. A connection may also end without an answer if there was no request. */
export function notServed(reply: Reply): string | null {
  const { status, body } = reply
  if (status !== null && status < 400) return 'it was let in'
  if (/user (alice|bob|carol|root)/.test(body)) return "it shows somebody's workflows"
  return sound(reply)
}

/** Refused as a stranger, or as a malformed request (RFC 9112, section 3: 400; RFC 6585, section 5: 431). An answer to HEAD has no body. */
export function refused(reply: Reply, method = 'GET'): string | null {
  const { status, body, head } = reply
  if (![400, 401, 431].includes(status ?? 0)) return 'it was not refused'
  const bare = method === 'HEAD' || /^content-length: 0\r?$/im.test(head)
  if (status === 401 && !(bare ? body === '' : /^\{"error":"[^"]{1,200}"\}$/.test(body)))
    return 'another body than a refusal has'
  return notServed(reply)
}

/** Names below these are public; most do not exist. */
const PUBLIC_BELOW = /^(\w+:\/\/[^/]*)?\/(docs|api\/workflows\/(examples|public)|api\/shared-workflows)\/[^?]/

/** Refused, or a request for a public resource that does not exist. */
export function nothingFor(method: string, target: string, reply: Reply): string | null {
  const { status, head } = reply
  if (status === 404 && PUBLIC_BELOW.test(target)) return sound(reply)
  // Preflight requests have no credentials (Fetch, section 4.8).
  if (status === 204 && /^access-control-allow-origin: http:\/\/localhost:5173\r?$/im.test(head)) return sound(reply)
  return refused(reply, method)
}
