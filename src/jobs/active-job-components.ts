// The components of an active job, connected with each other and with the job.
import { userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import type { CompiledWorkflowGraph } from '../workflows/plan-cache.ts'
import { JobWriter } from './commit/job-writer.ts'
import { JobTimestamps } from './history/job-timestamps.ts'
import type { JobContext } from './job-context.ts'
import type { JobEnding } from './job-endings.ts'
import { ActiveJournal } from './journal/active-journal.ts'
import type { LoadedJournal } from './journal/loader.ts'
import { JobOutputs } from './outputs/job-outputs.ts'
import { InputRouter } from './run/input-router.ts'
import { JobAdmission } from './run/job-admission.ts'
import type { JobRun, JobRunParts } from './run/job-run.ts'
import { parseStoredOptions } from './submission/stored-options.ts'

export interface ActiveJobParts {
  row: JobTable
  /** The graph to store with the row; null where both are stored already. */
  unstored: CompiledWorkflowGraph | null
  plan: Plan
  /** About how much memory the compiled graph takes. */
  graph_bytes: number
  /** What the job continues from; null: it is read when it is needed, since a job may wait for long. */
  loaded: LoadedJournal | null
  /** Whether the submitter will follow the job from the start. */
  hasFollower: boolean
}

/** The job, as its components see it. */
export interface ActiveJobCallbacks {
  /** Whether the job is still in this process. */
  isActive(): boolean
  run(): JobRun | null
  start(): void
  /** Gives the slot of the job back unused. */
  release(): void
  onCommitted(): void
  onCommandsRefused(): void
  onWriteFailed(cause: unknown): void
}

export interface ActiveJobComponents extends Omit<JobRunParts, 'onEnded'> {
  readonly user: string
  readonly timestamps: JobTimestamps
  readonly inputs: InputRouter
  readonly admission: JobAdmission
}

export function createComponents(
  { row, plan, unstored, hasFollower, loaded }: ActiveJobParts,
  context: JobContext,
  callbacks: ActiveJobCallbacks,
): ActiveJobComponents {
  const { isActive, run, start, release, onCommitted, onCommandsRefused, onWriteFailed } = callbacks
  const user = userShareKey(row)
  const options = parseStoredOptions(row)
  const timestamps = new JobTimestamps(row, context.platform)
  const failRun = (ending: JobEnding) => run()?.fail(ending)
  const writer: JobWriter = new JobWriter({
    events: context.events,
    row,
    unstored,
    hasFollower,
    timestamps,
    journal: () => journal,
    onCommitted,
    onCommandsRefused,
    onCommandsDecided: () => admission.continue(),
    onWriteFailed,
  })
  const journal: ActiveJournal = new ActiveJournal({
    row,
    user,
    context,
    writer,
    onLost: failRun,
    onDelay: (firing, until) => run()?.scheduleDelayEnd(firing, until),
  })
  if (loaded) journal.keep(loaded)
  const outputs = new JobOutputs({ row, plan, user, context, writer, journal, timestamps, onUnwritable: failRun })
  const inputs = new InputRouter({ row, plan, options, journal, writer, isActive })
  const admission = new JobAdmission({ row, user, options, journal, writer, inputs, start, release })
  return { row, plan, user, options, context, timestamps, writer, journal, outputs, inputs, admission, isActive }
}
