// Clients that ask before they send (RFC 9110, section 10.1.1): they are told to go on when somebody begins to read their body, and not before. Whoever
// is refused by its head sends nothing.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>()

/** Has requests that ask answered like any other. */
export function acceptExpectContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    awaitingContinue.set(request, response)
    server.emit('request', request, response)
  })
}

/** Whether a client waits for a word before it sends its body. */
export function isAwaitingContinue(request: IncomingMessage): boolean {
  return awaitingContinue.has(request)
}

/** Tells a client that asked to send its body. For others, and a second time, it does nothing. */
export function sendContinue(request: IncomingMessage): void {
  const response = awaitingContinue.get(request)
  awaitingContinue.delete(request)
  if (response && !response.headersSent && !response.destroyed) response.writeContinue()
}
