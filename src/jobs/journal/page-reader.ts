// Reads and decrypts the pages of a job's journal, one after the other.
import { deserialize } from 'node:v8'
import { countJournalPages, listJournalPages } from '../../db/jobs/journal.ts'
import type { Store } from '../../db/store.ts'
import type { JobJournalTable } from '../../db/tables/jobs.ts'
import type { WaitRequest } from '../../engine/durability/journal.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { decodePageEntries } from '../values/lazy-value.ts'
import { formatPageContext, type JournalStorage } from './page-writer.ts'

/** One query reads at most this many pages. */
const READ_AT_ONCE = 8

/**
 * Calls `each` with the content of every page of a job, in order. It returns the number of pages, or 0 where the first page is not stored.
 * @throws VaultError where a page was written under another key; DATA_DAMAGED; Error where a page is missing
 */
export function* forEachPage(
  store: Store,
  { cipher }: JournalStorage,
  job_key: number,
  each: (content: unknown, page: JobJournalTable) => Steps<void>,
): Steps<number> {
  let count = 0
  let some = readPagesFrom(store, job_key, 0)
  if (some[0]?.page !== 0) return 0
  for (; some.length > 0; some = readPagesFrom(store, job_key, count)) {
    for (const page of some) {
      if (page.page !== count++) throw createMissingPageError(job_key)
      yield* each(deserialize(cipher.open(page.body, formatPageContext(job_key, page.page))), page)
      yield
    }
    if (some.length < READ_AT_ONCE) break
  }
  if (store.read((tx) => countJournalPages(tx, job_key)) !== count) throw createMissingPageError(job_key)
  return count
}

function readPagesFrom(store: Store, job_key: number, from: number): JobJournalTable[] {
  return store.read((tx) => listJournalPages(tx, job_key, from, READ_AT_ONCE))
}

function createMissingPageError(job_key: number): Error {
  return new Error(`a page of the journal of job ${job_key} is missing`)
}

/** The wait requests of a stored job, past ones included, by the names of their firings. It reads no values. @throws as `forEachPage` */
export function* readWaitRequestsSteps(
  store: Store,
  tools: JournalStorage,
  job_key: number,
): Steps<Map<string, WaitRequest>> {
  const requests = new Map<string, WaitRequest>()
  yield* forEachPage(store, tools, job_key, function* (content, { page }) {
    if (page === 0) return
    yield* forEachSteps(decodePageEntries(content, tools.spilled), (entry) => {
      if (entry[0] === 'wait') requests.set(entry[1], entry[2])
    })
  })
  return requests
}
