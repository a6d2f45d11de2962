// Tries a job that failed or was cancelled again, as a new job. Where its graph still means the same, what had finished is taken over; reuse.ts
// says how much of it. Workflows that it calls are those of now: a call that had not ended begins again where one of them has changed.
import type { JobTable } from '../db/schema.ts'
import { type Scope, scopedKey, userKey } from '../db/scope.ts'
import type { Plan } from '../engine/plan.ts'
import { ServiceError } from '../errors.ts'
import { finish, type Steps } from '../time-slices.ts'
import { runnablePlan } from '../workflows/invalid-graph.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import type { ActiveJobParts } from './active-job.ts'
import type { EarlyPagesOfJob } from './early-pages.ts'
import type { Entry } from './entry.ts'
import { Later } from './later.ts'
import { JobMemory } from './memory.ts'
import { momentaryFault } from './momentary.ts'
import { newRow, newSeed } from './new-job.ts'
import { type CalledGraph, reuseSteps } from './reuse.ts'
import type { Roster } from './roster.ts'
import { MOST_AT_ONCE, PAGE_WEIGHT } from './spilling.ts'
import { isTerminal } from './states.ts'
import { optionsOf, timeLimited } from './stored-options.ts'

/**
 * What the new job is to be made of. What is much is read and taken over in time slices of the owner, and written a part at a time.
 * @throws JOB_NOT_TERMINAL; CONFLICT for a completed job, for one whose inputs or values are gone, and where something that had finished would run
 * again and must not run twice, or the job remembers too much; WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH; SERVICE_UNAVAILABLE where the disk takes or
 * gives nothing now; QUEUE_FULL, NoRoom
 */
export async function retryOf(
  roster: Roster,
  scope: Scope,
  row: JobTable,
  early: EarlyPagesOfJob,
): Promise<ActiveJobParts> {
  if (!isTerminal(row.status)) throw new ServiceError('JOB_NOT_TERMINAL')
  if (row.status === 'completed') throw new ServiceError('CONFLICT', { message: 'The job has completed: run it anew.' })
  // What it takes over is written before it enters the queue.
  const [user, workflow] = [userKey(scope), scopedKey(scope, row.workflow_id)]
  roster.queue.requirePlace({ user, workflow, exclusive: !optionsOf(row).concurrent })
  const { parts } = roster
  const isLarge = roster.memories.isLarge(row)
  const done = <T>(steps: Steps<T>) => (isLarge ? roster.slices.run(userKey(scope), steps) : finish(steps))
  using old = await readable(roster, row, () => done(roster.memories.loadSteps(row)))
  if (!old) throw new ServiceError('CONFLICT', { message: 'The inputs of the job are not kept any more: run it anew.' })
  const { compiled, revision, same } = graphNow(roster, scope, row)
  const plan = runnablePlan(compiled)
  const memory = JobMemory.fresh(parts, early.job_key, old.params, roster.memories.countsOf(scope))
  if (same)
    await readable(roster, row, async () => {
      const called = await calledGraphs(roster, scope, old)
      const entries = await done(reusable(old, plan, called))
      const readAgain = () => JobMemory.loadSteps(parts.store, parts, early.job_key, roster.memories.countsOf(scope))
      await takeOver(memory, entries[Symbol.iterator](), early, done, readAgain)
    })
  const fresh = newRow(
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
      options: timeLimited(optionsOf(row), parts.time_limit),
      seed: same ? (row.seed ?? newSeed(roster.platform)) : newSeed(roster.platform),
    },
    roster.platform,
  )
  return { row: fresh, unstored: compiled, plan, graph_bytes: compiled.bytes, memory, watched: false }
}

/** What `read` gives. A value of the job that is missing, or is not what was written, does not come back: it is no fault of the server's now. */
async function readable<T>({ log }: Roster, { id }: JobTable, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const momentary = momentaryFault(cause)
    if (momentary) throw momentary
    log.error({ err: cause, job_id: id }, 'what a job remembers cannot be read: it cannot be tried again')
    const message = 'A value that the job remembers is missing or cannot be read: run it anew.'
    throw new ServiceError('CONFLICT', { message, cause })
  }
}

/** Entries, each of which may be a file that gets a further name. */
const TAKEN_AT_ONCE = 32

/** All or nothing, and never much of it in memory. @throws SERVICE_UNAVAILABLE, and Error where a value is missing */
async function takeOver(
  memory: JobMemory,
  entries: Iterator<Entry>,
  early: EarlyPagesOfJob,
  done: <T>(steps: Steps<T>) => T | Promise<T>,
  readAgain: () => Steps<JobMemory | null>,
): Promise<void> {
  try {
    for (let isMore = true; isMore; ) {
      isMore = await done(stageSome(memory, entries))
      await early.write(memory)
    }
    if (memory.isAway) memory.bringBack((await done(readAgain()))!)
  } catch (error) {
    memory.discard()
    throw error
  }
}

/** Stages about as much as one transaction should write; whether there is more. */
function* stageSome(memory: JobMemory, entries: Iterator<Entry>): Steps<boolean> {
  for (let count = 1, weight = 0; weight < PAGE_WEIGHT && count <= MOST_AT_ONCE; count++) {
    const next = entries.next()
    if (next.done) return false
    weight += memory.stage(yield* outOfPage(next.value))
    if (count % TAKEN_AT_ONCE === 0) yield
  }
  return true
}

/** The same entry, with its value where that lies in a page of another job. */
function* outOfPage(entry: Entry): Steps<Entry> {
  const value: unknown = entry.at(-1)
  if (!(value instanceof Later) || value.file) return entry
  return (entry as readonly unknown[]).with(-1, yield* Later.read(value)) as unknown as Entry
}

/** The workflow as it is now, or the graph that came with the job. `same`: it means what it meant then. */
function graphNow(
  roster: Roster,
  scope: Scope,
  row: JobTable,
): { compiled: CompiledGraph; revision: number | null; same: boolean } {
  const then = roster.parts.plans.stored(row.graph_sha256)
  if (row.workflow_etag === null) return { compiled: then, revision: null, same: true }
  const { compiled, revision } = roster.parts.workflows.runnable(scope, row.workflow_id)
  return { compiled, revision, same: compiled.etag === row.workflow_etag }
}

/** What is taken over where the graph means the same. Called workflows that have changed are called as they are now. @throws CONFLICT */
function* reusable(old: JobMemory, plan: Plan, called: ReadonlyMap<string, CalledGraph>): Steps<Iterable<Entry>> {
  const reuse = yield* reuseSteps(old.firings, plan, [...called.values()])
  return old.reusable(reuse, (id) => called.get(id)?.same === true)
}

/** Of each workflow that was called, by its id: what it was then, and whether it means the same now. @throws Error where the file of a large one cannot be read */
async function calledGraphs(roster: Roster, scope: Scope, old: JobMemory): Promise<Map<string, CalledGraph>> {
  const called = new Map<string, CalledGraph>()
  for (const [id, kept] of old.graphs) {
    const body = await roster.slices.run(userKey(scope), Later.read(kept))
    const { plan, etag } = await roster.parts.plans.ofText(userKey(scope), body)
    called.set(id, { plan, same: plan !== null && etag === (await etagNow(roster, scope, id)) })
  }
  return called
}

/** Null where the workflow is gone. */
async function etagNow(roster: Roster, scope: Scope, workflow_id: string): Promise<string | null> {
  try {
    await roster.parts.workflows.prepare(scope, workflow_id)
    return roster.parts.workflows.callable(scope, workflow_id).etag
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return null
    throw error
  }
}
