// Sends raw bytes over a new connection, and returns the answer.
import { connect } from 'node:net'

export interface Place {
  readonly port: number
  readonly host: string
  readonly localAddress: string
}

export interface Reply {
  /** Null if the connection ended without an answer. */
  status: number | null
  head: string
  body: string
}

/** A connection that the server keeps open is cut here, so that a hanging connection does not fail the whole test. */
const PATIENCE_MS = 10_000

/** All bytes until the server ends the connection, or until its first answer if it accepted an upgrade. `ends`: closes after the bytes. */
export function exchange(place: Place, bytes: Buffer, ends: boolean): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(place, () => (ends ? socket.end(bytes) : socket.write(bytes)))
    socket.setTimeout(PATIENCE_MS, () => {
      socket.destroy()
      reject(new Error(`the connection stayed open after ${JSON.stringify(textOf(chunks).slice(0, 200))}`))
    })
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (chunks.length === 1 && textOf(chunks).startsWith('HTTP/1.1 101')) socket.destroy()
    })
    // A server that refuses early does not read the rest, which resets the connection.
    socket.on('error', () => {})
    socket.on('close', () => resolve(replyIn(textOf(chunks))))
  })
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('latin1')
}

function replyIn(all: string): Reply {
  // 100 Continue comes before the answer.
  const text = all.replace(/^(HTTP\/1\.1 100 [^\r]*\r\n\r\n)+/, '')
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.slice(0, end)
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]
  return { status: status === undefined ? null : Number(status), head, body: end < 0 ? '' : text.slice(end + 4) }
}
