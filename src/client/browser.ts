// The client as it is imported in browsers: the global WebSocket and XMLHttpRequest.

import { Client } from './client.ts'
import type { ClientOptions } from './client-options.ts'
import { openBrowserSocket } from './socket/browser-websocket.ts'
import { sendUploadAsForm } from './uploads/browser-sender.ts'

export { JobError, ServiceError } from './errors.ts'
export type * from './public.ts'

/**
 * A client of the service at `options.url`. It connects when it first has to, and lets go of an idle connection.
 * @throws TypeError where the url is none of HTTP, or holds a password
 */
export function createClient(options: ClientOptions): Client {
  return new Client(options, { openSocket: openBrowserSocket, sendUpload: sendUploadAsForm })
}
