// The limits of callers over HTTP: counts a request before anybody asks whose it is, tells its caller what is left, and
// refuses what is too much. Who is counted, and how, is left to access/limiter.
import type { RequestHandler, Response } from 'express'
import type { RequestFacts } from '../access/facts.ts'
import { limitHeaders, type RateLimiter, type Taken } from '../access/limiter.ts'
import { ServiceError } from '../errors.ts'
import type { claimFinder } from './paths.ts'

/** Counts each request by its caller, and those of operations with the limit `sign_in` a second time. */
export function limit(
  limiter: RateLimiter,
  claims: ReturnType<typeof claimFinder>,
  factsOf: (response: Response) => RequestFacts,
): RequestHandler {
  return (request, response, next) => {
    const facts = factsOf(response)
    const taken = limiter.take(facts)
    if (!taken) return next()
    const all = [taken]
    const method = request.method.toLowerCase()
    const asked = claims(request.path).find((operation) => operation.method === method)
    // Whoever has nothing left cannot use up what it may try to sign in with.
    const besides = taken.allowed && asked?.rate_limit === 'sign_in' ? limiter.take(facts, 'sign_in') : null
    if (besides) all.push(besides)
    for (const [name, value] of Object.entries(limitHeaders(all))) response.setHeader(name, value)
    refuseBeyond(all)
    next()
  }
}

function refuseBeyond(all: readonly Taken[]): void {
  const beyond = all.find(({ allowed }) => !allowed)
  if (beyond) throw new ServiceError('RATE_LIMITED', { headers: { 'Retry-After': String(beyond.reset_seconds) } })
}
