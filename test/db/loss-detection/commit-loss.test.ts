// The losses that a start detects, and its behaviour before and after an operator accepts them: rare cases, with stores only.
import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { runBackupCommand } from '../../../src/cli/backup/backup-command.ts'
import { runCheckCommand as runCheck } from '../../../src/cli/check.ts'
import { runCompactCommand } from '../../../src/cli/compact.ts'
import { runStatements } from '../../../src/db/catalogue.ts'
import { lossAcceptancePath } from '../../../src/db/loss-detection/commit-loss.ts'
import {
  CommitMarkFile,
  commitMarkPath,
  isCheckpointRecorded,
  readCommitMark,
  recordCheckpointStart,
  type StoredCommitMark,
} from '../../../src/db/loss-detection/commit-mark-file.ts'
import { Store, type Tx } from '../../../src/db/store.ts'
import { putUserSecret } from '../../../src/db/user-secrets.ts'
import { runPassiveCheckpoint } from '../../../src/db/wal/checkpoint.ts'
import { StartError } from '../../../src/start-error.ts'
import { generateMasterKey, writeKeyFile } from '../../../src/vault/master-key-file.ts'
import { command } from '../../cli/stored.ts'
import { inFolder } from '../../helpers/folder.ts'
import { giveDatabase } from '../../helpers/migrated.ts'
import { until } from '../../helpers/server.ts'
import { keysOf, type LogLine, memoryLog, putting } from '../kit.ts'

interface Killed {
  readonly folder: string
  readonly path: string
  readonly log: string
  readonly mark: string
}

const JOBS = [1, 2, 3, 4, 5]

function placeIn(folder: string): Killed {
  const path = join(folder, 'svc.db')
  return { folder, path, log: `${path}-wal`, mark: commitMarkPath(path) }
}

/** The files of a store that was killed after storing some jobs: those of an open store. */
async function killedIn(folder: string, name = 'killed', jobs = JOBS): Promise<Killed> {
  const living = join(folder, `${name}-living`)
  mkdirSync(living)
  await giveDatabase(join(living, 'svc.db'))
  await using store = await Store.open(join(living, 'svc.db'))
  for (const key of jobs) await store.write(putting(key))
  return copied(placeIn(living), join(folder, name))
}

function copied({ folder }: Killed, to: string): Killed {
  cpSync(folder, to, { recursive: true })
  return placeIn(to)
}

async function jobsIn({ path }: Killed, log = memoryLog()): Promise<number[]> {
  await using store = await Store.open(path, { log: log.log })
  return store.read(keysOf)
}

async function refusal({ path }: Killed): Promise<string> {
  try {
    await using store = await Store.open(path)
    assert.fail(`it was opened: ${store.read(keysOf)}`)
  } catch (error) {
    assert.ok(error instanceof StartError, String((error as Error).stack))
    return error.message
  }
}

const check = ({ folder }: Killed, ...args: string[]) => command(runCheck, args, { SVC_DATA_DIR: folder })

const LACKS_ALL = /svc\.db lacks the last 5 commits: commit 5 of \S+ was acknowledged, and it holds none; put back/

/** The log line of a start that continues after a loss. */
async function tellings(place: Killed): Promise<LogLine[]> {
  const log = memoryLog()
  await jobsIn(place, log)
  return log.lines.filter((line) => 'lost' in line)
}

