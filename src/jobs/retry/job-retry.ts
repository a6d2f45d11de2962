// Tries a job that failed or was cancelled again, as a new job. Where its graph still means the same, what had finished is taken over; reuse.ts
// says how much of it. Workflows that it calls are those of now: a call that had not ended begins again where one of them has changed.

import { type OwnerScope, ownerScopeKey, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { ServiceError } from '../../errors.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { requireRunnablePlan } from '../../workflows/invalid-graph-error.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { ActiveJobParts } from '../active-job.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'
import type { JournalEntry } from '../journal/entry.ts'
import { JobJournal } from '../journal/job-journal.ts'
import { MAX_ENTRIES_PER_COMMIT, PAGE_WEIGHT } from '../journal/page-writer.ts'
import { toTransientFault } from '../recovery/transient-faults.ts'
import { isTerminal } from '../state-machine.ts'
import { createJobRow, createSeed } from '../submission/new-job.ts'
import { limitTimeout, parseStoredOptions } from '../submission/stored-options.ts'
import { LazyValue } from '../values/lazy-value.ts'
import { type CalledGraph, decideReuseSteps } from './firing-reuse.ts'
import type { PrewrittenJournalPages } from './prewritten-journal-pages.ts'

/**
 * What the new job is to be made of. What is much is read and taken over in time slices of the owner, and written a part at a time.
 * @throws JOB_NOT_TERMINAL; CONFLICT for a completed job, for one whose inputs or values are gone, and where something that had finished would run
 * again and must not run twice, or the job remembers too much; WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH; SERVICE_UNAVAILABLE where the disk takes or
 * gives nothing now; QUEUE_FULL, NoRoom
 */
export async function prepareRetry(
  roster: ActiveJobRegistry,
  scope: OwnerScope,
  row: JobTable,
  early: PrewrittenJournalPages,
): Promise<ActiveJobParts> {
  if (!isTerminal(row.status)) throw new ServiceError('JOB_NOT_TERMINAL')
  if (row.status === 'completed') throw new ServiceError('CONFLICT', { message: 'The job has completed: run it anew.' })
  // What it takes over is written before it enters the queue.
  const [user, workflow] = [userShareKey(scope), ownerScopeKey(scope, row.workflow_id)]
  roster.queue.requireCapacity({ user, workflow, exclusive: !parseStoredOptions(row).concurrent })
  const { parts } = roster
  const isLarge = roster.journals.isLarge(row)
  const done = <T>(steps: Steps<T>) =>
    isLarge ? roster.slices.run(userShareKey(scope), steps) : runToCompletion(steps)
  using old = await readOrConflict(roster, row, () => done(roster.journals.loadSteps(row)))
  if (!old) throw new ServiceError('CONFLICT', { message: 'The inputs of the job are not kept any more: run it anew.' })
  const { compiled, revision, same } = resolveCurrentGraph(roster, scope, row)
  const plan = requireRunnablePlan(compiled)
  const memory = JobJournal.createEmpty(
    parts,
    early.job_key,
    old.params,
    roster.journals.createFiringReservation(scope),
  )
  if (same)
    await readOrConflict(roster, row, async () => {
      const called = await resolveCalledGraphs(roster, scope, old)
      const entries = await done(collectReusableEntries(old, plan, called))
      const readAgain = () =>
        JobJournal.loadSteps(parts.store, parts, early.job_key, roster.journals.createFiringReservation(scope))
      await takeOverEntries(memory, entries[Symbol.iterator](), early, done, readAgain)
    })
  const fresh = createJobRow(
    scope,
    {
      key: early.job_key,
      workflow_id: row.workflow_id,
      revision,
      compiled,
      inline: row.workflow_etag === null,
      request_sha256: null,
      id: null,
      name: row.name,
      options: limitTimeout(parseStoredOptions(row), parts.time_limit),
      seed: same ? (row.seed ?? createSeed(roster.platform)) : createSeed(roster.platform),
    },
    roster.platform,
  )
  return { row: fresh, unstored: compiled, plan, graph_bytes: compiled.bytes, journal: memory, hasFollower: false }
}

/** What `read` gives. A value of the job that is missing, or is not what was written, does not come back: it is no fault of the server's now. */
async function readOrConflict<T>({ log }: ActiveJobRegistry, { id }: JobTable, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const momentary = toTransientFault(cause)
    if (momentary) throw momentary
    log.error({ err: cause, job_id: id }, 'what a job remembers cannot be read: it cannot be tried again')
    const message = 'A value that the job remembers is missing or cannot be read: run it anew.'
    throw new ServiceError('CONFLICT', { message, cause })
  }
}

