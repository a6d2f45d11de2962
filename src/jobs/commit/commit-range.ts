// The changes of a job that one transaction writes.
import { saveGraph } from '../../db/graphs.ts'
import { insertJob, updateJob } from '../../db/jobs/rows.ts'
import type { Tx } from '../../db/store.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { FeedMark } from '../../events/job-feed.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { JobJournal } from '../journal/job-journal.ts'

/** Writes a further row with a job, of an asset or an idempotency key for example. It may run more than once. */
export type AdditionalWrite = (tx: Tx) => void

export interface CommitRange {
  readonly row: JobTable
  readonly mark: FeedMark
  /** How many of the first staged journal entries, additional writes, flush waiters and commands it covers. */
  readonly entries: number
  readonly extras: number
  readonly waiters: number
  readonly commands: number
}

/** What a job has to write. Where a range covers less, the rest is left for the next commit. */
export interface StagedChanges {
  /** The graph of a new job; null: row and graph are stored already. */
  readonly unstored: CompiledWorkflowGraph | null
  readonly additionalWrites: readonly AdditionalWrite[]
  readonly journal: JobJournal | null
  /** The journal entries of commands, all of which are written. */
  readonly sent: readonly JournalEntry[]
}

export function writeRange(
  tx: Tx,
  { row, entries, extras }: CommitRange,
  { unstored, additionalWrites, journal, sent }: StagedChanges,
): void {
  if (unstored === null) {
    if (!updateJob(tx, row)) throw new Error(`job ${row.key} belongs to another attempt now`)
  } else {
    saveGraph(tx, unstored.sha256, unstored.body)
    insertJob(tx, row)
  }
  // These come before the journal: one cancels the removal of a retry's pages, which must not undo the removal by `forget`.
  for (const extra of additionalWrites.slice(0, extras)) extra(tx)
  // The journal of a completed job is removed; a failed or cancelled job may be retried.
  if (row.status === 'completed') journal?.forget(tx, sent)
  else journal?.write(tx, row.attempt, entries, sent)
}
