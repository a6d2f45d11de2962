// One attempt to open a socket.

import type { ResolvedClientOptions } from '../client-options.ts'
import { parseRetryAfterMs } from '../error-response.ts'
import { networkError, ServiceError, timeoutError } from '../errors.ts'
import type { UnknownRecord } from '../json-and-uuid.ts'
import { FrameChannel } from './frame-channel.ts'
import type { PlatformSocket, SocketEnd, SocketListener, SocketOpener } from './platform-socket.ts'

export interface HandshakeParts {
  readonly settings: ResolvedClientOptions
  readonly openSocket: SocketOpener
  readonly onFrame: (frame: UnknownRecord, link: FrameChannel) => void
}

/** Opens a socket with `token`. Rejects after the time limit, or with the signal's reason. */
export function performHandshake(
  { settings, openSocket, onFrame }: HandshakeParts,
  token: string | null,
  signal: AbortSignal,
): Promise<FrameChannel | SocketEnd> {
  const { connect_ms } = settings.times
  return new Promise((resolve, reject) => {
    let link: FrameChannel | null = null
    let socket: PlatformSocket | null = null
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
    const events: SocketListener = {
      onOpen() {
        leave()
        link = new FrameChannel(socket!, settings)
        resolve(link)
      },
      onMessage(data) {
        const frame = link && !link.end ? link.decode(data) : null
        if (frame) onFrame(frame, link!)
      },
      onActivity: () => link?.recordActivity(),
      onClose(end) {
        leave()
        if (link) link.markEnded(end)
        else resolve(end)
      },
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      socket = openSocket(`${settings.url.replace(/^http/, 'ws')}/ws`, token, events)
    } catch (error) {
      fail(error)
    }
  })
}

/** The error of a refused upgrade, or of an unreachable server. */
export function toUpgradeError({ status, retry_after }: SocketEnd): ServiceError {
  if (status === null) return networkError('The socket could not be opened.')
  const retryable = status === 429 || status >= 500
  return new ServiceError({
    code: status === 429 ? 'RATE_LIMITED' : status >= 500 ? 'SERVICE_UNAVAILABLE' : `HTTP_${status}`,
    message: `The server answered the upgrade with ${status}.`,
    status,
    retryable,
    retry_after_ms: parseRetryAfterMs(retry_after),
  })
}
