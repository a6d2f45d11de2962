// The limits of callers over HTTP: counts a request before anybody asks whose it is, tells its caller what is left, and
// refuses what is too much. Who is counted, and how, is left to access/limiter.
import type { RequestHandler, Response } from 'express'
import { formatRateLimitHeaders, type RateLimiter, type RateLimitResult } from '../../access/rate-limiter.ts'
import type { RequestFacts } from '../../access/request-facts.ts'
import { ServiceError } from '../../errors.ts'
import type { createOperationFinder } from './route-paths.ts'

/** Counts each request by its caller, and those of operations with the limit `sign_in` a second time. */
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
    const asked = findOperations(request.path).find((operation) => operation.method === method)
    // Whoever has nothing left cannot use up what it may try to sign in with.
    const signIn = taken.allowed && asked?.rate_limit === 'sign_in' ? limiter.take(facts, 'sign_in') : null
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
