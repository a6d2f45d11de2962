// What a turn is given, and how far it has come. The parts of the turn share both.
import type { AnswerGenerator } from '../../completions/answers/generator.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Store } from '../../db/store.ts'
import type { TurnState } from '../../db/threads.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { FairSemaphore } from '../../workers/fair-semaphore.ts'
import type { ChatFrame } from '../frames.ts'
import type { ChatLimits } from '../limits.ts'
import type { ChosenModel, ModelChoice, ModelChoiceParts } from '../model-choice.ts'
import type { TurnTools } from '../tools/turn-tools.ts'
import type { MessageInProgress } from './message-in-progress.ts'

export interface TurnParts {
  readonly store: Store
  /** Time slices of the users, for long messages. */
  readonly slices: Pick<TimeSliceScheduler, 'run' | 'begin'>
  readonly platform: Platform
  readonly log: Log
  readonly completions: AnswerGenerator
  readonly choices: ModelChoiceParts
  readonly limits: ChatLimits
  /** Limits turns of long threads, since each holds its conversation in memory. */
  readonly long_turns: FairSemaphore
}

export interface TurnContext {
  readonly id: string
  readonly owner: OwnerScope
  readonly thread: { readonly id: string; readonly key: number; readonly last_sequence: number }
  readonly choice: ModelChoice
  readonly tools: TurnTools
  /** The owner's redactor. */
  readonly redactor: Redactor
  tell(frame: ChatFrame): void
}

export interface TurnProgress {
  /** The message that is being written, until it is stored. */
  message: MessageInProgress | null
  chosen_model: ChosenModel
  /** The last job that wrote for the turn. */
  job_id: string | null
  /** The sequence of the last stored message of the thread. */
  last_sequence: number
}

/** Returns what is stored of a running turn. */
export function toTurnState({ thread, id, choice }: TurnContext, { message, chosen_model }: TurnProgress): TurnState {
  const workflow_id = message?.origin.workflow_id ?? choice.workflow_id ?? null
  const job_id = message?.origin.job_id ?? null
  return { thread_key: thread.key, id, ...chosen_model, workflow_id, job_id }
}
