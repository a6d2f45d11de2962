// Checks the folder of a run a day and two hours later: it contains exactly the files that rows name, and they are complete.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { systemPlatform } from '../../../src/platform.ts'
import { startServer } from '../../helpers/server.ts'
import { databaseOf } from '../census.ts'
import type { Fault } from '../evidence.ts'
import { filesBelow } from './below.ts'
import { lookAtAssets } from './librarian.ts'
import { lookAtAll, lookAtUploads } from './looks.ts'
import type { Shelf } from './shelf.ts'
import { ageValues, strayValues } from './values.ts'

/** Longer than the day of temporary files, and the hour that bytes may wait for their row. */
const LATER_MS = 26 * 3_600_000
/** More files than a sweep checks at once. */
const SWEPT_AT_ONCE = 100

/** Checks the folder of an ended server after a sweep. */
export async function judgeFolder(data_dir: string, shelf: Shelf): Promise<Fault[]> {
  const values = ageValues(data_dir)
  const now = () => Date.now() + LATER_MS
  const platform = { ...systemPlatform(), now, timestamp: () => new Date(now()).toISOString() }
  await using server = await startServer({ data_dir, platform })
  const rounds = 2 + Math.ceil((filesBelow(objects(data_dir)).length + values) / SWEPT_AT_ONCE)
  for (let round = 0; round < rounds; round += 1) await server.context.runs.retention.sweep()
  await lookAtAll(server.url, shelf, { gone: true })
  await lookAtAssets(server.url, shelf)
  await lookAtUploads(server.url, shelf, shelf.uploads, true)
  return [...strays(data_dir), ...strayValues(data_dir)]
}

function objects(data_dir: string): string {
  return join(data_dir, 'storage', 'objects')
}

/** Files without a row, rows without a file, and leftovers of removed or incomplete files. */
export function strays(data_dir: string): Fault[] {
  const files = filesBelow(objects(data_dir))
  const named = namedContents(data_dir)
  const left = ['storage/incoming', 'temporary'].flatMap((name) =>
    filesBelow(join(data_dir, name)).map((path) => `${name}/${path}`),
  )
  const told = (kind: Fault['kind'], what: string): Fault => ({ kind, job_id: null, what })
  return [
    ...files.filter((key) => !named.has(key)).map((key) => told('contradiction', `no row names the file ${key}`)),
    ...[...named]
      .filter((key) => !files.includes(key))
      .map((key) => told('loss', `the file ${key} of a row is missing`)),
    ...left.map((path) => told('contradiction', `the file ${path} was left`)),
  ]
}

function namedContents(data_dir: string): Set<string> {
  const db = new Database(databaseOf(data_dir), { readonly: true })
  try {
    const keys = `select content_key from object union select content_key from asset union select thumb_key from asset`
    const rows = db.prepare(keys).pluck().all() as (string | null)[]
    return new Set(rows.filter((key) => key !== null))
  } finally {
    db.close()
  }
}
