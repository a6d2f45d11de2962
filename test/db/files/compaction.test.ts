// Databases of an older version: they are rewritten once, so that they can shrink, and no interruption loses data.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { runCompactCommand } from '../../../src/cli/compact.ts'
import { runStatements } from '../../../src/db/catalogue.ts'
import { openServerStore } from '../../../src/db/files/compaction.ts'
import { checkDatabase } from '../../../src/db/integrity/database-check.ts'
import { registerChecksumFunctions } from '../../../src/db/integrity/row-checksum.ts'
import { commitMarkPath } from '../../../src/db/loss-detection/commit-mark-file.ts'
import { Store } from '../../../src/db/store.ts'
import { findUserSecret } from '../../../src/db/user-secrets.ts'
import { command } from '../../cli/stored.ts'
import { inFolder } from '../../helpers/folder.ts'
import { giveDatabase } from '../../helpers/migrated.ts'
import { MAIN, runProcess, serve, svc } from '../../helpers/process.ts'
import { scaled } from '../../helpers/scale.ts'
import { until } from '../../helpers/server.ts'
import { cannotMount, fill, keysOf, loseLastRow, memoryLog, putting, smallDisk } from '../kit.ts'

const MIB = 1024 * 1024
const KEYS = [1, 2, 3, 4, 5, 6]

/** A database with a job for each of `KEYS`, as earlier versions created it: its file never shrinks. */
async function giveOld(path: string, bytes = 64 * 1024): Promise<void> {
  await giveDatabase(path)
  {
    await using store = await Store.open(path)
    for (const key of KEYS) await store.write(putting(key, bytes))
  }
  const db = new Database(path)
  db.pragma('journal_mode = DELETE')
  db.pragma('auto_vacuum = NONE')
  db.exec('VACUUM')
  db.close()
}

const OWNER = { user_id: '1', workspace_id: null }

/** Adds three secrets, of which the last is lost. */
function loseRow(path: string): void {
  const db = new Database(path)
  registerChecksumFunctions(db)
  const put = db.prepare(
    `insert into user_secret values ('1', '', ?, x'01', '', row_checksum('user_secret', '1', '', ?, x'01', ''))`,
  )
  for (const name of ['FIRST', 'SECOND', 'THIRD']) put.run(name, name)
  db.close()
  loseLastRow(path, 'user_secret')
}

const inPlace = (run: (path: string) => Promise<void>) => inFolder((folder) => run(join(folder, 'svc.db')))

/** The outcome of a server's start: whether the database can shrink, and what the log says. */
async function started(path: string, more: { max_compacted_bytes?: number } = {}) {
  const { log, lines } = memoryLog()
  await using store = await openServerStore(path, { log, ...more })
  assert.deepEqual(store.read(keysOf), KEYS)
  assert.equal(store.pragma('journal_mode'), 'wal')
  return { shrinks: store.canShrink, told: lines.map(({ level, msg }) => `${level} ${msg.replaceAll(path, 'svc.db')}`) }
}

/** The files of a folder beside the database. */
const beside = (path: string) => readdirSync(join(path, '..')).filter((name) => name !== 'svc.db')

