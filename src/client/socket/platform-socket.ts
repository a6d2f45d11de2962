// What a socket is to the client, whoever makes it: `ws` in Node, the browser's own in a page.

/** How a socket ended. */
export interface SocketEnd {
  /** The close code (RFC 6455, section 7.4); 1006 where there was no closing handshake. */
  code: number
  reason: string
  /** The HTTP status of a refused upgrade; null where there was none, or it cannot be seen. */
  status: number | null
  /** `Retry-After` of a refused upgrade. */
  retry_after: string | null
  /** Whether a refusal would have looked the same: browsers do not show the answer to an upgrade. */
  isStatusHidden: boolean
}

/** What a socket tells. After `closed` it tells nothing more. */
export interface SocketListener {
  onOpen(): void
  onMessage(data: Uint8Array | string): void
  /** A sign of life that is no frame. */
  onActivity(): void
  onClose(end: SocketEnd): void
}

export interface PlatformSocket {
  send(data: Uint8Array | string): void
  close(): void
  /** Lets go of a peer that does not answer. */
  terminate(): void
}

/** Opens a socket at `url` (`ws:` or `wss:`, without a credential). */
export type SocketOpener = (url: string, token: string | null, events: SocketListener) => PlatformSocket
