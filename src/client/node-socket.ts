// Sockets in Node: the package `ws`, with the token in the Authorization header.
import WebSocket, { type RawData } from 'ws'
import type { OpenSocket, Socket, SocketEnd, SocketEvents } from './socket.ts'

export const openNodeSocket: OpenSocket = (url, token, events) => {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` }
  const ws = new WebSocket(url, { headers, perMessageDeflate: false })
  listen(ws, events)
  return {
    send: (data) => ws.send(data),
    close: () => ws.close(1000),
    terminate: () => ws.terminate(),
  } satisfies Socket
}

function listen(ws: WebSocket, events: SocketEvents): void {
  let refused: Pick<SocketEnd, 'status' | 'retry_after'> = { status: null, retry_after: null }
  ws.on('open', () => events.opened())
  ws.on('message', (data: RawData, binary: boolean) => events.message(binary ? bytesOf(data) : String(data)))
  ws.on('ping', () => events.alive())
  ws.on('pong', () => events.alive())
  ws.on('unexpected-response', (request, response) => {
    refused = { status: response.statusCode ?? null, retry_after: response.headers['retry-after'] ?? null }
    response.resume()
    request.destroy()
    ws.terminate()
  })
  // Every error is followed by `close`, which says all that is needed.
  ws.on('error', () => {})
  ws.on('close', (code, reason) => events.closed({ code, reason: reason.toString(), blind: false, ...refused }))
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}
