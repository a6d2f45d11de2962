// Counts requests for the metrics, by operation and status.
import type { Request } from 'express'
import type { AppContext } from '../../context.ts'
import type { createOperationFinder } from './route-paths.ts'

export function countRequest({ metrics }: AppContext, operation: string, status: number): void {
  metrics.requests.add(`${operation} ${status}`, () => ({ operation, status }))
}

export type UnhandledRequestCounter = (request: Request, status: number) => void

/** Counts requests that reach no handler, under the operation of their path and method. */
export function createUnhandledRequestCounter(
  context: AppContext,
  findOperations: ReturnType<typeof createOperationFinder>,
): UnhandledRequestCounter {
  return (request, status) => {
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    const operations = findOperations(request.path)
    countRequest(context, operations.find((one) => one.method === method)?.operationId ?? 'none', status)
  }
}
