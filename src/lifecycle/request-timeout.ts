// Limits the time of requests of the lifecycle profile. Runs, uploads and streams have no such limit.
import { ServiceError } from '../errors.ts'

export const REQUEST_TIMEOUT_SECONDS = 30

/**
 * Returns the result of `work`, unless it takes longer than a request may. Then the signal aborts, and the result of the work is ignored.
 * @throws SERVICE_UNAVAILABLE when the time is up
 */
export async function withRequestTimeout<T>(
  work: (late: AbortSignal) => T | Promise<T>,
  seconds = REQUEST_TIMEOUT_SECONDS,
): Promise<T> {
  const late = new AbortController()
  const result = work(late.signal)
  if (!(result instanceof Promise)) return result
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.abort()
    // An error of the work takes precedence, because it may name the job that the work has started.
    setImmediate(() => timeout.reject(new ServiceError('SERVICE_UNAVAILABLE')))
  }, seconds * 1_000)
  const timely = result.then((value) => (late.signal.aborted ? timeout.promise : value))
  return Promise.race([timely, timeout.promise]).finally(() => clearTimeout(timer))
}
