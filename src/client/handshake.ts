// One attempt at a socket: a link, or how the upgrade was refused.
import { retryAfter } from './error-answer.ts'
import { networkError, ServiceError, timeoutError } from './errors.ts'
import { Link } from './link.ts'
import type { Settings } from './settings.ts'
import type { OpenSocket, Socket, SocketEnd, SocketEvents } from './socket.ts'
import type { UnknownRecord } from './values.ts'

export interface HandshakeParts {
  readonly settings: Settings
  readonly open: OpenSocket
  readonly onFrame: (frame: UnknownRecord, link: Link) => void
}

/** Opens a socket with `token`. Rejects where it takes too long, or with the signal's reason. */
export function handshake(
  { settings, open, onFrame }: HandshakeParts,
  token: string | null,
  signal: AbortSignal,
): Promise<Link | SocketEnd> {
  const { connect_ms } = settings.times
  return new Promise((resolve, reject) => {
    let link: Link | null = null
    let socket: Socket | null = null
    const fail = (error: unknown) => {
      leave()
      socket?.terminate()
      reject(error)
    }
    const abort = () => fail(signal.reason)
    const timer = setTimeout(() => fail(timeoutError('Opening the socket', connect_ms)), connect_ms)
    const leave = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    const events: SocketEvents = {
      opened() {
        leave()
        link = new Link(socket!, settings)
        resolve(link)
      },
      message(data) {
        const frame = link && !link.end ? link.read(data) : null
        if (frame) onFrame(frame, link!)
      },
      alive: () => link?.hear(),
      closed(end) {
        leave()
        if (link) link.finish(end)
        else resolve(end)
      },
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      socket = open(`${settings.url.replace(/^http/, 'ws')}/ws`, token, events)
    } catch (error) {
      fail(error)
    }
  })
}

/** The error of an upgrade that was refused, or of a server that could not be reached. */
export function failedUpgrade({ status, retry_after }: SocketEnd): ServiceError {
  if (status === null) return networkError('The socket could not be opened.')
  const retryable = status === 429 || status >= 500
  return new ServiceError({
    code: status === 429 ? 'RATE_LIMITED' : status >= 500 ? 'SERVICE_UNAVAILABLE' : `HTTP_${status}`,
    message: `The server answered the upgrade with ${status}.`,
    status,
    retryable,
    retry_after_ms: retryAfter(retry_after),
  })
}