describe('a database that replaces another', () => {
  test(
    'is refused if it has another id, and served if its mark was copied as well',
    inFolder(async (folder) => {
      const mine = await killedIn(folder, 'mine')
      const other = await killedIn(folder, 'other', [...JOBS, 6, 7])
      for (const name of ['svc.db', 'svc.db-wal']) copyFileSync(join(other.folder, name), join(mine.folder, name))
      rmSync(`${mine.path}-shm`)
      const found = [mine.path, mine.log].map((path) => readFileSync(path))
      const told =
        /svc\.db is not the database that \S+\.mark belongs to, whose commit 5 of \S+ was acknowledged; put back/
      assert.match(await refusal(mine), told)
      assert.match((await check(mine)).stdout, told)
      assert.deepEqual(
        [mine.path, mine.log].map((path) => readFileSync(path)),
        found,
      )
      copyFileSync(other.mark, mine.mark)
      assert.deepEqual(await jobsIn(mine), [...JOBS, 6, 7])
    }),
  )

  test(
    'is refused where only its log is another’s',
    inFolder(async (folder) => {
      const mine = await killedIn(folder, 'mine')
      const other = await killedIn(folder, 'other', [...JOBS, 6, 7])
      copyFileSync(other.log, mine.log)
      rmSync(`${mine.path}-shm`)
      assert.match(await refusal(mine), /svc\.db is not the database/)
    }),
  )
})

describe('an acceptance that was interrupted', () => {
  test(
    'before the mark was removed lets no start continue, and is repeated',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      rmSync(place.log)
      const mark = readFileSync(place.mark)
      writeFileSync(`${lossAcceptancePath(place.path)}.draft`, 'the beginning of')
      assert.equal((await check(place, '--accept-loss')).code, 0)
      writeFileSync(place.mark, mark)
      assert.match(await refusal(place), LACKS_ALL)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      assert.equal((await tellings(place)).length, 1)
      assert.equal((await tellings(place)).length, 0)
      assert.deepEqual(await jobsIn(place), [])
    }),
  )

  test(
    'is dropped if the log was put back instead, without a log line',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      const [log, mark] = [place.log, place.mark].map((path) => readFileSync(path))
      rmSync(place.log)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      writeFileSync(place.mark, mark!)
      writeFileSync(place.log, log!)
      assert.deepEqual(await tellings(place), [])
      assert.deepEqual(await jobsIn(place), JOBS)
      assert.equal(existsSync(lossAcceptancePath(place.path)), false)
    }),
  )
})

describe('an accepted loss', () => {
  test(
    'waits for a start that has a log, whatever a command commits before',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      rmSync(place.log)
      await check(place, '--accept-loss')
      {
        await using store = await Store.open(place.path)
        for (let key = 11; key < 20; key++) await store.write(putting(key))
      }
      const [told, ...more] = await tellings(place)
      assert.deepEqual(more, [])
      assert.match(told!.msg, /as "svc check --accept-loss" has accepted/)
      assert.deepEqual([told!.acknowledged_commit, told!.found_commit], [JOBS.length, 0])
    }),
  )

  test(
    'lets a start create a new database beside the log of a deleted one',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      rmSync(place.path)
      assert.match(await refusal(place), /svc\.db is missing, and 5 commits to it were acknowledged/)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      assert.equal((await tellings(place)).length, 1)
      assert.deepEqual(await jobsIn(place), [])
    }),
  )

  test(
    'does not cover later losses: a database that is deleted afterwards is refused',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      writeKeyFile(join(place.folder, 'master.key'), generateMasterKey())
      rmSync(place.log)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      rmSync(place.path)
      assert.match(await refusal(place), /svc\.db is missing, and the key in master\.key was generated for a database/)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      assert.match(String((await tellings(place))[0]?.lost), /svc\.db is missing/)
    }),
  )

  test(
    'is not needed where SVC_DURABILITY allows the loss, and the next log reports it even if a command opened the database first',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      const { database, number } = readCommitMark(place.mark) as StoredCommitMark
      {
        using file = new CommitMarkFile(place.mark, database, 'normal')
        file.write(number + 10, 0)
        file.write(number + 11, 0)
      }
      {
        await using store = await Store.open(place.path, { durability: 'normal' })
        await store.write(putting(9))
      }
      const [told, ...more] = await tellings(place)
      assert.deepEqual(more, [])
      assert.match(told!.msg, /lacks the last 11 commits: .* with SVC_DURABILITY normal a power cut may take that back/)
      assert.deepEqual(await jobsIn(place), [...JOBS, 9])
    }),
  )
})