describe('a database that cannot shrink', () => {
  test(
    'is rewritten at a start, once, keeps its rows, and stays private',
    inPlace(async (path) => {
      await giveOld(path)
      const first = await started(path)
      assert.equal(first.shrinks, true)
      assert.match(
        first.told.join('\n'),
        /^30 svc\.db is rewritten once.*\n30 svc\.db is rewritten, and can shrink now$/,
      )
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.deepEqual(beside(path), [basename(commitMarkPath(path))])
      const { ino } = statSync(path)
      assert.deepEqual(await started(path), { shrinks: true, told: [] })
      assert.equal(statSync(path).ino, ino)
    }),
  )

  test(
    'is rewritten while the log shows the progress',
    inPlace(async (path) => {
      await giveOld(path, 4 * MIB)
      const { log, lines } = memoryLog()
      await using store = await openServerStore(path, { log, progress_interval_ms: 1 })
      assert.equal(store.canShrink, true)
      const told = lines.filter(({ msg }) => msg === `${path} is being rewritten`).map(({ percent }) => Number(percent))
      assert.ok(told.length > 0)
      assert.deepEqual(
        told,
        told.toSorted((a, b) => a - b),
      )
      assert.ok(told.every((percent) => percent >= 0 && percent <= 99))
      assert.ok(told.some((percent) => percent > 0))
    }),
  )

  test(
    'stays as it is where it is too large for a start, which says what to do',
    inPlace(async (path) => {
      await giveOld(path)
      const { shrinks, told } = await started(path, { max_compacted_bytes: 1_000 })
      assert.equal(shrinks, false)
      assert.match(told.join('\n'), /^30 .* run "svc compact" once$/)
    }),
  )

  test(
    'stays as it is while another program has it open, and is rewritten at the next start',
    inPlace(async (path) => {
      await giveOld(path)
      const other = new Database(path)
      other.pragma('journal_mode = WAL')
      other.exec('begin')
      other.prepare('select count(*) from job').get()
      const { shrinks, told } = await started(path)
      assert.equal(shrinks, false)
      assert.match(told.join('\n'), /^40 .* the next start tries again: another program has it open$/m)
      assert.equal(other.prepare('select count(*) from job').pluck().get(), KEYS.length)
      other.close()
      assert.equal((await started(path)).shrinks, true)
    }),
  )

  test('stays as it is where there is no room for a copy, and a start goes on without', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(96 * MIB)
    const path = join(disk.path, 'svc.db')
    await giveOld(path, MIB)
    {
      // Leftovers of an interrupted attempt do not count.
      writeFileSync(`${path}.rewriting`, Buffer.alloc(8 * MIB))
      using _less = fill(disk.path)
      writeFileSync(join(disk.path, 'filler'), Buffer.alloc(40 * MIB))
      const { shrinks, told } = await started(path)
      assert.equal(shrinks, false)
      assert.match(told.join('\n'), /^40 .* the disk lacks \d+ bytes of room for a second copy$/m)
      assert.ok(!existsSync(`${path}.rewriting`))
    }
    assert.equal((await started(path)).shrinks, true)
  })

  test(
    'is neither rewritten nor written any more once rows are lost, however large it is',
    inPlace(async (path) => {
      await giveOld(path, 6 * MIB)
      loseRow(path)
      const { log, lines } = memoryLog()
      await using store = await openServerStore(path, { log })
      assert.equal(store.fault, 'damaged')
      assert.equal(store.canShrink, false)
      assert.match(
        lines.map(({ msg }) => msg).join('\n'),
        /the next start tries again: it is damaged, and a copy would lack/,
      )
      assert.throws(() => store.read((tx) => runStatements(tx, findUserSecret(OWNER, 'THIRD'))), {
        code: 'DATA_DAMAGED',
      })
      assert.deepEqual(store.read(keysOf), KEYS)
      await assert.rejects(store.write(putting(9)), { code: 'SERVICE_UNAVAILABLE' })
    }),
  )

  test(
    'is rewritten by a thread that prints no warnings on standard error',
    inFolder(async (folder) => {
      await giveOld(join(folder, 'svc.db'))
      const warner = `--import=data:text/javascript,${encodeURIComponent("process.emitWarning('early')")}`
      await using server = await serve(folder, { SVC_LOG_LEVEL: 'info', NODE_OPTIONS: warner })
      const lines = server.stderr().trimEnd().split('\n')
      const told = lines.map((line) => JSON.parse(line) as { msg: string })
      assert.ok(told.some(({ msg }) => msg.includes('is rewritten, and can shrink now')))
    }),
  )

  test(
    'is whole, the old one or the new, whenever the process is killed',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      for (let round = 0; round < scaled(2); round++) {
        await giveOld(path, 2 * MIB)
        {
          await using process = runProcess(MAIN, ['serve', '--port', '0'], { SVC_DATA_DIR: folder })
          await until('it to write the copy', () => existsSync(`${path}.rewriting`) || process.child.exitCode !== null)
          assert.ok(((statSync(`${path}.rewriting`, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) === 0)
          await new Promise((resolve) => setTimeout(resolve, round * 20))
          process.kill('SIGKILL')
          await process.ended()
        }
        const db = new Database(path, { readonly: true })
        assert.deepEqual(db.prepare('select key from job order by key').pluck().all(), KEYS)
        assert.equal(db.pragma('quick_check', { simple: true }), 'ok')
        db.close()
        assert.equal((await started(path)).shrinks, true)
        assert.deepEqual(
          // A killed process leaves its lock file, which locks nothing.
          readdirSync(folder).filter((name) => name.startsWith('svc.db') && !/\.(lock|owner)$/.test(name)),
          ['svc.db'],
        )
        for (const file of [path, `${path}-wal`, `${path}-shm`, commitMarkPath(path)]) rmSync(file, { force: true })
      }
    }),
  )
})

describe('svc compact', () => {
  test(
    'shrinks the file to its minimal size, even that of an older version',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      await giveOld(path, MIB)
      const db = new Database(path)
      db.exec('delete from job where key > 3')
      db.close()
      const before = statSync(path).size
      const { code, stdout, stderr } = await svc(['compact'], { SVC_DATA_DIR: folder })
      assert.deepEqual([code, stdout], [0, ''])
      assert.match(stderr, /^svc: \S+svc\.db had [\d,]+ bytes, and has [\d,]+\n$/)
      assert.ok(statSync(path).size < before - 2 * MIB)
      assert.deepEqual(
        (await checkDatabase(path)).filter(({ check }) => check === 'the file'),
        [],
      )
    }),
  )

  test(
    'refuses a database that has lost rows, and does not change it',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      await giveOld(path)
      loseRow(path)
      const { code, stderr } = await command(runCompactCommand, [], { SVC_DATA_DIR: folder })
      assert.equal(code, 1)
      assert.match(
        stderr,
        /svc\.db was not rewritten: it is damaged, and a copy would lack unreachable rows \(user_secret: Fragmentation of /,
      )
      const [found] = await checkDatabase(path)
      assert.equal(found?.check, 'the file')
      await assert.rejects(started(path), /svc\.db is damaged/)
    }),
  )

  test(
    'refuses while a server runs, and if there is no database',
    inFolder(async (folder) => {
      assert.match((await svc(['compact'], { SVC_DATA_DIR: folder })).stderr, /there is no database/)
      await using _server = await serve(folder)
      const { code, stderr } = await svc(['compact'], { SVC_DATA_DIR: folder })
      assert.equal(code, 1)
      assert.match(stderr, /belongs to a running server/)
    }),
  )
})
