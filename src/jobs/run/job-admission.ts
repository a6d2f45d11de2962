// Lets one job wait in the queue, and starts it: once it has a slot, no command is undecided, and its large journal is read. While the job waits, its
// large journal is in the database alone.
import { ownerScopeKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { JobWriter } from '../commit/job-writer.ts'
import { JobFrames } from '../history/job-frames.ts'
import type { ActiveJournal } from '../journal/active-journal.ts'
import type { QueueableJob } from '../queue.ts'
import { isTerminal, toSocketStatus } from '../state-machine.ts'
import type { StoredOptions } from '../submission/stored-options.ts'
import type { InputRouter } from './input-router.ts'

export interface JobAdmissionParts {
  readonly row: JobTable
  readonly user: string
  readonly options: StoredOptions
  readonly journal: ActiveJournal
  readonly writer: JobWriter
  readonly inputs: InputRouter
  start(): void
  /** Gives the slot back unused. */
  release(): void
}

export class JobAdmission implements QueueableJob {
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  readonly #parts: JobAdmissionParts
  /** The job has a slot, and waits for the outcome of its commands. */
  #isAdmitted = false

  constructor(parts: JobAdmissionParts) {
    this.#parts = parts
    this.user = parts.user
    this.workflow = ownerScopeKey(parts.row, parts.row.workflow_id)
    this.exclusive = !parts.options.concurrent
  }

  admit(): void {
    const { journal, writer } = this.#parts
    if (writer.isDeciding) {
      this.#isAdmitted = true
      return
    }
    const reading = journal.prepare()
    if (reading) void this.#admitAfter(reading)
    else this.#parts.start()
  }

  /** Admits the job once its large journal is read. The job may have ended meanwhile, or left the process. */
  async #admitAfter(reading: Promise<Disposable>): Promise<void> {
    const { row, journal, writer } = this.#parts
    try {
      using _ = await reading
      journal.keepPrepared()
    } catch (cause) {
      // There is no memory for the journal now: the job continues later.
      if (!isTerminal(row.status)) writer.fail(cause)
    }
    this.#isAdmitted = true
    if (writer.isClosed || !writer.isDeciding) this.continue()
  }

  /** Admits the job where the queue gave it a slot while commands were decided. */
  continue(): void {
    if (!this.#isAdmitted) return
    this.#isAdmitted = false
    if (isTerminal(this.#parts.row.status) || this.#parts.writer.isClosed) this.#parts.release()
    else this.admit()
  }

  /** Unloads the large journal of a waiting job. Inputs that come before the start are checked without the journal. */
  unloadJournal(): void {
    const { row, journal, writer, inputs } = this.#parts
    if (row.status !== 'queued' || this.#isAdmitted || !journal.isUnloadable || !writer.isIdle) return
    inputs.openQueued()
    journal.unload()
  }

  /** Sends the new queue position, which is not stored. A recovering job is shown as running while it waits, and has no position. */
  onPositionChanged(queue_position: number): void {
    const { row, writer } = this.#parts
    const { id, workflow_id, status } = row
    if (status === 'recovering') return
    writer.provisional(() => new JobFrames(id, workflow_id).jobUpdate(toSocketStatus(status), { queue_position }))
  }
}