describe('a database that lacks commits', () => {
  test(
    'is not rewritten by "svc compact": its log fits it as long as nothing is changed',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      const log = readFileSync(place.log)
      rmSync(place.log)
      const { code, stderr } = await command(runCompactCommand, [], { SVC_DATA_DIR: place.folder })
      assert.equal(code, 1)
      assert.match(stderr, LACKS_ALL)
      writeFileSync(place.log, log)
      assert.deepEqual(await jobsIn(place), JOBS)
    }),
  )

  test(
    'is not rewritten by "svc compact" where a journal had to be rolled back for it',
    inFolder(async (folder) => {
      const { place, before } = await interruptedIn(folder)
      acknowledgeOneMore(place)
      const { code, stderr } = await command(runCompactCommand, [], { SVC_DATA_DIR: place.folder })
      assert.equal(code, 1)
      assert.match(stderr, /svc\.db lacks the last commit: commit 6 of/)
      assert.deepEqual(readFileSync(place.path), before)
    }),
  )

  test(
    'is backed up only with --incomplete, and replaces no backup',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      const target = join(folder, 'backup')
      const run = (...args: string[]) => command(runBackupCommand, [target, ...args], { SVC_DATA_DIR: place.folder })
      assert.equal((await run()).code, 0)
      const whole = readFileSync(join(target, 'svc.db'))
      rmSync(place.log)
      for (const args of [['--force'], ['--force', '--incomplete']]) {
        const { code, stderr } = await run(...args)
        assert.equal(code, 1)
        assert.match(stderr, LACKS_ALL)
        assert.deepEqual(readFileSync(join(target, 'svc.db')), whole)
      }
      rmSync(target, { recursive: true })
      const made = await run('--incomplete')
      assert.equal(made.code, 0, made.stderr)
      assert.match(made.stderr, /incomplete: svc\.db: .*lacks the last 5 commits/)
    }),
  )

  test(
    'is refused at the second comparison, before anything is written, if a journal had to be rolled back',
    inFolder(async (folder) => {
      const { place, before } = await interruptedIn(folder)
      acknowledgeOneMore(place)
      assert.match(await refusal(place), /svc\.db lacks the last commit: commit 6 of/)
      assert.deepEqual(readFileSync(place.path), before)
    }),
  )

  test(
    'is reported missing even if the loss of some commits was accepted before',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      rmSync(place.log)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      for (const ending of ['', '-wal', '-shm']) rmSync(place.path + ending, { force: true })
      assert.match(await refusal(place), /svc\.db is missing, and it existed when a loss of some commits was accepted/)
      assert.equal((await check(place, '--accept-loss')).code, 0)
      assert.deepEqual(await jobsIn(place), [])
    }),
  )

  test(
    'is reported missing even beside a damaged mark',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      for (const ending of ['', '-wal', '-shm']) rmSync(place.path + ending)
      writeFileSync(place.mark, '')
      assert.match(
        await refusal(place),
        /svc\.db is missing, and its mark last-commit-of-svc\.db\.mark is there, and damaged/,
      )
      assert.equal((await check(place, '--accept-loss')).code, 0)
      assert.deepEqual(await jobsIn(place), [])
    }),
  )
})

/** Marks a commit that the database does not have. */
function acknowledgeOneMore({ mark }: Killed): void {
  const { database, number } = readCommitMark(mark) as StoredCommitMark
  using file = new CommitMarkFile(mark, database, 'full')
  file.write(number + 1, Date.now())
}

describe('a log that was deleted after a kill in the midst of its copying', () => {
  test(
    'is always detected: by missing commits, or a damaged structure',
    inFolder(async (folder) => {
      const place = await killedIn(folder)
      const more = await copiedLater(place, join(folder, 'more'))
      const [before, after] = [place, more].map(({ path }) => readFileSync(path)) as [Buffer, Buffer]
      const pages = changedPages(before, after)
      for (let count = 0; count < pages.length; count++) {
        const half = copied(more, join(folder, String(count)))
        writeFileSync(half.path, withPages(before, after, pages.slice(0, count)))
        assert.match(await refusal(half), /svc\.db (lacks the last|is damaged; see what "svc check" finds)/)
      }
      assert.deepEqual(await jobsIn(more), [...JOBS, 6, 7, 8])
    }),
  )
})

