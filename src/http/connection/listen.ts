// Begins to listen, and says in one line why that is not possible.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StartError } from '../../start-error.ts'

/**
 * Connections that the operating system queues for the service. Beyond it none is accepted, and clients try again after a second. With Node's 511, a
 * burst of one user made others wait. The system's own limit (`net.core.somaxconn`) may be lower.
 */
export const LISTEN_BACKLOG = 4_096

export interface ListenAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** Resolves with `http://host:port`, with the actual port. @throws StartError */
export function listen(server: Server, { host, port }: ListenAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(createListenError(error, host, port)))
    server.listen({ port, host, backlog: LISTEN_BACKLOG }, () => {
      const address = server.address() as AddressInfo
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
      resolve(`http://${name}:${address.port}`)
    })
  })
}

function createListenError(error: NodeJS.ErrnoException, host: string, port: number): StartError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} on ${host} is in use; stop what listens there, or choose another with --port`,
    EACCES: `port ${port} on ${host} needs more rights than this user has; choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; choose another with --host`,
    ENOTFOUND: `the host name ${host} is not known; choose another with --host`,
  }
  const reason = reasons[error.code ?? ''] ?? `cannot listen on ${host} port ${port} (${error.code ?? error.message})`
  return new StartError(reason, { cause: error })
}
