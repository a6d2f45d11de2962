// Rate limits over HTTP: counts a request before its credential is checked, sets the headers of the limit, and refuses excess requests.
// access/rate-limiter.ts says which caller a request counts for.
import type { RequestHandler, Response } from 'express'
import { formatRateLimitHeaders, type RateLimiter, type RateLimitResult } from '../../access/rate-limiter.ts'
import type { RequestFacts } from '../../access/request-facts.ts'
import { ServiceError } from '../../errors.ts'
import type { createOperationFinder } from './route-paths.ts'

/** Counts each request by its caller, and requests of operations with the limit `sign_in` a second time. */
export function enforceRateLimits(
  limiter: RateLimiter,
  findOperations: ReturnType<typeof createOperationFinder>,
  factsOf: (response: Response) => RequestFacts,
): RequestHandler {
  return (request, response, next) => {
    const facts = factsOf(response)
    const taken = limiter.take(facts)
    if (!taken) return next()
    const all = [taken]
    const method = request.method.toLowerCase()
    const target = findOperations(request.path).find((operation) => operation.method === method)
    // A request that is refused does not use up an attempt to sign in.
    const signIn = taken.allowed && target?.rate_limit === 'sign_in' ? limiter.take(facts, 'sign_in') : null
    if (signIn) all.push(signIn)
    for (const [name, value] of Object.entries(formatRateLimitHeaders(all))) response.setHeader(name, value)
    throwIfLimited(all)
    next()
  }
}

function throwIfLimited(all: readonly RateLimitResult[]): void {
  const exceeded = all.find(({ allowed }) => !allowed)
  if (exceeded) throw new ServiceError('RATE_LIMITED', { headers: { 'Retry-After': String(exceeded.reset_seconds) } })
}