describe('a log that was deleted while the file held a part of it, without damage to an index', () => {
  const LIMITS = { bytes: 256 * 1024, look_every_ms: 600_000 }
  const OWNER = { user_id: '1', workspace: '' }
  const NAMES = Array.from({ length: 200 }, (_, at) => `KEY_${String(at).padStart(3, '0')}`)
  const secret = (name: string, value: string) => ({ ...OWNER, name, body: Buffer.alloc(200, value), updated_at: '' })
  const putSecrets = (value: string, names: readonly string[]) => (tx: Tx) => {
    for (const name of names) runStatements(tx, putUserSecret(secret(name, value)))
  }
  const valuesIn = ({ path }: Killed) => {
    const db = new Database(path, { readonly: true })
    const values = db.prepare('select distinct substr(body, 1, 1) from user_secret').pluck().all()
    db.close()
    return values.map(String)
  }

  /** A server that was killed after another program had kept it from copying its whole log; a part of the log is in the file. */
  async function halfCopied(folder: string): Promise<{ half: Killed; living: Killed }> {
    const living = placeIn(join(folder, 'living'))
    mkdirSync(living.folder)
    await giveDatabase(living.path)
    await using store = await Store.open(living.path, { wal: LIMITS })
    await store.write(putSecrets('a', NAMES))
    const reader = new Database(living.path)
    await store.write(putSecrets('b', NAMES))
    reader.exec('begin')
    reader.prepare('select count(*) from user_secret').get()
    await until('a pass that copies a part', async () => {
      await store.write((tx) => runStatements(tx, putUserSecret(secret(NAMES[77]!, 'c'))))
      await store.write(putting(Math.floor(performance.now() * 1_000), 60_000))
      return isCheckpointRecorded(living.mark)
    })
    const half = copied(living, join(folder, 'half'))
    reader.close()
    return { half, living }
  }

  test(
    'lets no server start until the loss is accepted, or the log is put back',
    inFolder(async (folder) => {
      const { half, living } = await halfCopied(folder)
      assert.equal(isCheckpointRecorded(living.mark), false, 'after an orderly end')
      await jobsIn(living)
      const whole = copied(half, join(folder, 'whole'))
      rmSync(half.log)
      assert.match(await refusal(half), /svc\.db (lacks the last|may lack a part of its last commits)/)
      await jobsIn(whole)
      assert.deepEqual([isCheckpointRecorded(whole.mark), existsSync(whole.log)], [false, false])
      assert.deepEqual(valuesIn(whole).sort(), ['b', 'c'])
      await jobsIn(whole)
    }),
  )

  test(
    'lets no server start, whichever pages were copied, even without an index',
    inFolder(async (folder) => {
      const place = placeIn(join(folder, 'living'))
      mkdirSync(place.folder)
      await giveDatabase(place.path)
      {
        await using store = await Store.open(place.path)
        await store.write(putSecrets('a', NAMES))
      }
      await using store = await Store.open(place.path)
      const changed = [20, 90, 150].map((at) => NAMES[at]!)
      await store.write(putSecrets('b', changed))
      const killed = copied(place, join(folder, 'killed'))
      const before = readFileSync(killed.path)
      const whole = copied(killed, join(folder, 'whole'))
      const db = new Database(whole.path)
      runPassiveCheckpoint(db)
      assert.equal(isCheckpointRecorded(whole.mark), false)
      db.close()
      const after = readFileSync(whole.path)
      const pages = changedPages(before, after)
      assert.ok(pages.length > 3)
      for (let count = 0; count < pages.length; count++) {
        const half = copied(killed, join(folder, String(count)))
        recordCheckpointStart(half.mark)
        writeFileSync(half.path, withPages(before, after, pages.slice(0, count)))
        const log = readFileSync(half.log)
        rmSync(half.log)
        const found = readFileSync(half.path)
        assert.match(await refusal(half), /svc\.db (lacks the last commit|may lack a part of its last commits)/)
        const compacted = await command(runCompactCommand, [], { SVC_DATA_DIR: half.folder })
        assert.equal(compacted.code, 1)
        assert.deepEqual(readFileSync(half.path), found)
        // The header, and the first frame: SQLite treats both logs as empty.
        for (const at of [17, 32 + 24 + 100]) {
          const damaged = Buffer.from(log)
          damaged[at]! ^= 1
          writeFileSync(half.log, damaged)
          assert.match(await refusal(half), /svc\.db (lacks the last commit|may lack a part of its last commits)/)
          assert.deepEqual([readFileSync(half.path), readFileSync(half.log)], [found, damaged])
        }
        writeFileSync(half.log, log)
        assert.deepEqual(await jobsIn(half), [])
        assert.equal(isCheckpointRecorded(half.mark), false)
        assert.deepEqual(valuesIn(half).sort(), ['a', 'b'])
        await jobsIn(half)
      }
      const half = copied(killed, join(folder, 'accepted'))
      recordCheckpointStart(half.mark)
      writeFileSync(half.path, after)
      rmSync(half.log)
      assert.match(await refusal(half), /may lack a part of its last commits/)
      assert.match((await check(half)).stdout, /acknowledged commits: \S+ may lack a part/)
      // The values are not encrypted, which the check reports as well.
      assert.match((await check(half, '--accept-loss')).stdout, /^accepted: \S+ may lack a part/)
      assert.equal((await tellings(half)).length, 1)
      assert.equal((await tellings(half)).length, 0)
    }),
  )
})

