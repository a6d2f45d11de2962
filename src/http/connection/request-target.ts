// Checks the target of a request before Express parses it.
import type { IncomingMessage } from 'node:http'

/**
 * Replaces a target that is no URL, such as `http://[::1/health`, or has no path, such as `x://host`, by `*`, for which no route exists. The caller
 * then gets the response of an unknown path. Express would answer before the caller is counted and known, or make Node log the whole target.
 */
export function normalizeRequestTarget(request: IncomingMessage): IncomingMessage {
  const { url = '' } = request
  if (!url.startsWith('/') && !URL.parse(url)?.pathname.startsWith('/')) request.url = '*'
  return request
}
