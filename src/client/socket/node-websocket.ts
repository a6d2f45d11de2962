// Sockets in Node by the package `ws`, with the token in the Authorization header.
import WebSocket, { type RawData } from 'ws'
import type { PlatformSocket, SocketEnd, SocketListener, SocketOpener } from './platform-socket.ts'

export const openNodeSocket: SocketOpener = (url, token, events) => {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` }
  const ws = new WebSocket(url, { headers, perMessageDeflate: false })
  forwardEvents(ws, events)
  return {
    send: (data) => ws.send(data),
    close: () => ws.close(1000),
    terminate: () => ws.terminate(),
  } satisfies PlatformSocket
}

function forwardEvents(ws: WebSocket, events: SocketListener): void {
  let refused: Pick<SocketEnd, 'status' | 'retry_after'> = { status: null, retry_after: null }
  ws.on('open', () => events.onOpen())
  ws.on('message', (data: RawData, binary: boolean) => events.onMessage(binary ? toBytes(data) : String(data)))
  ws.on('ping', () => events.onActivity())
  ws.on('pong', () => events.onActivity())
  ws.on('unexpected-response', (request, response) => {
    refused = { status: response.statusCode ?? null, retry_after: response.headers['retry-after'] ?? null }
    response.resume()
    request.destroy()
    ws.terminate()
  })
  // `close` follows every error and holds all that is needed.
  ws.on('error', () => {})
  ws.on('close', (code, reason) =>
    events.onClose({ code, reason: reason.toString(), isStatusHidden: false, ...refused }),
  )
}

function toBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}
