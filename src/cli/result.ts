// How a run in the terminal ends: what is written where, and the exit code.
import type { Outcome } from '../engine/execution.ts'
import type { Plan } from '../engine/plan.ts'
import { allOutputs, outputValues } from '../jobs/manifest.ts'
import { jsonText } from '../json.ts'
import { EXIT, stopCode } from './terminal.ts'
import { duration, harmless, oneLine } from './text.ts'

export interface Ending {
  readonly code: number
  /** `completed`, `failed` …, as `svc run` says it. */
  readonly word: string
  /** The outputs as JSON text. */
  readonly outputs: string | null
  /** What went wrong, or null. */
  readonly error: string | null
}

export interface Circumstances {
  readonly plan: Plan
  readonly stop: AbortSignal
  /** Whether the time was up, and how long that was. */
  readonly overtime: { readonly is: boolean; readonly seconds: number | null }
}

export function endingOf(outcome: Outcome, { plan, stop, overtime }: Circumstances): Ending {
  if (outcome.status === 'completed') return completed(plan, outcome.outputs)
  if (outcome.status === 'failed') return failed(plan, outcome.error)
  if (overtime.is) {
    const error = `the run did not end within ${duration((overtime.seconds ?? 0) * 1000)}`
    return { code: EXIT.timed_out, word: 'timed out', outputs: null, error }
  }
  return { code: stopCode(stop), word: 'cancelled', outputs: null, error: null }
}

function completed(plan: Plan, lists: Record<string, unknown[]>): Ending {
  try {
    // Written as every other door writes it, bytes as base64, and then laid out for people.
    const values: unknown = JSON.parse(jsonText(allOutputs(plan, outputValues(plan, lists))))
    return { code: EXIT.completed, word: 'completed', outputs: JSON.stringify(values, null, 2), error: null }
  } catch {
    return {
      code: EXIT.failed,
      word: 'failed',
      outputs: null,
      error: 'the outputs are too large to be written as JSON',
    }
  }
}

function failed(plan: Plan, { node_id, type, message }: { node_id: string; type: string; message: string }): Ending {
  const index = plan.indexById.get(node_id)
  const node_type = index === undefined ? null : plan.nodes[index]!.observed.node_type
  const node = node_type === null ? '' : ` at node "${oneLine(node_id)}" (${node_type})`
  return { code: EXIT.failed, word: 'failed', outputs: null, error: `failed${node}: ${harmless(message)} (${type})` }
}
