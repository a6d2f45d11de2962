// Request heads that Node's client cannot write: HTTP/1.0, and a second Host header.
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import type { Case, Host } from './words.ts'

const SECOND_HOSTS: Readonly<Partial<Record<Host, string>>> = {
  'localhost, twice': 'localhost',
  'localhost and another name': 'evil.example',
}

/** Opens the connection of a case, on which the head is as in the case. */
export function connectionOf({ host, forwarded }: Case): (options: unknown) => Socket {
  const second = SECOND_HOSTS[host]
  return (options) => {
    const socket = connect(options as NetConnectOpts)
    const write = socket.write.bind(socket) as (data: unknown, ...rest: unknown[]) => boolean
    socket.write = (data: unknown, ...rest: unknown[]) => {
      socket.write = write as typeof socket.write
      let head = String(data)
      if (forwarded.endsWith('in HTTP/1.0')) head = head.replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n')
      if (second) head = head.replace(/^Host: [^:]+(.*\r\n)/im, `$&Host: ${second}$1`)
      return write(head, ...rest)
    }
    return socket
  }
}
