// The ways a job ends: the trigger that ends it, and what it leaves.
import type { JobError } from '../../generated/types.ts'
import type { Outcome } from '../engine/execution.ts'
import type { Trigger } from './states.ts'

export interface Ending {
  readonly trigger: Trigger
  readonly error: JobError | null
  /** Lists by output name, for a job that completed. */
  readonly outputs: Record<string, unknown[]> | null
}

function failure(trigger: Trigger, type: string, message: string, retryable: boolean): Ending {
  return { trigger, error: { message, type, node_id: null, retryable }, outputs: null }
}

export const CANCELLED: Ending = { trigger: 'settle', error: null, outputs: null }

export const CANCELLED_BEFORE_START: Ending = { ...CANCELLED, trigger: 'cancel' }

/** A result beyond what one text can hold. */
export const UNWRITABLE: Ending = failure('fail', 'result_too_large', 'The result of the job is too large.', false)

/** A value that cannot be stored. */
export function unwritable(node_id: string, output_name: string): Ending {
  const message = `A value of the output "${output_name}" cannot be stored: it is too large or nested too deeply.`
  return { trigger: 'fail', error: { message, type: 'result_too_large', node_id, retryable: false }, outputs: null }
}

export function interrupted(message: string): Ending {
  return failure('fail', 'interrupted', message, true)
}

export function timedOut(seconds: number): Ending {
  return failure('time_out', 'timed_out', `The job did not end within ${seconds} seconds.`, true)
}

/** How the engine's outcome ends the job. */
export function endingOf(outcome: Outcome): Ending {
  if (outcome.status === 'completed') return { trigger: 'complete', error: null, outputs: outcome.outputs }
  if (outcome.status === 'cancelled') return CANCELLED
  const { message, type, node_id } = outcome.error
  return { trigger: 'fail', error: { message, type, node_id, retryable: false }, outputs: null }
}
