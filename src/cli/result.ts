// How a run in the terminal ends: what is written where, and the exit code.
import type { Outcome } from '../engine/execution.ts'
import type { RunError } from '../engine/observer.ts'
import type { Plan } from '../engine/plan.ts'
import { allOutputs, outputValues } from '../jobs/manifest.ts'
import { jsonText } from '../json.ts'
import { EXIT, stopCode } from './terminal.ts'
import { harmless, oneLine } from './text.ts'

export interface Ending {
  readonly code: number
  /** `completed`, `failed` …, as `svc run` says it. */
  readonly word: string
  /** The outputs as JSON text. */
  readonly outputs: string | null
  /** What went wrong, or null. */
  readonly error: string | null
}

export function endingOf(outcome: Outcome, plan: Plan, stop: AbortSignal): Ending {
  if (outcome.status === 'completed') return completed(plan, outcome.outputs)
  if (outcome.status === 'cancelled') return { code: stopCode(stop), word: 'cancelled', outputs: null, error: null }
  if (outcome.status === 'suspended')
    throw new Error('a run in the terminal has no memory, so that it cannot be suspended')
  return failed(plan, outcome.error)
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

function failed(plan: Plan, { node_id, type, message }: RunError): Ending {
  const index = plan.indexById.get(node_id)
  const said = `${harmless(message)} (${type})`
  if (index === undefined) {
    // Of no node: the time limit of the run itself, or a fault of the engine.
    const [code, word] = type === 'timed_out' ? [EXIT.timed_out, 'timed out'] : [EXIT.failed, 'failed']
    return { code, word, outputs: null, error: `${word}: ${said}` }
  }
  const node = `node "${oneLine(node_id)}" (${plan.nodes[index]!.observed.node_type})`
  return { code: EXIT.failed, word: 'failed', outputs: null, error: `failed at ${node}: ${said}` }
}
