// Sockets in browsers. The global WebSocket cannot send headers, so the token travels in the query, as the contract allows.
import type { PlatformSocket, SocketOpener } from './platform-socket.ts'

export const openBrowserSocket: SocketOpener = (url, token, events) => {
  const at = new URL(url)
  if (token !== null) at.searchParams.set('api_key', token)
  const ws = new WebSocket(at)
  ws.binaryType = 'arraybuffer'
  let over = false
  const end = (code: number, reason: string) => {
    if (over) return
    over = true
    events.onClose({ code, reason, status: null, retry_after: null, isStatusHidden: true })
  }
  ws.onopen = () => events.onOpen()
  ws.onmessage = ({ data }) => {
    if (!over) events.onMessage(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer))
  }
  ws.onclose = ({ code, reason }) => end(code, reason)
  return {
    send: (data) => ws.send(data as Uint8Array<ArrayBuffer> | string),
    close: () => ws.close(1000),
    terminate() {
      // A browser's closing handshake with a lost peer has no time limit that the client could set.
      ws.close()
      end(1006, '')
    },
  } satisfies PlatformSocket
}
