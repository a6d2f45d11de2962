// Reads slow expressions of a graph in threads, before a run of the graph begins.

import type { ExpressionReaderContext } from '../node-api/node-facts.ts'
import type { CompilationResult } from './compiler.ts'
import { createExpressionIssue } from './node-constants.ts'

/** A client waits meanwhile. Expressions that are not read in time are read by the firings. */
const TIME_LIMIT_MS = 5_000
/** After so many issues, further expressions are left to the firings as well. */
const MAX_ISSUES = 100

export interface ExpressionReaderServices extends Omit<ExpressionReaderContext, 'signal'> {
  /** Resolves after other work of the main thread had its turn. */
  turn(): Promise<void>
}

/** The time limit for the expressions of one graph, or of several graphs in one request. */
export function createExpressionDeadline(): AbortSignal {
  return AbortSignal.timeout(TIME_LIMIT_MS)
}

/**
 * Reads the pending expressions of a compiled graph, one after the other, and adds their issues. Expressions that are not read when
 * `signal` aborts stay pending, and the next call continues with them. Several calls may overlap.
 */
export async function validatePendingExpressions(
  { pendingExpressions, issues }: CompilationResult,
  { turn, ...services }: ExpressionReaderServices,
  signal = createExpressionDeadline(),
): Promise<void> {
  const late = Promise.withResolvers<null>()
  signal.addEventListener('abort', () => late.resolve(null), { once: true })
  let found = 0
  for (const expression of pendingExpressions) {
    await turn()
    if (signal.aborted) return
    if (!pendingExpressions.has(expression)) continue
    const reading = expression.validate({ ...services, signal }).catch(() => null)
    const wrong = await Promise.race([reading, late.promise])
    if (signal.aborted) return
    if (!pendingExpressions.delete(expression) || wrong === null) continue
    issues.push(createExpressionIssue(expression.node_id, expression.property, wrong))
    if (++found === MAX_ISSUES) return pendingExpressions.clear()
  }
}
