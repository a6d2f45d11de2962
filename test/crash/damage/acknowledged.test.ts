// Removes the unacknowledged commits from a killed server's database, and checks the rest.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openConnection, type SqliteConnection } from '../../../src/db/connection.ts'
import { findStructureDamages } from '../../../src/db/integrity/structure-damage.ts'
import { commitMarkPath } from '../../../src/db/loss-detection/commit-mark-file.ts'
import { inFolder } from '../../helpers/folder.ts'
import { jobRow, openStore, putJob } from '../../helpers/store.ts'
import { relent, slowDown } from '../strike.ts'
import { copiedPages, keepAcknowledged } from './acknowledged.ts'

/** The numbers of jobs in a database with a sound structure. */
function jobsIn(path: string): number[] {
  const db = openConnection(path, { exists: true })
  try {
    assert.deepEqual(findStructureDamages(db), [])
    return db.prepare('select key from job order by key').pluck().all() as number[]
  } finally {
    db.close()
  }
}

/** The folder of a server that was killed between its second transaction and the mark of it. `between` runs between the two. */
async function killed(folder: string, between: (path: string) => void = () => {}, isStruck = false): Promise<string> {
  await using opened = await openStore()
  const { store, path } = opened
  if (isStruck) changed(path, slowDown)
  await store.write((tx) => putJob(tx, jobRow(1)))
  const mark = readFileSync(commitMarkPath(path))
  await store.write((tx) => {
    for (let key = 2; key < 200; key++) putJob(tx, jobRow(key))
  })
  between(path)
  cpSync(join(path, '..'), folder, { recursive: true })
  const copy = join(folder, 'svc.db')
  writeFileSync(commitMarkPath(copy), mark)
  return copy
}

function changed(path: string, change: (db: SqliteConnection) => void): void {
  const db = openConnection(path, { exists: true })
  change(db)
  db.close()
}

function copyLog(path: string): void {
  changed(path, (db) => db.pragma('wal_checkpoint(passive)'))
}

describe('the database of a killed server', () => {
  test(
    'ends with the last acknowledged commit',
    inFolder(async (folder) => {
      const path = await killed(folder)
      assert.equal(keepAcknowledged(path, copiedPages(path)), true)
      assert.deepEqual(jobsIn(path), [1])
    }),
  )

  test(
    'stays whole where a later commit was already copied from the log',
    inFolder(async (folder) => {
      const path = await killed(folder, copyLog)
      assert.equal(keepAcknowledged(path, copiedPages(path)), false)
      assert.equal(jobsIn(path).length, 199)
    }),
  )

  test(
    'has no trigger of a strike, even where the commit that removed it is cut off',
    inFolder(async (folder) => {
      const path = await killed(folder, () => {}, true)
      const copied = copiedPages(path)
      relent(folder)
      assert.equal(keepAcknowledged(path, copied), true)
      assert.deepEqual(jobsIn(path), [1])
      changed(path, (db) =>
        assert.deepEqual(db.prepare("select name from sqlite_schema where name like 'crash%'").all(), []),
      )
    }),
  )
})
