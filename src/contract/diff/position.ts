// A compared position in both versions: its documents, which side sends the value, and whether clients may rely on it.

import type { JsonMap } from '../json.ts'
import type { DifferenceCollector, DifferenceVerdict } from './differences.ts'

/** `request`: clients send the value. `response`: servers send it. */
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
  /** False for a planned operation: no client can use it, so none of its changes is breaking. */
  readonly live: boolean
  readonly at: string
}

/** Returns the position one step further in. */
export function childPosition(place: DiffPosition, step: string): DiffPosition {
  return { ...place, at: `${place.at}${step}` }
}

/** Records a difference at a position. */
export function noteDifference(
  place: Pick<DiffPosition, 'findings' | 'live' | 'at'>,
  verdict: DifferenceVerdict,
  rule: string,
  message: string,
): void {
  place.findings.add(verdict === 'breaking' && !place.live ? 'risky' : verdict, rule, place.at, message)
}

/**
 * Records that the range of values became narrower or wider at a position. A narrower range affects the sender, a wider range the receiver.
 * `surprise` is the verdict on a wider range for the receiver.
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
