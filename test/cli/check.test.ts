// `svc check`: every kind of damage is found by its own check, and what is sound is called so, also while it is written.
import assert from 'node:assert/strict'
import { appendFileSync, cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { check as runCheck } from '../../src/cli/check.ts'
import { INVARIANTS } from '../../src/db/invariants.ts'
import { cannotMount, damagePage, readOnlyView, rootPage } from '../db/kit.ts'
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

/** A copy whose database was changed behind the back of the service. */
function changed(sql: string): string {
  const path = copy()
  const db = new Database(join(path, 'svc.db'))
  db.pragma('foreign_keys = off')
  db.exec(`drop trigger job_event_is_immutable; drop trigger job_terminal_is_immutable; ${sql}`)
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

/** What breaks each invariant, and what is said of it. */
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
  'events belong to jobs': {
    "insert into job_event values (999, 1, 'x', '{}', 'z')": 'job #999 does not exist and has 1 events',
  },
  'pages of the journal belong to jobs': {
    "insert into job_journal values (999, 0, 1, x'00')": 'job #999 does not exist and has 1 pages',
  },
  'no page of the journal comes from an attempt that its job has not made': {
    'update job_journal set attempt = 2': 'job job_301 is at attempt 1, and its page 0 at 2',
  },
  'keys of submissions name jobs': {
    "insert into idempotency_key values ('1', '', 'k', 'h', 999, 'z')":
      'the key k of user 1 names job #999, which does not exist',
  },
  'what is JSON can be read': {
    "update job_event set payload = '{' where job_key = 7 and sequence = 2": 'job_7 has an event 2 that is no JSON',
    "update job set options = '' where key = 301": 'job job_301 holds a text that is no JSON',
    "insert into access_token values ('t', '1', null, 'n', zeroblob(32), '[', 'z', null, null)":
      'token t has scopes that are no JSON',
    "insert into mcp_token values ('m', '1', null, 'c', 'r', zeroblob(32), '[', 'z', 'z')":
      'token m has scopes that are no JSON',
    "insert into user_setting values ('1', '', 'theme', 'dark', 'z')": 'the setting theme of user 1 is no JSON',
  },
  'tokens are kept as SHA-256 digests': {
    "insert into access_token values ('t', '1', null, 'n', zeroblob(31), '[]', 'z', null, null)":
      'token t has a digest of 31 bytes',
    "insert into mcp_token values ('m', '1', null, 'c', 'r', zeroblob(33), '[]', 'z', 'z')":
      'token m has a digest of 33 bytes',
  },
  'secrets of users are sealed': {
    "insert into user_secret values ('1', '', 'KEY', cast('a value as it is, not sealed at all' as blob), 'z')":
      'the secret KEY of user 1 is no sealed value',
    "insert into user_secret values ('1', '', 'CUT', x'01', 'z')": 'the secret CUT of user 1 is no sealed value',
  },
}

describe('svc check', () => {
  test('calls a sound folder sound, with 0 and one line', async () => {
    const { code, stdout, stderr } = await check(sound)
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^\S+svc\.db is sound: \d+ checks, nothing found\n$/)
  })

  for (const [name, breaks] of Object.entries(BREAKS)) {
    test(`holds that ${name}`, async () => {
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
    const sql = "insert into job_doomed values (999); insert into job_event values (999, 1, 'x', '{}', 'z')"
    assert.doesNotMatch(await finds(changed(sql)), /#999/)
  })

  test('tells of the first twenty, and how many more there are', async () => {
    const told = await finds(changed('update job set result = null where key <= 300'), /has no result\n/)
    assert.equal(told.match(/has no result/g)?.length, 20)
    assert.match(told, /: and 280 more$/m)
  })

  test('finds a trigger that is missing, a table that is not ours, and rows that name nothing', async () => {
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
    await finds(cut, /^the files of assets: \S+ has 22 bytes, and should have 21$/m)
    writeFileSync(other + asset, 'THE BYTES OF AN ASSET')
    await finds(other, /^the files of assets: \S+ has another content than it was written with$/m)
  })

  test('refuses to judge what another version wrote', async () => {
    await finds(
      changed("insert into kysely_migration values ('9999-future', 'z')"),
      /the version: was written by a newer version of the service \(migration 9999-future\)/,
    )
    await finds(
      changed("delete from kysely_migration where name like '0005%'"),
      /the version: was written by an older version of the service/,
    )
  })

  test('works in a folder that cannot be written', { skip: cannotMount }, async () => {
    using view = readOnlyView(sound)
    assert.equal((await check(view.path)).code, 0)
  })

  test('changes nothing', async () => {
    const path = changed('update job set result = null where key = 7')
    const bytes = () => new Database(join(path, 'svc.db'), { readonly: true }).serialize().toString('base64')
    const before = bytes()
    await finds(path, /job_7/)
    assert.equal(bytes(), before)
  })

  test('takes no arguments: 2, with the usage', async () => {
    const { code, stdout, stderr } = await svc(['check', 'x'], { SVC_DATA_DIR: sound })
    assert.deepEqual([code, stdout, stderr], [2, '', 'svc: there is no place for "x"\nusage: svc check\n'])
  })
})
