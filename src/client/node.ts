// The client for Node: sockets by `ws`, uploads as streams.

import { Client } from './client.ts'
import type { ClientOptions } from './client-options.ts'
import { openNodeSocket } from './socket/node-websocket.ts'
import { sendUploadAsStream } from './uploads/node-sender.ts'

export { JobError, ServiceError } from './errors.ts'
export type * from './public.ts'

/**
 * Creates a client of the service at `options.url`. The client connects at its first request, and closes an idle connection.
 * @throws TypeError where the URL is not an HTTP URL, or holds a password
 */
export function createClient(options: ClientOptions): Client {
  return new Client(options, { openSocket: openNodeSocket, sendUpload: sendUploadAsStream })
}
