// A client that sends and receives raw bytes.
import { connect, type Socket } from 'node:net'
import { until } from '../helpers/server.ts'

export interface Peer extends Disposable {
  readonly socket: Socket
  /** The received bytes so far. */
  readonly text: () => string
  readonly closed: () => boolean
}

/** Connects, and sends the bytes. */
export async function peer({ url }: { readonly url: string }, says = ''): Promise<Peer> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const state = { text: '', closed: false }
  socket.on('data', (chunk) => {
    state.text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    state.closed = true
  })
  await until('a connection', () => !socket.connecting)
  socket.write(says)
  return {
    socket,
    text: () => state.text,
    closed: () => state.closed,
    [Symbol.dispose]: () => socket.destroy(),
  }
}
