// Reads the expressions of a graph that take long to read, in threads, before a run of the graph begins.

import type { ExpressionReaderContext } from '../node-api/node-type.ts'
import type { CompilationResult } from './compiler.ts'
import { createExpressionIssue } from './node-constants.ts'

/** A client waits meanwhile. What is not read by then is left to the firings. */
const TIME_LIMIT_MS = 5_000
/** What is not read when so many issues are found is left to the firings as well. */
const MAX_ISSUES = 100

export interface ExpressionReaderServices extends Omit<ExpressionReaderContext, 'signal'> {
  /** Resolves when other work of the main thread has had its turn. */
  turn(): Promise<void>
}

/** The time limit for the expressions of one graph, or of several that a client waits for. */
export function createExpressionDeadline(): AbortSignal {
  return AbortSignal.timeout(TIME_LIMIT_MS)
}

/**
 * Reads the pending expressions of a compiled graph, one after the other, and adds what is wrong to its issues. Those that are not read when `signal` aborts
 * stay pending: the next call goes on with them. Several calls may overlap.
 */
export async function validatePendingExpressions(
  { pendingExpressions: pending, issues }: CompilationResult,
  { turn, ...services }: ExpressionReaderServices,
  signal = createExpressionDeadline(),
): Promise<void> {
  const late = Promise.withResolvers<null>()
  signal.addEventListener('abort', () => late.resolve(null), { once: true })
  let found = 0
  for (const expression of pending) {
    await turn()
    if (signal.aborted) return
    if (!pending.has(expression)) continue
    const reading = expression.validate({ ...services, signal }).catch(() => null)
    const wrong = await Promise.race([reading, late.promise])
    if (signal.aborted) return
    if (!pending.delete(expression) || wrong === null) continue
    issues.push(createExpressionIssue(expression.node_id, expression.property, wrong))
    if (++found === MAX_ISSUES) return pending.clear()
  }
}
