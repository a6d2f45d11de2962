// The entries of job journals, as the pages store them.
import type {
  FailedAttempts,
  FiringEnd,
  NodeUpdate,
  RecordedStep,
  WaitRequest,
} from '../../engine/durability/journal.ts'
import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'

/** One entry. `RunJournal` makes the names of firings. */
export type JournalEntry =
  | readonly ['start', firing: string]
  /** An attempt failed, and another attempt follows. The entry replaces earlier ones of its kind, and the start. */
  | readonly ['attempt', firing: string, attempts: FailedAttempts]
  /** `step`: a step of the firing begins, or began in a job before this one. `done`: the result of the step. */
  | readonly ['step', firing: string, name: string, step: Omit<RecordedStep, 'end'>]
  | readonly ['done', firing: string, name: string, value: unknown]
  | readonly ['item', firing: string, item: OutputValues]
  | readonly ['end', firing: string, end: FiringEnd]
  | readonly ['wait', firing: string, request: WaitRequest]
  | readonly ['answer', firing: string, value: unknown]
  /** The job's own run, or the called workflow of that scope, fails. The entry ends no firing: a retry runs the firing again. */
  | readonly ['failure', scope: string, error: RunError]
  /** `push` is a value for a streamed input, `close` the end of the input. */
  | readonly ['push', input: string, value: unknown]
  | readonly ['close', input: string]
  /** Changed properties of a node. Older journals have them inside of the update; newer ones have them last. */
  | readonly ['update', update: NodeUpdate]
  | readonly ['update', of: Omit<NodeUpdate, 'properties'>, properties: unknown]
  /** The graph of a called workflow, as JSON text, so that later calls use the same graph. */
  | readonly ['graph', workflow_id: string, body: unknown]
  /** A call of a model. It counts even where the firing that made it failed. */
  | readonly ['use', use: ModelUsage]
  /** Output events to publish where the suspended job ends without being resumed. They replace those of earlier entries. */
  | readonly ['rest', told: readonly EventWithFrame[]]
  /** The job is recovered after an interruption. */
  | readonly ['recovery']
  /** The job has published a value of an output for the first time, which has no other entry: it has made progress since the recovery. */
  | readonly ['told']

/** An entry about a firing. */
export type FiringEntry = Extract<
  JournalEntry,
  readonly ['start' | 'attempt' | 'step' | 'done' | 'item' | 'end' | 'wait' | 'answer', ...unknown[]]
>

/** An entry about an input that the job was sent. */
export type InputEntry = Extract<JournalEntry, readonly ['push' | 'close' | 'update', ...unknown[]]>

/** Any other entry, about the job as a whole. */
export type JobEntry = Exclude<JournalEntry, FiringEntry | InputEntry>

const FIRING_ENTRY_KINDS: ReadonlySet<JournalEntry[0]> = new Set<FiringEntry[0]>([
  'start',
  'attempt',
  'step',
  'done',
  'item',
  'end',
  'wait',
  'answer',
])

export function isFiringEntry(entry: JournalEntry): entry is FiringEntry {
  return FIRING_ENTRY_KINDS.has(entry[0])
}

export function isInputEntry(entry: JournalEntry): entry is InputEntry {
  return entry[0] === 'push' || entry[0] === 'close' || entry[0] === 'update'
}

/** A redacted event and its frame. */
export type EventWithFrame = readonly [event: EventBody, frame: EventFrame]
