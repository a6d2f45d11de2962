// Retries a failed or cancelled job as a new job. Where the graph is unchanged, finished firings are reused (see firing-reuse.ts). Called workflows are
// the current ones: an unfinished call begins again where one of them has changed.

import { type OwnerScope, ownerScopeKey, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { ServiceError } from '../../errors.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { requireRunnablePlan } from '../../workflows/invalid-graph-error.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { ActiveJobParts } from '../active-job-components.ts'
import type { ActiveJobRegistry } from '../active-job-registry.ts'
import type { JobContext } from '../job-context.ts'
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
 * Builds the parts of the new job. A large journal is read in time slices of the owner, and written in parts.
 * @throws JOB_NOT_TERMINAL; CONFLICT for a completed job, for missing inputs or values, for a journal that is too large, and where a finished firing that
 * must not run twice would run again; WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH; SERVICE_UNAVAILABLE where the disk cannot be read or written now;
 * QUEUE_FULL, MemoryUnavailableError
 */
export async function prepareRetry(
  registry: ActiveJobRegistry,
  scope: OwnerScope,
  row: JobTable,
  prewritten: PrewrittenJournalPages,
): Promise<ActiveJobParts> {
  if (!isTerminal(row.status)) throw new ServiceError('JOB_NOT_TERMINAL')
  if (row.status === 'completed') throw new ServiceError('CONFLICT', { message: 'The job has completed: run it anew.' })
  // The reused entries are written before the job enters the queue.
  const [user, workflow] = [userShareKey(scope), ownerScopeKey(scope, row.workflow_id)]
  registry.queue.requireCapacity({ user, workflow, exclusive: !parseStoredOptions(row).concurrent })
  const { context } = registry
  const { journals, platform, store } = context
  const isLarge = journals.isLarge(row)
  const runSteps = <T>(steps: Steps<T>) =>
    isLarge ? context.slices.run(userShareKey(scope), steps) : runToCompletion(steps)
  using old = await readOrConflict(context, row, () => runSteps(journals.loadSteps(row)))
  if (!old) throw new ServiceError('CONFLICT', { message: 'The inputs of the job are no longer stored: run it anew.' })
  const { compiled, revision, same } = resolveCurrentGraph(context, scope, row)
  const plan = requireRunnablePlan(compiled)
  const { job_key } = prewritten
  const journal = JobJournal.createEmpty(context, job_key, old.params, journals.createFiringReservation(scope))
  if (same)
    await readOrConflict(context, row, async () => {
      const called = await resolveCalledGraphs(context, scope, old)
      const entries = await runSteps(collectReusableEntries(old, plan, called))
      const readAgain = () => JobJournal.loadSteps(store, context, job_key, journals.createFiringReservation(scope))
      await takeOverEntries(journal, entries[Symbol.iterator](), prewritten, runSteps, readAgain)
    })
  const newRow = createJobRow(
    scope,
    {
      key: job_key,
      workflow_id: row.workflow_id,
      revision,
      compiled,
      inline: row.workflow_etag === null,
      request_sha256: null,
      id: null,
      name: row.name,
      options: limitTimeout(parseStoredOptions(row), context.time_limit),
      seed: same ? (row.seed ?? createSeed(platform)) : createSeed(platform),
    },
    platform,
  )
  const loaded = { journal, publishedHistory: null }
  return { row: newRow, unstored: compiled, plan, graph_bytes: compiled.bytes, loaded, hasFollower: false }
}

/** Runs `read`. A missing or corrupt value does not come back, so it is a CONFLICT and not a temporary fault of the server. */
async function readOrConflict<T>({ log }: JobContext, { id }: JobTable, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const transientFault = toTransientFault(cause)
    if (transientFault) throw transientFault
    log.error({ err: cause, job_id: id }, 'job journal unreadable: the job cannot be retried')
    const message = 'A value that the job remembers is missing or cannot be read: run it anew.'
    throw new ServiceError('CONFLICT', { message, cause })
  }
}

