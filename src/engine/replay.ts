// A firing of which something is known from before an interruption: it comes out as it had, waits on, or may not run again.
import { UNTRIED } from './attempts.ts'
import { ItemSource } from './firing.ts'
import { type FiringEnd, type Remembered, Unread } from './journal.ts'
import type { Memo } from './memo.ts'
import type { Outputs } from './node-type.ts'
import type { ResultsWindow } from './results-window.ts'
import type { Tasks } from './tasks.ts'
import { Failure } from './tokens.ts'

/** What stands for a firing that had ended: its outputs or failure, or null where the run has failed. Never of one that was unwanted. */
export function endOfKnown(end: Exclude<FiringEnd, { unwanted: true }>, tasks: Tasks): Outputs | Failure | null {
  if ('outputs' in end) return end.outputs
  const { type, message, from } = end.failure
  return from ? new Failure(from, type, message) : tasks.failAgain(end.failure)
}

/** Goes on with a firing as far as it is known. False: it has to run. */
export function replay(memo: Memo, known: Remembered, results: ResultsWindow, tasks: Tasks): boolean {
  memo.tried = known.attempts ?? UNTRIED
  memo.knownSteps = known.steps
  if (known.end) replayEnd(known.end, known.items, results, tasks)
  else if (known.wait && known.answer) results.settleAnswer(memo, known.answer.value)
  else if (known.wait) results.wait(memo, known.wait, true)
  else {
    memo.known = known.items
    if (!known.started && (known.items.length === 0 || memo.repeats)) return false
    tasks.fail(memo.interrupted())
  }
  return true
}

function replayEnd(end: FiringEnd, items: Remembered['items'], results: ResultsWindow, tasks: Tasks): void {
  const source = new ItemSource(null, false)
  // Those that are not in memory weigh nothing.
  for (const item of items) source.push(item as Outputs)
  source.judge = Unread.now
  if ('unwanted' in end) {
    results.open(source)
    return
  }
  const result = endOfKnown(end, tasks)
  if (tasks.stopped) return
  if (items.length === 0) {
    results.settle(result)
    return
  }
  source.result = result
  source.ended = true
  results.open(source)
}
