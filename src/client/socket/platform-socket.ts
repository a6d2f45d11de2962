// The socket interface of the client. Node implements it with `ws`, browsers with WebSocket.

/** How a socket ended. */
export interface SocketEnd {
  /** The close code (RFC 6455, section 7.4). 1006 where there was no closing handshake. */
  code: number
  reason: string
  /** The HTTP status of a refused upgrade. Null where there was none, or it is hidden. */
  status: number | null
  /** `Retry-After` of a refused upgrade. */
  retry_after: string | null
  /** Whether a refused upgrade would look the same. Browsers hide the answer to an upgrade. */
  isStatusHidden: boolean
}

/** Listens to a socket. Nothing follows `onClosed`. */
export interface SocketListener {
  onOpen(): void
  onMessage(data: Uint8Array | string): void
  /** A sign of life other than a frame. */
  onActivity(): void
  onClose(end: SocketEnd): void
}

export interface PlatformSocket {
  send(data: Uint8Array | string): void
  close(): void
  /** Ends a connection whose peer does not answer. */
  terminate(): void
}

/** Opens a socket at `url` (`ws:` or `wss:`, without a credential). */
export type SocketOpener = (url: string, token: string | null, events: SocketListener) => PlatformSocket