/** Entries, each of which may be a file that gets a further name. */
const TAKEN_AT_ONCE = 32

/** All or nothing, and never much of it in memory. @throws SERVICE_UNAVAILABLE, and Error where a value is missing */
async function takeOverEntries(
  memory: JobJournal,
  entries: Iterator<JournalEntry>,
  early: PrewrittenJournalPages,
  done: <T>(steps: Steps<T>) => T | Promise<T>,
  readAgain: () => Steps<JobJournal | null>,
): Promise<void> {
  try {
    for (let isMore = true; isMore; ) {
      isMore = await done(stageSomeEntries(memory, entries))
      await early.write(memory)
    }
    if (memory.isUnloaded) memory.reload((await done(readAgain()))!)
  } catch (error) {
    memory.discard()
    throw error
  }
}

/** Stages about as much as one transaction should write; whether there is more. */
function* stageSomeEntries(memory: JobJournal, entries: Iterator<JournalEntry>): Steps<boolean> {
  for (let count = 1, weight = 0; weight < PAGE_WEIGHT && count <= MAX_ENTRIES_PER_COMMIT; count++) {
    const next = entries.next()
    if (next.done) return false
    weight += memory.stage(yield* resolvePageValue(next.value))
    if (count % TAKEN_AT_ONCE === 0) yield
  }
  return true
}

/** The same entry, with its value where that lies in a page of another job. */
function* resolvePageValue(entry: JournalEntry): Steps<JournalEntry> {
  const value: unknown = entry.at(-1)
  if (!(value instanceof LazyValue) || value.file) return entry
  return (entry as readonly unknown[]).with(-1, yield* LazyValue.resolveSteps(value)) as unknown as JournalEntry
}

/** The workflow as it is now, or the graph that came with the job. `same`: it means what it meant then. */
function resolveCurrentGraph(
  roster: ActiveJobRegistry,
  scope: OwnerScope,
  row: JobTable,
): { compiled: CompiledWorkflowGraph; revision: number | null; same: boolean } {
  const then = roster.parts.plans.compileStored(row.graph_sha256)
  if (row.workflow_etag === null) return { compiled: then, revision: null, same: true }
  const { compiled, revision } = roster.parts.workflows.runnable(scope, row.workflow_id)
  return { compiled, revision, same: compiled.etag === row.workflow_etag }
}

/** What is taken over where the graph means the same. Called workflows that have changed are called as they are now. @throws CONFLICT */
function* collectReusableEntries(
  old: JobJournal,
  plan: Plan,
  called: ReadonlyMap<string, CalledGraph>,
): Steps<Iterable<JournalEntry>> {
  const reuse = yield* decideReuseSteps(old.firings, plan, [...called.values()])
  return old.reusableEntries(reuse, (id) => called.get(id)?.same === true)
}

/** Of each workflow that was called, by its id: what it was then, and whether it means the same now. @throws Error where the file of a large one cannot be read */
async function resolveCalledGraphs(
  roster: ActiveJobRegistry,
  scope: OwnerScope,
  old: JobJournal,
): Promise<Map<string, CalledGraph>> {
  const called = new Map<string, CalledGraph>()
  for (const [id, kept] of old.graphs) {
    const body = await roster.slices.run(userShareKey(scope), LazyValue.resolveSteps(kept))
    const { plan, etag } = await roster.parts.plans.compileText(userShareKey(scope), body)
    called.set(id, { plan, same: plan !== null && etag === (await readCurrentEtag(roster, scope, id)) })
  }
  return called
}

/** Null where the workflow is gone. */
async function readCurrentEtag(
  roster: ActiveJobRegistry,
  scope: OwnerScope,
  workflow_id: string,
): Promise<string | null> {
  try {
    await roster.parts.workflows.prepare(scope, workflow_id)
    return roster.parts.workflows.callable(scope, workflow_id).etag
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return null
    throw error
  }
}
