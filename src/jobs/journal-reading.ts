// Pages of what a job remembers, read and opened one after the other.
import { deserialize } from 'node:v8'
import { journalLength, journalPages } from '../db/job-journal.ts'
import type { JobJournalTable } from '../db/schema.ts'
import type { Store } from '../db/store.ts'
import type { WaitRequest } from '../engine/journal.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { contentsOf } from './later.ts'
import { contextOf, type MemoryTools } from './spilling.ts'

/** Pages that are read from the database at once. */
const READ_AT_ONCE = 8

/**
 * Calls `each` with the content of every page of a job, in order, and gives how many there were: 0 where the first one is not kept.
 * @throws VaultError where one was written under another key; DATA_DAMAGED; Error where one is missing
 */
export function* eachPage(
  store: Store,
  { cipher }: MemoryTools,
  job_key: number,
  each: (content: unknown, page: JobJournalTable) => Steps<void>,
): Steps<number> {
  let count = 0
  let some = pagesFrom(store, job_key, 0)
  if (some[0]?.page !== 0) return 0
  for (; some.length > 0; some = pagesFrom(store, job_key, count)) {
    for (const page of some) {
      if (page.page !== count++) throw missing(job_key)
      yield* each(deserialize(cipher.open(page.body, contextOf(job_key, page.page))), page)
      yield
    }
    if (some.length < READ_AT_ONCE) break
  }
  if (store.read((tx) => journalLength(tx, job_key)) !== count) throw missing(job_key)
  return count
}

function pagesFrom(store: Store, job_key: number, from: number): JobJournalTable[] {
  return store.read((tx) => journalPages(tx, job_key, from, READ_AT_ONCE))
}

function missing(job_key: number): Error {
  return new Error(`a page of what job ${job_key} remembers is missing`)
}

/** What the firings of a stored job wait, or waited, for, by their names. No value is read for that. @throws as `eachPage` */
export function* waitRequests(store: Store, tools: MemoryTools, job_key: number): Steps<Map<string, WaitRequest>> {
  const requests = new Map<string, WaitRequest>()
  yield* eachPage(store, tools, job_key, function* (content, { page }) {
    if (page === 0) return
    yield* forEachStep(contentsOf(content, tools.spilled), (entry) => {
      if (entry[0] === 'wait') requests.set(entry[1], entry[2])
    })
  })
  return requests
}
