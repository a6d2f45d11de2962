// How long a request of the lifecycle profile may take. Runs, uploads and streams are excepted: they take as long as they take.
import { ServiceError } from '../errors.ts'

export const REQUEST_TIMEOUT_SECONDS = 30

/**
 * What `work` gives, unless it takes longer than a request may. Then its signal aborts: what looks at it ends, and what becomes of the rest
 * is nobody's business any more.
 * @throws SERVICE_UNAVAILABLE where the time is up
 */
export async function withRequestTimeout<T>(
  work: (late: AbortSignal) => T | Promise<T>,
  seconds = REQUEST_TIMEOUT_SECONDS,
): Promise<T> {
  const late = new AbortController()
  const result = work(late.signal)
  if (!(result instanceof Promise)) return result
  const up = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.abort()
    // An error of the work comes first: it may name what the work has begun.
    setImmediate(() => up.reject(new ServiceError('SERVICE_UNAVAILABLE')))
  }, seconds * 1_000)
  const timely = result.then((value) => (late.signal.aborted ? up.promise : value))
  return Promise.race([timely, up.promise]).finally(() => clearTimeout(timer))
}
