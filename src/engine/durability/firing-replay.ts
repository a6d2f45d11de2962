// Restores a firing from its history: its result is replayed, its wait is resumed, or it fails as it must not run again.

import type { OutputValues } from '../node-api/firing-forms.ts'
import { ItemSource } from '../runtime/firings/firing.ts'
import type { NodeCodeRunner } from '../runtime/firings/node-code-runner.ts'
import type { ReorderBuffer } from '../runtime/firings/reorder-buffer.ts'
import { FailureToken } from '../runtime/streams/tokens.ts'
import type { FiringRecord } from './firing-record.ts'
import { type FiringEnd, type FiringHistory, UnreadValue } from './journal.ts'

/** The outputs or failure of a firing that had ended; null if the run has failed. */
export function restoreFiringEnd(
  end: Exclude<FiringEnd, { unwanted: true }>,
  codeRunner: NodeCodeRunner,
): OutputValues | FailureToken | null {
  if ('outputs' in end) return end.outputs
  const { type, message, from } = end.failure
  return from ? new FailureToken(from, type, message) : codeRunner.restoreFailure(end.failure)
}

/** Continues a firing from its history. False: the firing has to run. */
export function replayFiring(
  record: FiringRecord,
  history: FiringHistory,
  reorderBuffer: ReorderBuffer,
  codeRunner: NodeCodeRunner,
): boolean {
  record.attempts.restore(history)
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
  // Items that are not in memory do not count as held memory.
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
