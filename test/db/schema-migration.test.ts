// Migrations: from an empty file, repeated, and of a newer version; and files that are no database of the service.
import assert from 'node:assert/strict'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { nameTrigramQuery, nameTrigrams } from '../../src/db/assets/name-trigrams.ts'
import { isChecksumValid } from '../../src/db/integrity/row-checksum.ts'
import { dumpSchema } from '../../src/db/open-database.ts'
import { migrate } from '../../src/db/schema-migration.ts'
import { statement } from '../../src/db/statement.ts'
import { Store } from '../../src/db/store.ts'
import { readDraftText } from '../../src/db/threads.ts'
import { StartError } from '../../src/start-error.ts'
import { inFolder } from '../helpers/folder.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'

const DUMP = new URL('schema.sql', import.meta.url)

/** Opens `path`, which must be refused in one line that matches. */
async function refused(path: string, message: RegExp): Promise<void> {
  await assert.rejects(Store.open(path), (error) => {
    assert.ok(error instanceof StartError, String(error))
    assert.match(error.message, message)
    assert.ok(!error.message.includes('\n'))
    return true
  })
}

const ASSETS = statement('keys')((db) => db.selectFrom('asset').select(['key', 'id', 'previewed']).orderBy('key'))

function inMemory() {
  const db = new Database(':memory:')
  db.function('name_grams', { deterministic: true }, nameTrigrams)
  return Object.assign(db, { [Symbol.dispose]: () => db.close() })
}

/** The same database, in which all statements fail after the first changes, as in a killed process. */
function killedBehind(db: Database.Database, statements: number) {
  const error = new Error('killed')
  let left = statements
  const killed = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)
      return (text: string) => {
        if (left < 0 || (/^(create|alter|drop|insert|update|delete|commit)/i.test(text) && left-- === 0)) throw error
        return target.prepare(text)
      }
    },
  })
  return { db: killed, error }
}

