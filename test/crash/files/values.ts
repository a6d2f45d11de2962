// Checks the files of large stored values in a run's folder: each has its row,
// each row has its file, and no job keeps more values than it needs.
import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { journalFolderPath } from '../../../src/db/files/data-folder.ts'
import { databaseOf } from '../census.ts'
import type { Fault } from '../evidence.ts'
import { filesBelow } from './below.ts'

/** Seconds. A file has an hour to get its row. */
const OLD = 7_200

/** Makes all files old enough for a sweep to remove those without a row. Their rows can no longer come. Returns the number of files. */
export function ageValues(data_dir: string): number {
  const long_ago = Date.now() / 1_000 - OLD
  const files = filesBelow(journalFolderPath(data_dir))
  for (const key of files) utimesSync(join(journalFolderPath(data_dir), key), long_ago, long_ago)
  return files.length
}

interface ValueRow {
  readonly content_key: string
  /** Null where the job no longer exists. */
  readonly status: string | null
}

/** Checks a swept folder. */
export function strayValues(data_dir: string): Fault[] {
  const rows = valueRows(data_dir)
  const named = new Set(rows.map(({ content_key }) => content_key))
  const told = (kind: Fault['kind'], what: string): Fault => ({ kind, job_id: null, what })
  const folder = journalFolderPath(data_dir)
  return [
    ...filesBelow(folder).flatMap((key) =>
      named.has(key) ? [] : [told('contradiction', `no row names the large value ${key}`)],
    ),
    ...rows.flatMap(({ content_key, status }) => {
      if (!existsSync(join(folder, content_key))) return [told('loss', `the large value ${content_key} is missing`)]
      if (status !== null && status !== 'completed') return []
      return [
        told('contradiction', `the large value ${content_key} was left by a job that needs none: ${status ?? 'gone'}`),
      ]
    }),
  ]
}

function valueRows(data_dir: string): ValueRow[] {
  const db = new Database(databaseOf(data_dir), { readonly: true })
  try {
    const rows = 'select content_key, status from spilled_value left join job on job.key = spilled_value.job_key'
    return db.prepare(rows).all() as ValueRow[]
  } finally {
    db.close()
  }
}
