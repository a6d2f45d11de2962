// Functions that run when an answer closes. All of one response share one listener: Node warns of an emitter with more than ten, and a stream that is
// piped into a response adds seven.
import type { ServerResponse } from 'node:http'

/**
 * A property of the response, not a WeakMap: V8 keeps the values of a WeakMap that has grown old until it collects its old generation. These functions
 * refer to the response, so that each request with all that it used would stay until then; that cost a quarter of the time of a stored run.
 */
const PENDING_CALLBACKS = Symbol('pending')

/** Runs `run` once the response is closed, in the order of these calls. A response that is closed already never runs it. */
export function onResponseClose(
  response: ServerResponse & { [PENDING_CALLBACKS]?: (() => void)[] },
  run: () => void,
): void {
  const before = response[PENDING_CALLBACKS]
  if (before) {
    before.push(run)
    return
  }
  const runs = [run]
  response[PENDING_CALLBACKS] = runs
  response.once('close', () => {
    for (const one of runs) one()
  })
}
