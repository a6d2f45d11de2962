// Reads the expressions of a graph that take long to read, in threads, before a run of the graph begins.
import { expressionIssue } from './constants.ts'
import type { GraphIssue } from './graph.ts'
import type { PendingExpression } from './issues.ts'
import type { ReaderContext } from './node-type.ts'
import type { Compiled } from './plan.ts'

/** For all expressions of one graph. A client waits meanwhile; what is not read by then is left to the firings. */
const TIME_LIMIT_MS = 5_000
const MOST_ISSUES = 100

export interface ReaderServices extends Omit<ReaderContext, 'signal'> {
  /** Resolves when other work of the main thread has had its turn. */
  turn(): Promise<void>
}

/**
 * Reads the pending expressions of a compiled graph and adds what is wrong to its issues. After that none is pending. Two calls may overlap: the first to end
 * counts.
 */
export async function readPendingExpressions(
  compiled: Compiled,
  services: ReaderServices,
  time_limit_ms = TIME_LIMIT_MS,
): Promise<void> {
  const { pending } = compiled
  const found = await issuesOf(pending, services, time_limit_ms)
  if (compiled.pending !== pending) return
  compiled.pending = []
  compiled.issues = [...compiled.issues, ...found]
}

async function issuesOf(
  pending: readonly PendingExpression[],
  { turn, ...services }: ReaderServices,
  time_limit_ms: number,
): Promise<GraphIssue[]> {
  const signal = AbortSignal.timeout(time_limit_ms)
  const late = Promise.withResolvers<null>()
  signal.addEventListener('abort', () => late.resolve(null), { once: true })
  const issues: GraphIssue[] = []
  for (const { node_id, property, read } of pending) {
    await turn()
    if (signal.aborted || issues.length >= MOST_ISSUES) break
    const reading = read({ ...services, signal }).catch(() => null)
    const wrong = await Promise.race([reading, late.promise])
    if (wrong !== null) issues.push(expressionIssue(node_id, property, wrong))
  }
  return issues
}
