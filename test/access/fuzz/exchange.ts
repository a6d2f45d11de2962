// Sends bytes as they are over a connection of their own, and gives what comes back.
import { connect } from 'node:net'

export interface Place {
  readonly port: number
  readonly host: string
  readonly localAddress: string
}

export interface Reply {
  /** Null where the connection ended without an answer. */
  status: number | null
  head: string
  body: string
}

/** What a server keeps open is cut here, so that a hanging connection fails instead of the whole test. */
const PATIENCE_MS = 10_000

/** Everything until the server ends the connection; until its first answer where it took an upgrade. `ends`: says goodbye after the bytes. */
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
  // What only says "go on" comes before the answer.
  const text = all.replace(/^(HTTP\/1\.1 100 [^\r]*\r\n\r\n)+/, '')
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.slice(0, end)
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]
  return { status: status === undefined ? null : Number(status), head, body: end < 0 ? '' : text.slice(end + 4) }
}
