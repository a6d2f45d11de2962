// A position in both versions that is compared: which documents, who sends what stands there, and whether anybody may count on it.
import type { Findings, Verdict } from './difference.ts'
import type { JsonMap } from './json.ts'

/** `request`: clients send it. `response`: servers do. */
export type Direction = 'request' | 'response'

/** Two versions of one document. */
export interface Pair {
  readonly old: JsonMap
  readonly new: JsonMap
}

export interface Place {
  readonly documents: Pair
  readonly findings: Findings
  readonly direction: Direction
  /** False for what was only planned: nobody could use it, so nothing of it breaks anybody. */
  readonly live: boolean
  readonly at: string
}

/** The same position one step further in. */
export function into(place: Place, step: string): Place {
  return { ...place, at: `${place.at}${step}` }
}

/** Notes a difference at a place. */
export function note(
  place: Pick<Place, 'findings' | 'live' | 'at'>,
  verdict: Verdict,
  rule: string,
  message: string,
): void {
  place.findings.add(verdict === 'breaking' && !place.live ? 'risky' : verdict, rule, place.at, message)
}

/**
 * Notes that values were taken away or added at a place. Who sends them suffers from what is no longer accepted, who gets them from what was
 * never announced; `surprise` is how bad the latter is.
 */
export function noteRange(
  place: Place,
  change: 'narrower' | 'wider',
  rule: string,
  message: string,
  surprise: Verdict,
): void {
  const hurts = place.direction === 'request' ? change === 'narrower' : change === 'wider'
  const verdict = !hurts ? 'additive' : place.direction === 'request' ? 'breaking' : surprise
  note(place, verdict, rule, message)
}
