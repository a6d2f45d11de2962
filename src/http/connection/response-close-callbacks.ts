// Callbacks that run when a response closes. Those of one response share one listener: Node warns of more than ten listeners, and a stream that is
// piped into a response adds seven.
import type { ServerResponse } from 'node:http'

/**
 * A property of the response, not a WeakMap: V8 keeps the values of an old WeakMap until it collects its old generation. The callbacks refer to the
 * response, so each request with all its data would stay until then. That took a quarter of the time of a stored run.
 */
const PENDING_CALLBACKS = Symbol('pending')

/** Runs the callbacks of a response in the order of these calls. A response that is closed already never runs them. */
export function onResponseClose(
  response: ServerResponse & { [PENDING_CALLBACKS]?: (() => void)[] },
  run: () => void,
): void {
  const pending = response[PENDING_CALLBACKS]
  if (pending) {
    pending.push(run)
    return
  }
  const callbacks = [run]
  response[PENDING_CALLBACKS] = callbacks
  response.once('close', () => {
    for (const callback of callbacks) callback()
  })
}
