// What jobs remember, one thing at a time, as it lies in the pages of the journal.
import type {
  FailedAttempts,
  FiringEnd,
  NodeUpdate,
  RecordedStep,
  WaitRequest,
} from '../../engine/durability/journal.ts'
import type { ModelUsage } from '../../engine/node-api/node-services.ts'
import type { OutputValues } from '../../engine/node-api/node-type.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'

/** One thing to remember. A firing is named as `firing-names.ts` says. */
export type JournalEntry =
  | readonly ['start', firing: string]
  /** An attempt failed, and another one follows: takes the place of the one before, and of the start. */
  | readonly ['attempt', firing: string, attempts: FailedAttempts]
  /** A step of the firing begins, or had begun in a job before this one; and what it came to. */
  | readonly ['step', firing: string, name: string, step: Omit<RecordedStep, 'end'>]
  | readonly ['done', firing: string, name: string, value: unknown]
  | readonly ['item', firing: string, item: OutputValues]
  | readonly ['end', firing: string, end: FiringEnd]
  | readonly ['wait', firing: string, request: WaitRequest]
  | readonly ['answer', firing: string, value: unknown]
  /** The job's own run, or the called workflow of that scope, ends with a failure. It is the end of no firing: a retry has it run again. */
  | readonly ['failure', scope: string, error: RunError]
  /** A value for a streamed input, or its end. */
  | readonly ['push', input: string, value: unknown]
  | readonly ['close', input: string]
  /** Changed properties of a node: in an older journal they stand with the rest, else last. */
  | readonly ['update', update: NodeUpdate]
  | readonly ['update', of: Omit<NodeUpdate, 'properties'>, properties: unknown]
  /** The graph of a called workflow, as JSON text: the same one is called again. */
  | readonly ['graph', workflow_id: string, body: unknown]
  /** A call of a model, whatever became of the firing that made it. */
  | readonly ['use', use: ModelUsage]
  /** What is to be told of outputs where the job, which waits for something outside, ends without going on: in place of what was said before. */
  | readonly ['rest', told: readonly EventWithFrame[]]
  /** The job begins to go on after an interruption. */
  | readonly ['recovery']
  /** It has told a value of an output that it had not told before, which is no entry of its own: it got further since the recovery. */
  | readonly ['told']

/** An event and its frame, as they may be shown. */
export type EventWithFrame = readonly [event: EventBody, frame: EventFrame]
