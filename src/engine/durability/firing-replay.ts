// A firing of which something is known from before an interruption: it comes out as it had, waits on, or may not run again.

import type { OutputValues } from '../node-api/node-type.ts'
import { NO_FAILED_ATTEMPTS } from '../runtime/firings/attempts.ts'
import { ItemSource } from '../runtime/firings/firing.ts'
import type { NodeCodeRunner } from '../runtime/firings/node-code-runner.ts'
import type { ReorderBuffer } from '../runtime/firings/reorder-buffer.ts'
import { FailureToken } from '../runtime/streams/tokens.ts'
import type { FiringRecord } from './firing-record.ts'
import { type FiringEnd, type FiringHistory, UnreadValue } from './journal.ts'

/** What stands for a firing that had ended: its outputs or failure, or null where the run has failed. Never of one that was unwanted. */
export function restoreFiringEnd(
  end: Exclude<FiringEnd, { unwanted: true }>,
  codeRunner: NodeCodeRunner,
): OutputValues | FailureToken | null {
  if ('outputs' in end) return end.outputs
  const { type, message, from } = end.failure
  return from ? new FailureToken(from, type, message) : codeRunner.restoreFailure(end.failure)
}

/** Goes on with a firing as far as it is known. False: it has to run. */
export function replayFiring(
  record: FiringRecord,
  history: FiringHistory,
  reorderBuffer: ReorderBuffer,
  codeRunner: NodeCodeRunner,
): boolean {
  record.failedAttempts = history.attempts ?? NO_FAILED_ATTEMPTS
  record.knownSteps = history.steps
  if (history.end) replayEnd(history.end, history.items, reorderBuffer, codeRunner)
  else if (history.wait && history.answer) reorderBuffer.addAnswer(record, history.answer.value)
  else if (history.wait) reorderBuffer.addWait(record, history.wait, true)
  else {
    record.knownItems = history.items
    if (!history.started && (history.items.length === 0 || record.canRepeat)) return false
    codeRunner.fail(record.createInterruptedError())
  }
  return true
}

function replayEnd(
  end: FiringEnd,
  items: FiringHistory['items'],
  reorderBuffer: ReorderBuffer,
  codeRunner: NodeCodeRunner,
): void {
  const source = new ItemSource(null, false)
  // Those that are not in memory weigh nothing.
  for (const item of items) source.push(item as OutputValues)
  source.validate = UnreadValue.read
  if ('unwanted' in end) {
    reorderBuffer.addStream(source)
    return
  }
  const result = restoreFiringEnd(end, codeRunner)
  if (codeRunner.stopped) return
  if (items.length === 0) {
    reorderBuffer.addResult(result)
    return
  }
  source.result = result
  source.hasEnded = true
  reorderBuffer.addStream(source)
}
