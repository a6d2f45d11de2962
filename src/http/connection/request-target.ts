// The target of a request before Express takes it apart.
import type { IncomingMessage } from 'node:http'

/**
 * Reads a target that is no URL, such as `http://[::1/health`, or one without a path, such as `x://host`, as `*`, where nothing is: callers of it are
 * refused or answered as those of any unknown path. Express would answer by itself, before the caller is counted or known, or have Node write the whole target into the log.
 */
export function normalizeRequestTarget(request: IncomingMessage): IncomingMessage {
  const { url = '' } = request
  if (!url.startsWith('/') && !URL.parse(url)?.pathname.startsWith('/')) request.url = '*'
  return request
}