/** One step takes at most this many entries, each of which may link a file. */
const TAKEN_AT_ONCE = 32

/** Stages and writes all entries or none, with few of them in memory. @throws SERVICE_UNAVAILABLE, and Error where a value is missing */
async function takeOverEntries(
  journal: JobJournal,
  entries: Iterator<JournalEntry>,
  prewritten: PrewrittenJournalPages,
  runSteps: <T>(steps: Steps<T>) => T | Promise<T>,
  readAgain: () => Steps<JobJournal | null>,
): Promise<void> {
  try {
    for (let isMore = true; isMore; ) {
      isMore = await runSteps(stageSomeEntries(journal, entries))
      await prewritten.write(journal)
    }
    if (journal.isUnloaded) journal.reload((await runSteps(readAgain()))!)
  } catch (error) {
    journal.discard()
    throw error
  }
}

/** Stages about as much as one transaction should write, and returns whether entries are left. */
function* stageSomeEntries(journal: JobJournal, entries: Iterator<JournalEntry>): Steps<boolean> {
  for (let count = 1, weight = 0; weight < PAGE_WEIGHT && count <= MAX_ENTRIES_PER_COMMIT; count++) {
    const next = entries.next()
    if (next.done) return false
    weight += journal.stage(yield* resolvePageValue(next.value))
    if (count % TAKEN_AT_ONCE === 0) yield
  }
  return true
}

/** Reads the value of an entry where it is in a page of another job. */
function* resolvePageValue(entry: JournalEntry): Steps<JournalEntry> {
  const value: unknown = entry.at(-1)
  if (!(value instanceof LazyValue) || value.file) return entry
  return (entry as readonly unknown[]).with(-1, yield* LazyValue.resolveSteps(value)) as unknown as JournalEntry
}

/** The current workflow, or the inline graph of the job. `same`: it is unchanged since the job was submitted. */
function resolveCurrentGraph(
  { plans, workflows }: JobContext,
  scope: OwnerScope,
  row: JobTable,
): { compiled: CompiledWorkflowGraph; revision: number | null; same: boolean } {
  const original = plans.compileStored(row.graph_sha256)
  if (row.workflow_etag === null) return { compiled: original, revision: null, same: true }
  const { compiled, revision } = workflows.runnable(scope, row.workflow_id)
  return { compiled, revision, same: compiled.etag === row.workflow_etag }
}

/** The entries to reuse where the graph is the same. Called workflows that have changed are called in their current form. @throws CONFLICT */
function* collectReusableEntries(
  old: JobJournal,
  plan: Plan,
  called: ReadonlyMap<string, CalledGraph>,
): Steps<Iterable<JournalEntry>> {
  const reuse = yield* decideReuseSteps(old.firings, plan, [...called.values()])
  return old.reusableEntries(reuse, (id) => called.get(id)?.same === true)
}

/** The called workflows by id: the plan of that time, and whether it is unchanged. @throws Error where the file of a large graph cannot be read */
async function resolveCalledGraphs(
  context: JobContext,
  scope: OwnerScope,
  old: JobJournal,
): Promise<Map<string, CalledGraph>> {
  const called = new Map<string, CalledGraph>()
  for (const [id, kept] of old.graphs) {
    const body = await context.slices.run(userShareKey(scope), LazyValue.resolveSteps(kept))
    const { plan, etag } = await context.plans.compileText(userShareKey(scope), body)
    called.set(id, { plan, same: plan !== null && etag === (await readCurrentEtag(context, scope, id)) })
  }
  return called
}

/** Returns null where the workflow no longer exists. */
async function readCurrentEtag(
  { workflows }: JobContext,
  scope: OwnerScope,
  workflow_id: string,
): Promise<string | null> {
  try {
    await workflows.prepare(scope, workflow_id)
    return workflows.callable(scope, workflow_id).etag
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return null
    throw error
  }
}
