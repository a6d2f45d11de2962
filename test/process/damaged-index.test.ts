// The start finds damage of a large database after it has opened it. It reports
// the damage in one line, as for damage that the opening finds.
import assert from 'node:assert/strict'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { isLargeDatabase } from '../../src/db/open-database.ts'
import { call } from '../helpers/http.ts'
import { svc } from '../helpers/process.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'

/** The size of a database page in bytes. */
const PAGE = 4_096

/** Makes the first pages of all indexes of jobs invalid. The rows stay unchanged. */
function damageIndexes(path: string): void {
  const db = new Database(path, { readonly: true })
  const pages = db
    .prepare("select rootpage from sqlite_schema where type = 'index' and tbl_name = 'job'")
    .pluck()
    .all() as number[]
  db.close()
  assert.ok(pages.length > 0)
  const file = openSync(path, 'r+')
  for (const page of pages) writeSync(file, Buffer.alloc(PAGE, 0xff), 0, PAGE, (page - 1) * PAGE)
  closeSync(file)
}

test('a start that meets damage of a large database says in one line what is wrong and what to do', async () => {
  const data_dir = temporaryFolder()
  const database = join(data_dir, 'svc.db')
  try {
    {
      await using server = await startServer({ data_dir })
      const body = { params: { name: 'A'.repeat(6_000_000) } }
      while (!isLargeDatabase(database)) {
        const { status } = await call(server, 'POST', '/api/workflows/greeting/run', { body })
        assert.equal(status, 200)
      }
    }
    damageIndexes(database)
    const { code, stdout, stderr } = await svc(['serve', '--port', '0'], { SVC_DATA_DIR: data_dir })
    assert.match(stderr, /^svc: \S+svc\.db is damaged; see what "svc check" finds, [^\n]+\n$/)
    assert.deepEqual([code, stdout], [1, ''])
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})
