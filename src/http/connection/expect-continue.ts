// Answers `Expect: 100-continue` (RFC 9110, section 10.1.1): a client is told to send its body when a handler begins to read it, and not before. A
// client that is refused by its head sends nothing.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>()

/** Handles requests with this expectation like any other. */
export function acceptExpectContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    awaitingContinue.set(request, response)
    server.emit('request', request, response)
  })
}

/** Whether a client waits for 100 Continue before it sends its body. */
export function isAwaitingContinue(request: IncomingMessage): boolean {
  return awaitingContinue.has(request)
}

/** Sends 100 Continue to a client that expects it. For other clients, and a second time, this does nothing. */
export function sendContinue(request: IncomingMessage): void {
  const response = awaitingContinue.get(request)
  awaitingContinue.delete(request)
  if (response && !response.headersSent && !response.destroyed) response.writeContinue()
}
