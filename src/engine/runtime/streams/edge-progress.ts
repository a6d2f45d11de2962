// Reports the traffic on edges to followers, without reporting every token.

import type { RunObserver } from '../run/observer.ts'
import type { Inbox } from './inbox.ts'
import { FailureToken, NO_VALUE, StreamEndToken } from './tokens.ts'

/** At most one report per edge in this time, except the first and the last. */
const REPORT_INTERVAL_MS = 100

/** Reports a token at `time` (monotonic milliseconds). `inbox` is null if the edge carries a single value. */
export function reportEdgeProgress(
  observer: RunObserver,
  time: number,
  edge: string,
  inbox: Inbox | null,
  token: unknown,
): void {
  const empty = token === NO_VALUE || token instanceof FailureToken
  if (inbox === null) observer.edgeUpdated(edge, 'completed', empty ? 0 : 1)
  else if (empty) return
  else if (token instanceof StreamEndToken) {
    if (token.level === 1) observer.edgeUpdated(edge, 'completed', inbox.valueCount)
  } else {
    inbox.valueCount++
    if (inbox.reportedAt >= 0 && time - inbox.reportedAt < REPORT_INTERVAL_MS) return
    inbox.reportedAt = time
    observer.edgeUpdated(edge, 'active', inbox.valueCount)
  }
}
