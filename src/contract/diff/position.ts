// A position in both versions that is compared: which documents, who sends what stands there, and whether anybody may count on it.

import type { JsonMap } from '../json.ts'
import type { DifferenceCollector, DifferenceVerdict } from './differences.ts'

/** `request`: clients send it. `response`: servers do. */
export type MessageDirection = 'request' | 'response'

/** Two versions of one document. */
export interface DocumentPair {
  readonly old: JsonMap
  readonly new: JsonMap
}

export interface DiffPosition {
  readonly documents: DocumentPair
  readonly findings: DifferenceCollector
  readonly direction: MessageDirection
  /** False for what was only planned: nobody could use it, so nothing of it breaks anybody. */
  readonly live: boolean
  readonly at: string
}

/** The same position one step further in. */
export function childPosition(place: DiffPosition, step: string): DiffPosition {
  return { ...place, at: `${place.at}${step}` }
}

/** Notes a difference at a place. */
export function noteDifference(
  place: Pick<DiffPosition, 'findings' | 'live' | 'at'>,
  verdict: DifferenceVerdict,
  rule: string,
  message: string,
): void {
  place.findings.add(verdict === 'breaking' && !place.live ? 'risky' : verdict, rule, place.at, message)
}

/**
 * Notes that values were taken away or added at a place. Who sends them suffers from what is no longer accepted, who gets them from what was
 * never announced; `surprise` is how bad the latter is.
 */
export function noteRangeChange(
  place: DiffPosition,
  change: 'narrower' | 'wider',
  rule: string,
  message: string,
  surprise: DifferenceVerdict,
): void {
  const hurts = place.direction === 'request' ? change === 'narrower' : change === 'wider'
  const verdict = !hurts ? 'additive' : place.direction === 'request' ? 'breaking' : surprise
  noteDifference(place, verdict, rule, message)
}
