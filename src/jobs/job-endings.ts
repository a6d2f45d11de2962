// The ways a job ends: the trigger that ends it, and what it leaves.
import type { JobError } from '../../generated/types.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { RunOutcome } from '../engine/runtime/execution.ts'
import type { JobTrigger } from './state-machine.ts'

export interface JobEnding {
  readonly trigger: JobTrigger
  readonly error: JobError | null
  /** Whether it has a result. */
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

/** A result that cannot be stored, for a cause that its owner may be told or not. */
export function createUnwritableResultEnding(cause: unknown): JobEnding {
  return createFailure(
    'fail',
    'result_too_large',
    findPublicMessage(cause) ?? 'The result of the job is too large.',
    false,
  )
}

/** A value of an output that cannot be stored. */
export function createUnwritableValueEnding(node_id: string, output_name: string, cause: unknown): JobEnding {
  const why = findPublicMessage(cause) ?? 'It is too large, has too many files or is nested too deeply.'
  const message = `A value of the output "${output_name}" cannot be stored. ${why}`
  return createFailure('fail', 'result_too_large', message, false, node_id)
}

function findPublicMessage(cause: unknown): string | null {
  return cause instanceof NodeError ? cause.message : null
}

/** What it waits for cannot be kept: it is one row, which is written and read at once. */
export const WAITS_TOO_LARGE: JobEnding = createFailure(
  'fail',
  'too_large',
  'What the job waits for has more than 4 million characters. Ask with shorter messages, or in several runs.',
  false,
)

/** The job cannot go on after an interruption. */
export function createInterruptedEnding(message: string): JobEnding {
  return createFailure('fail', 'interrupted', message, true)
}

/** What is stored of the job is damaged, and is not served, nor given to its own run. `retryable`: a retry needs nothing of what is damaged. */
export function createDamagedEnding(retryable: boolean): JobEnding {
  return createFailure('fail', 'data_damaged', 'Stored data of the job is damaged: it cannot go on.', retryable)
}

export function createTimedOutEnding(seconds: number): JobEnding {
  return createFailure('time_out', 'timed_out', `The job did not end within ${seconds} seconds.`, true)
}

/** What was cut off is not run twice by itself, but may be when somebody asks for it; what the server lacked it may have then. */
const RETRYABLE_ERROR_TYPES: ReadonlySet<string> = new Set(['node_interrupted', 'unavailable'])

/** How the engine's outcome ends the job. */
export function toJobEnding(outcome: Exclude<RunOutcome, { status: 'suspended' }>): JobEnding {
  if (outcome.status === 'completed') return { trigger: 'complete', error: null, completed: true }
  if (outcome.status === 'cancelled') return CANCELLED_ENDING
  const { message, type } = outcome.error
  // What fails the run as a whole has no node.
  const node_id = outcome.error.node_id === '' ? null : outcome.error.node_id
  return createFailure('fail', type, message, RETRYABLE_ERROR_TYPES.has(type), node_id)
}
