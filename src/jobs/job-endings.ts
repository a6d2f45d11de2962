// The ways in which a job ends: the trigger that ends the job, and its error.
import type { JobError } from '../../generated/types.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { RunOutcome } from '../engine/runtime/execution.ts'
import type { JobTrigger } from './state-machine.ts'

export interface JobEnding {
  readonly trigger: JobTrigger
  readonly error: JobError | null
  /** Whether the job has a result. */
  readonly completed: boolean
}

function createFailure(
  trigger: JobTrigger,
  type: string,
  message: string,
  retryable: boolean,
  node_id: string | null = null,
): JobEnding {
  return { trigger, error: { message, type, node_id, retryable }, completed: false }
}

export const CANCELLED_ENDING: JobEnding = { trigger: 'settle', error: null, completed: false }

export const CANCELLED_BEFORE_START_ENDING: JobEnding = { ...CANCELLED_ENDING, trigger: 'cancel' }

/** The result cannot be stored. The message of `cause` is shown only where `cause` is a NodeError. */
export function createUnwritableResultEnding(cause: unknown): JobEnding {
  return createFailure(
    'fail',
    'result_too_large',
    findPublicMessage(cause) ?? 'The result of the job is too large.',
    false,
  )
}

/** A value of an output cannot be stored. */
export function createUnwritableValueEnding(node_id: string, output_name: string, cause: unknown): JobEnding {
  const why = findPublicMessage(cause) ?? 'It is too large, has too many files or is nested too deeply.'
  const message = `A value of the output "${output_name}" cannot be stored. ${why}`
  return createFailure('fail', 'result_too_large', message, false, node_id)
}

function findPublicMessage(cause: unknown): string | null {
  return cause instanceof NodeError ? cause.message : null
}

/** The wait requests are too large for the one row that holds them, which is written and read at once. */
export const WAITS_TOO_LARGE: JobEnding = createFailure(
  'fail',
  'too_large',
  'The requests that the job waits for have more than 4 million characters. Use shorter messages, or several runs.',
  false,
)

/** The job cannot continue after an interruption. */
export function createInterruptedEnding(message: string): JobEnding {
  return createFailure('fail', 'interrupted', message, true)
}

/** Stored data of the job is damaged, so it is neither served nor given to the run. `retryable`: a retry does not need the damaged data. */
export function createDamagedEnding(retryable: boolean): JobEnding {
  return createFailure(
    'fail',
    'data_damaged',
    'Stored data of the job is damaged, so the job cannot continue.',
    retryable,
  )
}

export function createTimedOutEnding(seconds: number): JobEnding {
  return createFailure('time_out', 'timed_out', `The job did not end within ${seconds} seconds.`, true)
}

/** An interrupted node is not rerun automatically, but its user may ask for a retry. A missing resource of the server may be there by then. */
const RETRYABLE_ERROR_TYPES: ReadonlySet<string> = new Set(['node_interrupted', 'unavailable'])

/** The ending for an outcome of the engine. */
export function toJobEnding(outcome: Exclude<RunOutcome, { status: 'suspended' }>): JobEnding {
  if (outcome.status === 'completed') return { trigger: 'complete', error: null, completed: true }
  if (outcome.status === 'cancelled') return CANCELLED_ENDING
  const { message, type } = outcome.error
  // A failure of the whole run has no node.
  const node_id = outcome.error.node_id === '' ? null : outcome.error.node_id
  return createFailure('fail', type, message, RETRYABLE_ERROR_TYPES.has(type), node_id)
}
