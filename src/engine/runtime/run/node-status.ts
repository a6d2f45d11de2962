// Reports the status of a node to the followers of its run: when it fires first, and once it is closed.
import type { PlanNode } from '../../compile/plan.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import type { RunObserver } from './observer.ts'
import type { RunParticipant } from './participant.ts'

export function reportNodeBegin(observer: RunObserver, { observed }: PlanNode): void {
  observer.nodeUpdated(observed, 'running')
}

/** Prepares a large result for `reportNodeEnd`; null if it is ready. */
export function prepareNodeResult(
  observer: RunObserver,
  { node, lastFailureMessage }: RunParticipant,
  result: OutputValues,
): Promise<void> | null {
  if (lastFailureMessage !== null) return null
  return observer.prepareResult?.(node.observed, { result, streamed: node.streamedOutputs }) ?? null
}

export function reportNodeEnd(
  observer: RunObserver,
  { node: { observed, output, streamedOutputs }, lastFailureMessage }: RunParticipant,
  fired: boolean,
  result: OutputValues,
): void {
  if (lastFailureMessage !== null) observer.nodeUpdated(observed, 'error', { error: lastFailureMessage })
  else if (fired) observer.nodeUpdated(observed, 'completed', { result, streamed: streamedOutputs })
  else observer.nodeUpdated(observed, 'skipped')
  if (output) observer.outputDone?.(observed, output.name)
}
