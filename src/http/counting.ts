// Requests as the metrics count them: by operation and status.
import type { Request } from 'express'
import type { AppContext } from '../context.ts'
import type { claimFinder } from './paths.ts'

export function count({ metrics }: AppContext, operation: string, status: number): void {
  metrics.requests.add(`${operation} ${status}`, () => ({ operation, status }))
}

export type Counted = (request: Request, status: number) => void

/** Counts requests that come to no handler, under the operation that they asked for. */
export function countByClaim(context: AppContext, claims: ReturnType<typeof claimFinder>): Counted {
  return (request, status) => {
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    const claimed = claims(request.path)
    count(context, claimed.find((one) => one.method === method)?.operationId ?? 'none', status)
  }
}
