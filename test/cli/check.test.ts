// `svc check`: each check finds its kind of damage, and sound data is reported sound, even while a server writes it.
import assert from 'node:assert/strict'
import { appendFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { contentKey } from '../../src/assets/storage-keys.ts'
import { runCheckCommand as runCheck } from '../../src/cli/check.ts'
import { INVARIANTS } from '../../src/db/integrity/invariants.ts'
import { TABLE_NAMES } from '../../src/db/integrity/row-checksum.ts'
import type { ObjectTable } from '../../src/db/tables/assets.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { cannotMount, damagePage, readOnlyView, rootPage } from '../db/kit.ts'
import { refreshChecksums, withoutTriggers } from '../helpers/checksums.ts'
import { svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { command, soundFolder } from './stored.ts'

let folder: string
let sound: string
let asset: string
let copies = 0

before(async () => {
  folder = temporaryFolder()
  sound = join(folder, 'sound')
  asset = (await soundFolder(sound)).slice(sound.length)
})

after(() => rmSync(folder, { recursive: true, force: true }))

const check = (data_dir: string) => command(runCheck, [], { SVC_DATA_DIR: data_dir })

function copy(): string {
  const path = join(folder, `copy-${++copies}`)
  cpSync(sound, path, { recursive: true })
  return path
}

/** A copy whose database was changed without the service. */
function changed(sql: string): string {
  const path = copy()
  const db = new Database(join(path, 'svc.db'))
  db.pragma('foreign_keys = off')
  db.exec(`drop trigger job_event_is_immutable; drop trigger job_terminal_is_immutable; ${sql}`)
  refreshChecksums(db)
  db.close()
  return path
}

async function finds(data_dir: string, ...patterns: RegExp[]): Promise<string> {
  const { code, stdout, stderr } = await check(data_dir)
  assert.deepEqual([code, stderr], [1, ''], stdout)
  for (const pattern of patterns) assert.match(stdout, pattern)
  assert.match(stdout, /svc\.db is not sound: \d+ findings?\n$/)
  return stdout
}

/** Makes a change that an index misses. */
function withoutIndex(db: Database.Database, name: string, work: () => void): void {
  const row = db.prepare('select * from sqlite_schema where name = ?').get(name) as Record<string, unknown>
  const write = (sql: string, values: unknown[]) => {
    db.unsafeMode(true)
    db.pragma('writable_schema = on')
    db.prepare(sql).run(...values)
    db.pragma('writable_schema = reset')
    db.unsafeMode(false)
  }
  write('delete from sqlite_schema where name = ?', [name])
  work()
  write('insert into sqlite_schema (type, name, tbl_name, rootpage, sql) values (?, ?, ?, ?, ?)', Object.values(row))
}

/** A thread with one message of this content and status. */
function inThread(content: string, status: string): string {
  const origin = 'null, null, null, null, null, null'
  return `insert into thread values (1, 't', '1', null, null, 1, 0, 'z', 'z', 'z', null);
    insert into message values (1, 1, 'm', null, 'assistant', ${content}, null, null, '${status}', ${origin}, 'z', null)`
}

/** The metadata of an asset with a thumbnail of four bytes. */
const THUMB = JSON.stringify({ thumb: { size: 4, sha256: sha256('webp') } })

/** Stores an object that is sound except for the given values. */
function putting(more: Partial<ObjectTable>): string {
  const digest = sha256('x')
  const sound = {
    storage_key: '1/x',
    user_id: '1',
    workspace_id: null,
    content_key: contentKey('1', digest),
    content_type: 'text/plain',
  }
  const row: ObjectTable = {
    ...sound,
    size: 1,
    sha256: digest,
    expires_at: null,
    created_at: 'z',
    updated_at: 'z',
    ...more,
  }
  const values = Object.values(row).map((value) =>
    value === null ? 'null' : typeof value === 'number' ? value : `'${value}'`,
  )
  return `insert into object (${Object.keys(row).join(', ')}) values (${values.join(', ')})`
}

/** A change that violates each invariant, and the resulting finding. */
const BREAKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the events that a job still has follow each other without a gap': {
    'delete from job_event where job_key = 7 and sequence = 2': 'job job_7 has 2 events between 1 and 3',
  },
  'the last event of a job is the one that its row names': {
    'update job set last_sequence = 5 where key = 7': 'job job_7 names 5 as its last event, and has 3',
    'delete from job_event where job_key = 7 and sequence = 3': 'job job_7 names 3 as its last event, and has 2',
  },
  'a job that has not ended has its events': {
    'delete from job_event where job_key = 301': 'job job_301 is running and has none of its 2 events',
  },
  'a job has a time of its end when it has ended, and then alone': {
    'update job set finished_at = null where key = 7': 'job job_7 is completed and ended at no time',
    "update job set finished_at = 'z' where key = 301": 'job job_301 is running and ended at z',
  },
  'a completed job has its result, a failed one its error': {
    'update job set result = null where key = 7': 'job job_7 is completed and has no result',
    "update job set status = 'timed_out' where key = 7": 'job job_7 is timed_out and has no error',
  },
  'the last event of a job that has ended says so': {
    "update job_event set type = 'x' where job_key = 7 and sequence = 3":
      'job job_7 is completed, and its last event is x',
  },
  'no other event says that a job has ended': {
    "update job_event set type = 'job_terminal' where job_key = 301 and sequence = 2":
      'job job_301 is running, and its event 2 says that it has ended',
    "update job_event set type = 'job_terminal' where job_key = 7 and sequence = 2":
      'job job_7 is completed, and its event 2 says that it has ended',
  },
  'every job has its graph': {
    "update job set graph_sha256 = 'none' where key = 7": 'job job_7 has no graph none',
  },
  'every graph is what its digest says': {
    "update graph set body = '[]'": 'graph [0-9a-f]{64} has another digest',
  },
  'a result has its parts, and they belong to jobs': {
    'update job set result_parts = 2 where key = 7': 'job job_7 has 0 of 2 parts of its result',
    "insert into result_part values (999, 0, 'x', null)": 'job #999 does not exist and has 1 parts of a result',
  },
  'events belong to jobs': {
    "insert into job_event values (999, 1, 'x', '{}', 'z', null)": 'job #999 does not exist and has 1 events',
  },
  'what was removed of histories belongs to jobs, and is older than what they still have': {
    "insert into job_trimmed values (999, 'output_update', 'x', '', 1, null)":
      'job #999 does not exist, and events of it are counted as removed',
    "insert into job_trimmed values (7, 'output_update', 'x', '', 1, null)":
      'job job_7 has its event 1, and counts 1 before it as removed',
  },
  'pages of the journal belong to jobs': {
    "insert into job_journal values (999, 0, 1, x'00', null)": 'job #999 does not exist and has 1 pages',
  },
  'a job whose journal is being removed has completed': {
    'insert into job_doomed values (301, null)': 'job job_301 is running, and its journal is being removed',
  },
  'large values that are remembered belong to jobs that have a journal': {
    "insert into spilled_value values ('00/a', 999, 1, 'x', null)": 'job #999 does not exist and has 1 large values',
    "insert into spilled_value values ('00/a', 7, 1, 'x', null)": 'job job_7 has 1 large values and no pages',
  },
  'no page of the journal comes from an attempt that its job has not made': {
    'update job_journal set attempt = 2': 'job job_301 is at attempt 1, and its page 0 at 2',
  },
  'keys of submissions name jobs of their owners': {
    "insert into idempotency_key values ('2', '', 'k', 'h', 7, 'z', null)":
      'the key k of user 2 names job job_7 of user 1',
  },
  'the messages of a thread are numbered from 1 to the last one that its row names': {
    "insert into thread values (1, 't', '1', null, null, 1, 0, 'z', 'z', 'z', null)":
      'thread t names 1 as its last message, and has 0 up to 0',
  },
  'a message has an error when it has failed, and then alone': {
    [inThread("'1'", 'failed')]: 'message m is failed and has no error',
  },
  'an asset has a small picture where its metadata says so, and only once somebody has looked': {
    "update asset set thumb_key = 'aa/bb/cc'": 'asset a1 has a small picture, and says otherwise',
    [`update asset set metadata = '${THUMB}'`]: 'asset a1 has no small picture, and says otherwise',
    [`update asset set thumb_key = 'aa/bb/cc', metadata = '${THUMB}', previewed = 0`]:
      'asset a1 has a small picture, and nobody has looked',
    'update asset set previewed = 2': 'asset a1 has no small picture, and counts 2 looks',
  },
  'an asset has bytes, or is a folder': {
    "update asset set content_type = 'folder'": 'asset a1 is a folder, and has bytes',
    'update asset set content_key = null': 'asset a1 is a text/plain[^,]*, and has no bytes',
  },
  'an asset lies at the top level, or in a folder of its owner, and no folder in itself': {
    "update asset set parent_id = 'a1'": 'asset a1 is not found from the top level: it lies in a1',
    "update asset set parent_id = 'none'": 'asset a1 is not found from the top level: it lies in none',
    // A function of the service's own connection makes the words of names.
    [`drop trigger asset_name_insert;
      insert into asset (id, user_id, parent_id, name, content_type, size, metadata, previewed, created_at, updated_at)
      select 'a2', user_id, 'a1', name, 'folder', 0, '{}', 1, 'z', 'z' from asset`]:
      'asset a2 lies in a1, which is no folder',
  },
  'a folder that was deleted has no row any more': {
    "insert into deleted_folder values ('1', '', 'a1', null)": 'the folder a1 was deleted, and is there',
  },
  'every asset is found by its name, and nothing else is': {
    'delete from asset_name': 'asset a1 has no words',
    "insert into asset_name (rowid, grams) values (99, 'x')": 'asset #99 does not exist, and has words',
  },
  'an object is temporary where its key says so, and its bytes are kept as those of its user': {
    [putting({ storage_key: 'temp/1/x' })]: 'the object temp/1/x of user 1 expires never',
    [putting({ expires_at: 'z' })]: 'the object 1/x of user 1 expires at z',
    [putting({ sha256: sha256('y') })]: 'the object 1/x of user 1 has the bytes of something else',
    [putting({ user_id: '2' })]: 'the object 1/x of user 2 has the bytes of something else',
  },
  'no key is that of an object and of an asset': {
    [putting({ storage_key: '1/a1.txt' })]: 'the key 1/a1.txt is that of an object and of the asset a1',
  },
  'what is JSON can be read': {
    "update asset set metadata = '{'": 'asset a1 holds a text that is no JSON',
    [inThread("'{'", 'completed')]: 'message m holds a text that is no JSON',
    "update job_event set payload = '{' where job_key = 7 and sequence = 2": 'job_7 has an event 2 that is no JSON',
    "update job set options = '' where key = 301": 'job job_301 holds a text that is no JSON',
    "update job set preflight = '{' where key = 301": 'job job_301 holds a text that is no JSON',
    "insert into access_token values ('t', '1', null, 'n', zeroblob(32), '[', 'z', null, null, null)":
      'token t has scopes that are no JSON',
    "insert into mcp_token values ('m', '1', null, 'c', 'r', zeroblob(32), '[', 'z', 'z', null)":
      'token m has scopes that are no JSON',
    "insert into user_setting values ('1', '', 'theme', 'dark', 'z', null)": 'the setting theme of user 1 is no JSON',
  },
  'tokens are kept as SHA-256 digests': {
    "insert into access_token values ('t', '1', null, 'n', zeroblob(31), '[]', 'z', null, null, null)":
      'token t has a digest of 31 bytes',
    "insert into mcp_token values ('m', '1', null, 'c', 'r', zeroblob(33), '[]', 'z', 'z', null)":
      'token m has a digest of 33 bytes',
  },
  'secrets of users are sealed': {
    "insert into user_secret values ('1', '', 'KEY', cast('a value as it is, not sealed at all' as blob), 'z', null)":
      'the secret KEY of user 1 is no sealed value',
    "insert into user_secret values ('1', '', 'CUT', x'01', 'z', null)": 'the secret CUT of user 1 is no sealed value',
  },
  'an index of vectors counts its entries and their bytes': {
    "insert into vector_index values (1, '1', '', 'i', 2, null, 1, 10, 'z', 'z', null)":
      'the index i of 1 counts 1 entries of 10 bytes, and has 0 of 0',
  },
}