/** A database as left by the migrations up to one. */
async function databaseAt(migration: string) {
  const folder = temporaryFolder()
  const path = join(folder, 'svc.db')
  const db = new Database(path)
  db.function('name_grams', { deterministic: true }, nameTrigrams)
  await migrate(db, { to: migration })
  const open = () => {
    db.close()
    return Store.open(path)
  }
  return { path, db, open, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

describe('migrations', () => {
  test('produce the schema in schema.sql', async () => {
    await using opened = await openStore()
    assert.equal(opened.store.dumpSchema(), readFileSync(DUMP, 'utf8'))
  })

  test('a database that was migrated before is left as it is', async () => {
    await using opened = await openStore()
    await opened.store.write((tx) => putJob(tx, jobRow(1)))
    const before = opened.store.dumpSchema()
    const store = await opened.reopen()
    assert.equal(store.dumpSchema(), before)
  })

  test('keep the unfinished text of a turn of an earlier version as its first piece', async () => {
    using earlier = await databaseAt('0011-vectors')
    const { db } = earlier
    for (const [key, text] of [
      [1, 'so far'],
      [2, ''],
    ] as const) {
      db.prepare("insert into thread values (?, ?, '1', null, null, 1, 0, '', '', '')").run(key, `thread ${key}`)
      const row = db.prepare("insert into turn (thread_key, id, text, created_at) values (?, 'turn', ?, '')")
      row.run(key, text)
    }
    await using store = await earlier.open()
    assert.deepEqual(
      [1, 2].map((key) => store.read((tx) => readDraftText(tx, key))),
      ['so far', ''],
    )
    assert.equal(store.dumpSchema(), readFileSync(DUMP, 'utf8'))
  })

  test('the assets of an earlier version stay, in the order in which they were made, and are found by their names', async () => {
    using earlier = await databaseAt('0012-drafts')
    const { db } = earlier
    const insert =
      db.prepare(`insert into asset (id, user_id, name, content_type, size, sha256, storage_key, content_key, metadata,
      created_at, updated_at) values (?, '1', ?, 'image/png', 3, 'x', ?, ?, '{}', ?, '')`)
    insert.run('late', 'Holiday at sea.png', '1/late.png', 'content', '2026-02-01')
    insert.run('early', 'Snow.png', '1/early.png', 'content', '2026-01-01')
    await using store = await earlier.open()
    const rows = store.read((tx) => tx.all(ASSETS, {}))
    assert.deepEqual(rows, [
      { key: 1, id: 'early', previewed: 0 },
      { key: 2, id: 'late', previewed: 0 },
    ])
    assert.equal(store.dumpSchema(), readFileSync(DUMP, 'utf8'))
    const after = new Database(earlier.path, { readonly: true })
    const found = after.prepare('select rowid from asset_name where asset_name match ?').pluck()
    const query = (user_id: string) => nameTrigramQuery({ user_id, workspace_id: null }, 'day at')
    assert.deepEqual([found.all(query('1')), found.all(query('2'))], [[2], []])
    after.close()
  })

  test('rows get their checksums whatever their keys hold, also where an upgrade was interrupted', async () => {
    using earlier = await databaseAt('0015-deleted-folders')
    const { db } = earlier
    const count = 2_345
    const submission = db.prepare("insert into idempotency_key values (?, '', ?, 'x', 1, '')")
    const secret = db.prepare("insert into user_secret values (?, '', ?, x'01', '')")
    db.exec('begin')
    for (let at = 0; at < count; at++)
      for (const insert of [submission, secret]) insert.run(`us'er\u0000 "${at % 3}"`, `${at}'\u0000"'' \u0000 or 1 --`)
    db.exec('commit')
    let left = 6
    const interrupting = () => {
      if (left-- === 0) throw new Error('interrupted')
    }
    await assert.rejects(migrate(db, { progress: interrupting }), /interrupted/)
    await using store = await earlier.open()
    assert.equal(store.dumpSchema(), readFileSync(DUMP, 'utf8'))
    const after = new Database(earlier.path, { readonly: true })
    for (const table of ['idempotency_key', 'user_secret'] as const) {
      const rows = after.prepare(`select * from ${table}`).all() as Record<string, unknown>[]
      assert.equal(rows.length, count)
      assert.deepEqual(rows.filter((row) => !isChecksumValid(table, row)).slice(0, 1), [])
    }
    after.close()
  })

  test('that were killed continue at the next start, at every point', async () => {
    // After every fourth statement: testing all of them takes half a minute.
    for (let statements = 0, interrupted = true; interrupted; statements += 4) {
      using db = inMemory()
      const kill = killedBehind(db, statements)
      interrupted = await migrate(kill.db).then(
        () => false,
        (error) => error === kill.error || Promise.reject(error),
      )
      // Open transactions are lost with the process.
      if (db.inTransaction) db.exec('rollback')
      await migrate(db)
      assert.equal(dumpSchema(db), readFileSync(DUMP, 'utf8'), `killed behind ${statements} statements`)
    }
  })

  for (const [migration, index] of [
    ['0016-checksums', 'job_unfinished_by_status'],
    ['0017-unfinished-by-owner', 'asset_to_preview'],
  ] as const)
    test(`one goes on that an older build was killed in while it made the index in the place of ${index}`, async () => {
      using db = inMemory()
      await migrate(db, { to: migration })
      // It had no transaction: the old index was removed before the new one was created.
      db.exec(`drop index ${index}`)
      await migrate(db)
      assert.equal(dumpSchema(db), readFileSync(DUMP, 'utf8'))
    })

  test('one from a newer version is named and refused, and not changed', async () => {
    await using opened = await openStore()
    await opened.store[Symbol.asyncDispose]()
    const db = new Database(opened.path)
    const known = db.prepare('select count(*) from kysely_migration').pluck().get() as number
    db.prepare("insert into kysely_migration (name, timestamp) values ('9999-from-the-future', 'x')").run()
    db.close()
    await refused(opened.path, /newer version of the service \(migration 9999-from-the-future\)/)
    const after = new Database(opened.path)
    assert.equal(after.prepare('select count(*) from kysely_migration').pluck().get(), known + 1)
    after.prepare("delete from kysely_migration where name like '9999%'").run()
    after.close()
  })
})

describe('files that cannot be used', () => {
  test(
    'a file that is no database is left alone',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const text = 'This is a letter, and it is long enough to be read as a header of a database. '.repeat(20)
      writeFileSync(path, text)
      await refused(path, /svc\.db is not a database; move it away or choose another data folder with SVC_DATA_DIR/)
      assert.equal(readFileSync(path, 'utf8'), text)
    }),
  )

  test(
    'a damaged header',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const store = await Store.open(path)
      await store[Symbol.asyncDispose]()
      const file = openSync(path, 'r+')
      writeSync(file, Buffer.alloc(64, 0xff), 0, 64, 0)
      closeSync(file)
      await refused(path, /svc\.db is (not a database|damaged)/)
    }),
  )

  test(
    'a damaged schema page',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const store = await Store.open(path)
      await store[Symbol.asyncDispose]()
      const file = openSync(path, 'r+')
      // After the file header of 100 bytes comes the root of the table of tables.
      writeSync(file, Buffer.alloc(3_900, 0x5a), 0, 3_900, 100)
      closeSync(file)
      await refused(path, /svc\.db is (not a database|damaged)/)
    }),
  )

  test(
    'a folder in the place of the file',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      mkdirSync(path)
      await refused(path, /svc\.db cannot be opened/)
      assert.ok(statSync(path).isDirectory())
    }),
  )

  test(
    'a folder that does not exist is not made',
    inFolder(async (folder) => {
      const path = join(folder, 'nowhere', 'svc.db')
      await refused(path, /svc\.db cannot be opened: its folder does not exist/)
      assert.equal(existsSync(join(folder, 'nowhere')), false)
    }),
  )

  test(
    'a path below a regular file',
    inFolder(async (folder) => {
      writeFileSync(join(folder, 'file'), '')
      await refused(join(folder, 'file', 'svc.db'), /svc\.db cannot be opened/)
    }),
  )
})
