// Values that are written in a language and take long to read: read away from the main thread, before anything of their graph runs.
import { unreadable } from './constants.ts'
import type { GraphIssue } from './graph.ts'
import type { Unread } from './issues.ts'
import type { Apart } from './node-type.ts'
import type { Compiled } from './plan.ts'

/** Milliseconds, for all of a graph. Whoever stores it or runs it waits for them; what is not read by then is left to its firing. */
const LONGEST_MS = 5_000
/** How many issues are found. */
const MOST_ISSUES = 100

export interface ReadingApart extends Pick<Apart, 'compute' | 'sandbox' | 'owner'> {
  /** Waits until others have had their turns. */
  turn(): Promise<void>
}

/** Completes the issues of a compiled graph: what it had left unread is read, or left to the firings that need it. Several may do so at the same time. */
export async function readUnread(compiled: Compiled, apart: ReadingApart, longest_ms = LONGEST_MS): Promise<void> {
  const { unread } = compiled
  const found = await issuesOf(unread, apart, longest_ms)
  if (compiled.unread !== unread) return
  compiled.unread = []
  compiled.issues = [...compiled.issues, ...found]
}

async function issuesOf(
  unread: readonly Unread[],
  { turn, ...where }: ReadingApart,
  longest_ms: number,
): Promise<GraphIssue[]> {
  const signal = AbortSignal.timeout(longest_ms)
  const late = Promise.withResolvers<null>()
  signal.addEventListener('abort', () => late.resolve(null), { once: true })
  const found: GraphIssue[] = []
  for (const { node_id, property, read } of unread) {
    await turn()
    if (signal.aborted || found.length >= MOST_ISSUES) break
    const reading = read({ ...where, signal }).catch(() => null)
    const wrong = await Promise.race([reading, late.promise])
    if (wrong !== null) found.push(unreadable(node_id, property, wrong))
  }
  return found
}
