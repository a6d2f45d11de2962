// Tells watchers what travels along the edges, without telling every token.
import type { Inbox } from './inbox.ts'
import type { RunObserver } from './observer.ts'
import { End, Failure, NOTHING } from './tokens.ts'

/** At most one report per edge and so many milliseconds, the first and the last aside. */
const INTERVAL = 100

/** Reports a token at `time` (monotonic milliseconds). `inbox` is null where the edge carries one value only. */
export function reportToken(
  observer: RunObserver,
  time: number,
  edge: string,
  inbox: Inbox | null,
  token: unknown,
): void {
  const empty = token === NOTHING || token instanceof Failure
  if (inbox === null) observer.edgeUpdated(edge, 'completed', empty ? 0 : 1)
  else if (empty) return
  else if (token instanceof End) {
    if (token.level === 1) observer.edgeUpdated(edge, 'completed', inbox.counter)
  } else {
    inbox.counter++
    if (inbox.reported >= 0 && time - inbox.reported < INTERVAL) return
    inbox.reported = time
    observer.edgeUpdated(edge, 'active', inbox.counter)
  }
}
