// The ways a job ends: the trigger that ends it, and what it leaves.
import type { JobError } from '../../generated/types.ts'
import type { Outcome } from '../engine/execution.ts'
import { NodeError } from '../engine/node-error.ts'
import type { Trigger } from './states.ts'

export interface Ending {
  readonly trigger: Trigger
  readonly error: JobError | null
  /** Whether it has a result. */
  readonly completed: boolean
}

function failure(
  trigger: Trigger,
  type: string,
  message: string,
  retryable: boolean,
  node_id: string | null = null,
): Ending {
  return { trigger, error: { message, type, node_id, retryable }, completed: false }
}

export const CANCELLED: Ending = { trigger: 'settle', error: null, completed: false }

export const CANCELLED_BEFORE_START: Ending = { ...CANCELLED, trigger: 'cancel' }

/** A result that cannot be stored, for a cause that its owner may be told or not. */
export function unwritableResult(cause: unknown): Ending {
  return failure('fail', 'result_too_large', told(cause) ?? 'The result of the job is too large.', false)
}

/** A value of an output that cannot be stored. */
export function unwritableValue(node_id: string, output_name: string, cause: unknown): Ending {
  const why = told(cause) ?? 'It is too large, has too many files or is nested too deeply.'
  const message = `A value of the output "${output_name}" cannot be stored. ${why}`
  return failure('fail', 'result_too_large', message, false, node_id)
}

function told(cause: unknown): string | null {
  return cause instanceof NodeError ? cause.message : null
}

/** What it waits for cannot be kept: it is one row, which is written and read at once. */
export const ASKS_TOO_MUCH: Ending = failure(
  'fail',
  'too_large',
  'What the job waits for has more than 4 million characters. Ask with shorter messages, or in several runs.',
  false,
)

/** The job cannot go on after an interruption. */
export function interrupted(message: string): Ending {
  return failure('fail', 'interrupted', message, true)
}

/** What is stored of the job is damaged, and is not served, nor given to its own run. `retryable`: a retry needs nothing of what is damaged. */
export function damaged(retryable: boolean): Ending {
  return failure('fail', 'data_damaged', 'Stored data of the job is damaged: it cannot go on.', retryable)
}

export function timedOut(seconds: number): Ending {
  return failure('time_out', 'timed_out', `The job did not end within ${seconds} seconds.`, true)
}

/** What was cut off is not run twice by itself, but may be when somebody asks for it; what the server lacked it may have then. */
const RETRYABLE: ReadonlySet<string> = new Set(['node_interrupted', 'unavailable'])

/** How the engine's outcome ends the job. */
export function endingOf(outcome: Exclude<Outcome, { status: 'suspended' }>): Ending {
  if (outcome.status === 'completed') return { trigger: 'complete', error: null, completed: true }
  if (outcome.status === 'cancelled') return CANCELLED
  const { message, type } = outcome.error
  // What fails the run as a whole has no node.
  const node_id = outcome.error.node_id === '' ? null : outcome.error.node_id
  return failure('fail', type, message, RETRYABLE.has(type), node_id)
}
