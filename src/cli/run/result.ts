// The end of a run in the terminal: its outputs, its error and its exit code.

import type { Plan } from '../../engine/compile/compiler.ts'
import type { RunOutcome } from '../../engine/runtime/execution.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import { collectOutputValues, withMissingOutputs } from '../../jobs/outputs/result-manifest.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import { EXIT_CODES, stopExitCode } from '../shared/terminal.ts'
import { stripControlCharacters, toSingleLine } from '../shared/terminal-text.ts'
import { redactOutputLists } from './redacted-outputs.ts'

export interface RunEnding {
  readonly code: number
  /** `completed`, `failed` …, as `svc run` prints it. */
  readonly word: string
  /** The outputs as JSON text. */
  readonly outputs: string | null
  /** The error, or null. */
  readonly error: string | null
}

/** Outputs and errors are redacted. */
export function toRunEnding(outcome: RunOutcome, plan: Plan, stop: AbortSignal, redactor: Redactor): RunEnding {
  if (outcome.status === 'completed') return completedEnding(plan, redactOutputLists(plan, redactor, outcome.outputs))
  if (outcome.status === 'cancelled') return { code: stopExitCode(stop), word: 'cancelled', outputs: null, error: null }
  if (outcome.status === 'suspended') throw new Error('a run in the terminal has no journal, so it cannot be suspended')
  return failedEnding(plan, { ...outcome.error, message: redactor.message(outcome.error.message) })
}

function completedEnding(plan: Plan, lists: Record<string, unknown[]>): RunEnding {
  try {
    // Written as every transport writes them, with bytes as base64, and then indented for people.
    const values: unknown = JSON.parse(stringifyWithBase64(withMissingOutputs(plan, collectOutputValues(plan, lists))))
    return { code: EXIT_CODES.completed, word: 'completed', outputs: JSON.stringify(values, null, 2), error: null }
  } catch {
    return {
      code: EXIT_CODES.failed,
      word: 'failed',
      outputs: null,
      error: 'the outputs are too large to be written as JSON',
    }
  }
}

function failedEnding(plan: Plan, { node_id, type, message }: RunError): RunEnding {
  const index = plan.indexById.get(node_id)
  const said = `${stripControlCharacters(message)} (${type})`
  if (index === undefined) {
    // An error without a node: the time limit of the run itself, or a fault of the engine.
    const [code, word] = type === 'timed_out' ? [EXIT_CODES.timed_out, 'timed out'] : [EXIT_CODES.failed, 'failed']
    return { code, word, outputs: null, error: `${word}: ${said}` }
  }
  const node = `node "${toSingleLine(node_id)}" (${plan.nodes[index]!.observed.node_type})`
  return { code: EXIT_CODES.failed, word: 'failed', outputs: null, error: `failed at ${node}: ${said}` }
}