describe('svc check', () => {
  test('calls a sound folder sound, with 0 and one line', async () => {
    const { code, stdout, stderr } = await check(sound)
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^\S+svc\.db is sound: \d+ checks, nothing found; [\d,]+ bytes, [\d,]+ of them free\n$/)
  })

  for (const [name, breaks] of Object.entries(BREAKS)) {
    test(`checks that ${name}`, async () => {
      for (const [sql, finding] of Object.entries(breaks))
        await finds(changed(sql), new RegExp(`^${name}: .*${finding}$`, 'm'))
    })
  }

  test('has a test for each of its invariants', () => {
    assert.deepEqual(
      Object.keys(BREAKS),
      INVARIANTS.map(({ name }) => name),
    )
  })

  test('forgives what removed jobs leave behind for a while', async () => {
    const sql =
      "insert into job_doomed (job_key) values (999); insert into job_event values (999, 1, 'x', '{}', 'z', null)"
    assert.doesNotMatch(await finds(changed(sql)), /#999/)
  })

  test('forgives what deleted folders leave behind for a while', async () => {
    const sql = "update asset set parent_id = 'none'; insert into deleted_folder values ('1', '', 'none', null)"
    assert.doesNotMatch(await finds(changed(sql), /$/), /a1/)
  })

  test('lists the first twenty findings, and the number of further ones', async () => {
    const told = await finds(changed('update job set result = null where key <= 300'), /has no result\n/)
    assert.equal(told.match(/has no result/g)?.length, 20)
    assert.match(told, /: and 280 more$/m)
  })

  test('finds a trigger that is missing, an unknown table, and rows that refer to missing rows', async () => {
    await finds(
      changed("create table extra (x); update job set graph_sha256 = 'none' where key = 7"),
      /the schema: is missing: CREATE TRIGGER job_event_is_immutable/,
      /the schema: is not the service's: CREATE TABLE extra/,
      /references between rows: a row of job names one of graph that does not exist/,
    )
  })

  test('says where the file is damaged', async () => {
    const path = copy()
    const db = new Database(join(path, 'svc.db'))
    const root = rootPage(db, 'job_event')
    db.close()
    damagePage(join(path, 'svc.db'), root)
    await finds(path, new RegExp(`^the file: .*\\b${root}\\b`, 'm'))
  })

  test('finds a row of any table that is not what was written', async () => {
    const db = new Database(join(sound, 'svc.db'), { readonly: true })
    const filled = TABLE_NAMES.filter((table) => db.prepare(`select 1 from "${table}"`).get() !== undefined)
    db.close()
    for (const table of filled) {
      const path = copy()
      const other = new Database(join(path, 'svc.db'))
      other.pragma('foreign_keys = off')
      withoutTriggers(other, () => other.exec(`update "${table}" set checksum = checksum + 1`))
      other.close()
      await finds(path, new RegExp(`^.*\\b${table}\\b.*$`, 'm'))
    }
    assert.ok(filled.length > 5, filled.join())
  })

  test('finds an entry that is missing from an index, and one of a row that is gone', async () => {
    for (const index of ['job_by_owner', 'job_by_status'])
      for (const sql of ["update job set user_id = 'other' where key = 7", 'delete from job where key = 7']) {
        const path = copy()
        const db = new Database(join(path, 'svc.db'))
        db.pragma('foreign_keys = off')
        withoutTriggers(db, () => withoutIndex(db, index, () => db.exec(sql)))
        refreshChecksums(db)
        db.close()
        await finds(path, new RegExp(`^the file: .*${index}`, 'm'))
      }
  })

  test('says that a file is no database, or that there is none', async () => {
    const path = copy()
    damagePage(join(path, 'svc.db'), 1)
    await finds(path, /^the file: cannot be read: file is not a database \(SQLITE_NOTADB\)$/m)
    const { code, stderr } = await svc(['check'], { SVC_DATA_DIR: join(folder, 'nowhere') })
    assert.equal(code, 1)
    assert.match(stderr, /^svc: there is no database \S+; check SVC_DATA_DIR and SVC_DATABASE_URL\n$/)
  })

  test('finds a file of an asset that is missing, cut or changed', async () => {
    const [missing, cut, other] = [copy(), copy(), copy()]
    rmSync(missing + asset)
    await finds(missing, /^the files of assets: \S+ is missing$/m)
    appendFileSync(cut + asset, '!')
    await finds(cut, /^the files of assets: \S+ has 22 bytes instead of 21$/m)
    writeFileSync(other + asset, 'THE BYTES OF AN ASSET')
    await finds(other, /^the files of assets: \S+ has different content than was written$/m)
  })

  test('finds the bytes of an object that are missing, cut or changed', async () => {
    const path = copy()
    const db = new Database(join(path, 'svc.db'))
    db.exec(putting({}))
    refreshChecksums(db)
    db.close()
    const content_key = contentKey('1', sha256('x'))
    await finds(path, new RegExp(`^the files of assets: ${content_key} is missing$`, 'm'))
    const file = join(path, 'storage', 'objects', content_key)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, 'x')
    assert.equal((await check(path)).code, 0)
    writeFileSync(file, 'y')
    await finds(path, /^the files of assets: \S+ has different content than was written$/m)
  })

  test('finds a small picture that is missing, cut or changed', async () => {
    const path = copy()
    const db = new Database(join(path, 'svc.db'))
    db.exec(`update asset set thumb_key = 'aa/bb/cc', metadata = '${THUMB}'`)
    refreshChecksums(db)
    db.close()
    const picture = join(path, 'storage', 'objects', 'aa', 'bb', 'cc')
    mkdirSync(dirname(picture), { recursive: true })
    writeFileSync(picture, 'webp')
    assert.equal((await check(path)).code, 0)
    appendFileSync(picture, '!')
    await finds(path, /^the files of assets: aa\/bb\/cc has 5 bytes instead of 4$/m)
    writeFileSync(picture, 'WEBP')
    await finds(path, /^the files of assets: aa\/bb\/cc has different content than was written$/m)
    rmSync(picture)
    await finds(path, /^the files of assets: aa\/bb\/cc is missing$/m)
  })

  test('does not check the rows of another version', async () => {
    await finds(
      changed("insert into kysely_migration values ('9999-future', 'z')"),
      /the version: was written by a newer version of the service \(migration 9999-future\)/,
    )
    await finds(
      changed("delete from kysely_migration where name like '0005%'"),
      /the version: was written by an older version of the service/,
    )
  })

  test('works in a folder that cannot be written, where the files that SQLite makes are there already', {
    skip: cannotMount,
  }, async () => {
    const path = copy()
    const other = new Database(join(path, 'svc.db'))
    other.pragma('user_version')
    using view = readOnlyView(path)
    assert.equal((await check(view.path)).code, 0)
    other.close()
  })

  test('says what to do where SQLite would have to make files in such a folder', { skip: cannotMount }, async () => {
    const path = copy()
    for (const end of ['-wal', '-shm']) rmSync(join(path, `svc.db${end}`), { force: true })
    using view = readOnlyView(path)
    const { code, stdout, stderr } = await svc(['check'], { SVC_DATA_DIR: view.path })
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(
      stderr,
      'svc: the check failed: unable to open database file (SQLITE_CANTOPEN); SQLite makes files beside the database that it reads: copy the data folder to a place where you may write\n',
    )
  })

  test('does not change the data folder', async () => {
    const path = changed('update job set result = null where key = 7')
    const bytes = () => new Database(join(path, 'svc.db'), { readonly: true }).serialize().toString('base64')
    const before = bytes()
    await finds(path, /job_7/)
    assert.equal(bytes(), before)
  })

  test('refuses arguments with 2 and the usage', async () => {
    const { code, stdout, stderr } = await svc(['check', 'x'], { SVC_DATA_DIR: sound })
    assert.deepEqual(
      [code, stdout, stderr],
      [2, '', 'svc: unexpected argument "x"\nusage: svc check [--accept-loss]\n'],
    )
  })
})
