// Sockets in browsers: the global WebSocket. It cannot send headers, so the token travels in the query, as the contract allows.
import type { OpenSocket, Socket } from './socket.ts'

export const openBrowserSocket: OpenSocket = (url, token, events) => {
  const at = new URL(url)
  if (token !== null) at.searchParams.set('api_key', token)
  const ws = new WebSocket(at)
  ws.binaryType = 'arraybuffer'
  let over = false
  const end = (code: number, reason: string) => {
    if (over) return
    over = true
    events.closed({ code, reason, status: null, retry_after: null, blind: true })
  }
  ws.onopen = () => events.opened()
  ws.onmessage = ({ data }) => {
    if (!over) events.message(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer))
  }
  ws.onclose = ({ code, reason }) => end(code, reason)
  return {
    send: (data) => ws.send(data as Uint8Array<ArrayBuffer> | string),
    close: () => ws.close(1000),
    terminate() {
      // A handshake with a peer that is gone takes as long as the browser likes.
      ws.close()
      end(1006, '')
    },
  } satisfies Socket
}