const PAGE = 4096

/** The folder after further jobs, with the whole log in the database file. */
async function copiedLater(place: Killed, to: string): Promise<Killed> {
  const more = copied(place, to)
  await jobsIn(place)
  await using store = await Store.open(more.path)
  for (const key of [6, 7, 8]) await store.write(putting(key))
  return more
}

/** The pages that SQLite copies, in its order, which is that of the file. */
function changedPages(before: Buffer, after: Buffer): number[] {
  const at = (bytes: Buffer, page: number) => bytes.subarray(page * PAGE, (page + 1) * PAGE)
  return Array.from({ length: after.length / PAGE }, (_, page) => page).filter(
    (page) => !at(before, page).equals(at(after, page)),
  )
}

function withPages(before: Buffer, after: Buffer, pages: readonly number[]): Buffer {
  const end = Math.max(before.length, ...pages.map((page) => (page + 1) * PAGE))
  const bytes = Buffer.concat([before, Buffer.alloc(end - before.length)])
  for (const page of pages) after.copy(bytes, page * PAGE, page * PAGE, (page + 1) * PAGE)
  return bytes
}

describe('a database whose journal has to be rolled back', () => {
  test(
    'is served completely after its mark was compared a second time',
    inFolder(async (folder) => {
      const { place } = await interruptedIn(folder)
      assert.deepEqual(await jobsIn(place), JOBS)
      assert.deepEqual(await jobsIn(place), JOBS)
    }),
  )
})

/** A database in which another program was killed within a transaction; `before` is its file before that. */
async function interruptedIn(folder: string): Promise<{ place: Killed; before: Buffer }> {
  const other = await killedIn(folder, 'other')
  const db = new Database(other.path)
  try {
    db.pragma('journal_mode = DELETE')
    const before = readFileSync(other.path)
    db.pragma('cache_size = 1')
    db.exec('begin')
    const put = db.prepare('insert into graph (sha256, body, checksum) values (?, ?, 0)')
    for (let at = 0; at < 200; at++) put.run(String(at), 'x'.repeat(4096))
    assert.notDeepEqual(readFileSync(other.path), before)
    return { place: copied(other, join(folder, 'killed')), before }
  } finally {
    db.close()
  }
}
