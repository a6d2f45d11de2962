// A database whose disk fails: what is refused, what stays unchanged, what the log says, and that the database recovers by itself.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { openDataFolder } from '../../../src/db/files/data-folder.ts'
import { classifyFault } from '../../../src/db/health/database-faults.ts'
import { probeDatabaseHealth } from '../../../src/db/health/health-probe.ts'
import { checkDatabase } from '../../../src/db/integrity/database-check.ts'
import { findJobByKey } from '../../../src/db/jobs/rows.ts'
import { statement } from '../../../src/db/statement.ts'
import { Store, type StoreOptions, type Tx } from '../../../src/db/store.ts'
import { ServiceError } from '../../../src/errors.ts'
import { StartError } from '../../../src/start-error.ts'
import { inFolder } from '../../helpers/folder.ts'
import { temporaryFolder } from '../../helpers/server.ts'
import {
  cannotMount,
  damagePage,
  fill,
  keysOf,
  type LogLine,
  memoryLog,
  putting,
  readOnlyView,
  rootPage,
  smallDisk,
  watchConnections,
} from '../kit.ts'

const MIB = 1024 * 1024
/** The client's error: it may retry later, and learns nothing else. */
function refusedLater(error: unknown): boolean {
  assert.ok(error instanceof ServiceError, String(error))
  assert.equal(error.code, 'SERVICE_UNAVAILABLE')
  assert.match(error.headers['Retry-After']!, /^\d+$/)
  assert.equal(error.cause, undefined)
  return true
}

const errors = (lines: readonly LogLine[]) => lines.filter((line) => line.level >= 50).map((line) => line.msg)

interface Opened extends AsyncDisposable {
  readonly store: Store
  readonly path: string
  readonly lines: LogLine[]
  /** Advances the store's clock. */
  later(ms: number): void
}

/** A store with a log and a clock of the test. */
async function openIn(folder: string, more: StoreOptions = {}): Promise<Opened> {
  const path = join(folder, 'svc.db')
  const { log, lines } = memoryLog()
  let ms = 0
  const store = await Store.open(path, { log, now: () => ms, ...more })
  return {
    store,
    path,
    lines,
    later(more) {
      ms += more
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

describe('a disk that is full', () => {
  test(
    'refuses what finds no room, keeps the rest, says so once, and goes on when there is room',
    inFolder(async (folder) => {
      using watched = watchConnections()
      await using opened = await openIn(folder)
      const { store, lines, later } = opened
      const db = watched.of(opened.path)
      await store.write(putting(1))
      db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true }) as number}`)
      for (const key of [2, 3, 4]) await assert.rejects(store.write(putting(key, MIB)), refusedLater)
      assert.deepEqual(store.read(keysOf), [1])
      assert.equal(probeDatabaseHealth(store), 'full')
      assert.equal(errors(lines).length, 1)
      assert.match(errors(lines)[0]!, /svc\.db cannot be written because the disk is full: make room/)
      db.pragma('max_page_count = 1000000')
      assert.equal(probeDatabaseHealth(store), 'full', 'a write was tried a moment ago')
      later(2_000)
      assert.equal(probeDatabaseHealth(store), 'healthy')
      await store.write(putting(5, MIB))
      assert.deepEqual(store.read(keysOf), [1, 5])
      assert.deepEqual(
        lines.map((line) => line.level),
        [50, 30],
      )
      assert.match(lines[1]!.msg, /can be written again/)
    }),
  )

  test(
    'undoes alone what is too large: its neighbours are committed, and nothing of it is left',
    inFolder(async (folder) => {
      using watched = watchConnections()
      await using opened = await openIn(folder)
      const { store } = opened
      const db = watched.of(opened.path)
      db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 8}`)
      const results = await Promise.allSettled([
        store.write(putting(1)),
        store.write((tx) => {
          putting(2)(tx)
          putting(3, MIB)(tx)
        }),
        store.write(putting(4)),
      ])
      assert.deepEqual(
        results.map((result) => result.status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(store.read(keysOf), [1, 4])
      assert.equal(probeDatabaseHealth(store), 'healthy', 'the last write found room')
    }),
  )

  test(
    'says it again after a minute, not with every request',
    inFolder(async (folder) => {
      using watched = watchConnections()
      await using opened = await openIn(folder)
      const { store, lines, later } = opened
      const db = watched.of(opened.path)
      db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true }) as number}`)
      for (let second = 0; second < 120; second++) {
        await assert.rejects(store.write(putting(1, MIB)), refusedLater)
        later(1_000)
      }
      assert.equal(errors(lines).length, 2)
    }),
  )

  test('a real one, of some megabytes', { skip: cannotMount }, async () => {
    using disk = smallDisk(4 * MIB)
    await using opened = await openIn(disk.path)
    const { store, later } = opened
    await store.write(putting(1))
    const filled = fill(disk.path)
    await assert.rejects(store.write(putting(2, MIB)), refusedLater)
    await assert.rejects(store.write(putting(3, MIB)), refusedLater)
    assert.equal(probeDatabaseHealth(store), 'full')
    assert.deepEqual(store.read(keysOf), [1])
    filled[Symbol.dispose]()
    later(2_000)
    assert.equal(probeDatabaseHealth(store), 'healthy')
    await store.write(putting(4, MIB))
    assert.deepEqual(store.read(keysOf), [1, 4])
  })

  test('one that fills up while nothing is written is noticed by the probe', { skip: cannotMount }, async () => {
    using disk = smallDisk(4 * MIB)
    await using opened = await openIn(disk.path)
    await opened.store.write(putting(1))
    assert.equal(probeDatabaseHealth(opened.store), 'healthy')
    using _filled = fill(disk.path)
    assert.equal(probeDatabaseHealth(opened.store), 'full')
  })

  test('fills up in the midst of commits: what was acknowledged is there, the rest is not', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(3 * MIB)
    const acknowledged: number[] = []
    {
      await using opened = await openIn(disk.path)
      let refusals = 0
      for (let key = 1; refusals < 50; key++) {
        await opened.store.write(putting(key, 20_000)).then(
          () => acknowledged.push(key),
          (error) => refusedLater(error) && refusals++,
        )
      }
      assert.ok(acknowledged.length > 10)
      assert.deepEqual(opened.store.read(keysOf), acknowledged)
    }
    disk.again(`size=${8 * MIB}`)
    await using again = await openIn(disk.path)
    assert.deepEqual(again.store.read(keysOf), acknowledged)
    await again.store.write(putting(9_999, 20_000))
  })
})

describe('a start', () => {
  test('on a full disk is refused in one line', { skip: cannotMount }, async () => {
    using disk = smallDisk(64 * 1024)
    using _filled = fill(disk.path)
    await assert.rejects(Store.open(join(disk.path, 'svc.db')), (error) => {
      assert.ok(error instanceof StartError, String(error))
      assert.match(
        error.message,
        /^\S+svc\.db cannot be (written: the disk is full|read or written; check the disk, its room)/,
      )
      return true
    })
  })

  test('in a folder that cannot be written is refused before anything is opened', { skip: cannotMount }, () => {
    const folder = temporaryFolder()
    try {
      openDataFolder(folder, 'a server')[Symbol.dispose]()
      using view = readOnlyView(folder)
      assert.throws(() => openDataFolder(view.path, 'a server'), /cannot be written \(\w+\); check its owner and mode/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test(
    'without the database of a write-ahead log makes no new one',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      writeFileSync(`${path}-wal`, 'acknowledged work')
      await assert.rejects(Store.open(path), /svc\.db is missing, and its write-ahead log is there; put it back, or/)
      assert.equal(existsSync(path), false)
    }),
  )

  const REMAINS: readonly (readonly [what: string, file: string, told: RegExp])[] = [
    ['write-ahead log', 'svc.db-wal', /svc\.db is empty, and its write-ahead log is there; put it back, or restore/],
    ['master key', 'master.key', /svc\.db is empty, and a master key is there; put it back/],
    ['file of an asset', 'storage/objects/a/b', /svc\.db is empty, and files of assets are there; put it back/],
  ]
  for (const [what, file, told] of REMAINS)
    test(
      `with an emptied database beside a ${what} leaves both as they are`,
      inFolder(async (folder) => {
        const [path, beside] = [join(folder, 'svc.db'), join(folder, file)]
        mkdirSync(dirname(beside), { recursive: true })
        writeFileSync(path, '')
        writeFileSync(beside, 'acknowledged work')
        await assert.rejects(Store.open(path), (error) => error instanceof StartError && told.test(error.message))
        const [finding] = await checkDatabase(path)
        assert.match(finding!.text, /^is empty, and .*: what it held is lost; .*"svc restore DIR"$/)
        assert.equal(statSync(path).size, 0)
        assert.equal(readFileSync(beside, 'utf8'), 'acknowledged work')
      }),
    )

  test(
    'with the database missing and files of assets there makes no new one; a key alone may be there first',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      mkdirSync(join(folder, 'storage/objects/a'), { recursive: true })
      writeFileSync(join(folder, 'storage/objects/a/b'), 'bytes')
      await assert.rejects(Store.open(path), /svc\.db is missing, and files of assets are there/)
      assert.equal(existsSync(path), false)
      rmSync(join(folder, 'storage/objects/a/b'))
      writeFileSync(join(folder, 'master.key'), 'a key that was put there before')
      await (await Store.open(path))[Symbol.asyncDispose]()
      assert.ok(statSync(path).size > 0)
    }),
  )

  test(
    'with an empty file and nothing beside it begins anew',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      writeFileSync(path, '')
      assert.match((await checkDatabase(path))[0]!.text, /^is empty: nothing was ever stored in it, or all/)
      await (await Store.open(path))[Symbol.asyncDispose]()
      assert.deepEqual(await checkDatabase(path), [])
    }),
  )
})

describe('a folder that cannot be written', () => {
  test(
    'from one moment to the next: refused, told, and healthy again',
    inFolder(async (folder) => {
      using watched = watchConnections()
      await using opened = await openIn(folder)
      const { store, lines, later } = opened
      const db = watched.of(opened.path)
      await store.write(putting(1))
      db.pragma('query_only = 1')
      await assert.rejects(store.write(putting(2)), refusedLater)
      assert.equal(probeDatabaseHealth(store), 'read_only')
      assert.deepEqual(store.read(keysOf), [1])
      db.pragma('query_only = 0')
      later(2_000)
      assert.equal(probeDatabaseHealth(store), 'healthy')
      assert.match(errors(lines).join(), /^\S+svc\.db cannot be written: check its mount, owner and mode/)
    }),
  )

  test('at the start: refused in one line', { skip: cannotMount }, async () => {
    const folder = temporaryFolder()
    try {
      await (await Store.open(join(folder, 'svc.db')))[Symbol.asyncDispose]()
      using view = readOnlyView(folder)
      await assert.rejects(Store.open(join(view.path, 'svc.db')), (error) => {
        assert.ok(error instanceof StartError, String(error))
        assert.match(error.message, /svc\.db cannot be (written|opened); check .*owner and mode/)
        return true
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('a damaged database', () => {
  const FILLED = 300

  async function filled(folder: string): Promise<{ path: string; root: number }> {
    await using opened = await openIn(folder)
    using watched = watchConnections()
    await opened.store.write((tx) => {
      for (let key = 1; key <= FILLED; key++) putting(key, 5_000)(tx)
    })
    const store = await Store.open(opened.path)
    const root = rootPage(watched.of(opened.path), 'job')
    await store[Symbol.asyncDispose]()
    return { path: opened.path, root }
  }

  test(
    'at the start, in the first page of a table: refused with what to do, and left as it is',
    inFolder(async (folder) => {
      const { path, root } = await filled(folder)
      damagePage(path, root)
      await assert.rejects(Store.open(path), (error) => {
        assert.ok(error instanceof StartError, String(error))
        assert.match(
          error.message,
          /svc\.db is damaged; see what "svc check" finds, restore a backup with "svc restore/,
        )
        return true
      })
    }),
  )

  test(
    'while it is open: nothing more is written, whatever it is, and the log says what to do',
    inFolder(async (folder) => {
      const { path, root } = await filled(folder)
      using watched = watchConnections()
      await using opened = await openIn(folder)
      const { store, lines, later } = opened
      damagePage(path, root)
      watched.of(path).pragma('shrink_memory')
      assert.throws(() => store.read(keysOf), refusedLater)
      assert.equal(probeDatabaseHealth(store), 'damaged')
      const elsewhere = (tx: Tx) =>
        void tx.run(
          statement()((db) => db.deleteFrom('job_tombstone')),
          {},
        )
      await assert.rejects(store.write(elsewhere), refusedLater)
      for (let minute = 0; minute < 5; minute++) {
        later(10_000)
        assert.equal(probeDatabaseHealth(store), 'damaged')
      }
      assert.equal(errors(lines).length, 1)
      assert.match(errors(lines)[0]!, /is damaged, and nothing more is written to it: .*"svc check".*"svc restore DIR"/)
    }),
  )

  test(
    'whose file ends before the last pages of a long row is damaged, and not out of reach',
    inFolder(async (folder) => {
      const long = 400_000
      {
        await using opened = await openIn(folder)
        await opened.store.write(putting(1, long))
      }
      await using opened = await openIn(folder)
      const { store, path, lines } = opened
      // With a commit in its log, SQLite takes the number of pages from there, and does not check the length of the file.
      await store.write(putting(2))
      truncateSync(path, statSync(path).size - long / 2)
      assert.throws(() => store.read((tx) => findJobByKey(tx, 1)), refusedLater)
      assert.deepEqual(
        lines.filter(({ level }) => level >= 50).map(({ code }) => code),
        ['SQLITE_IOERR_SHORT_READ'],
      )
      assert.equal(probeDatabaseHealth(store), 'damaged')
    }),
  )

  test(
    'that belongs to another program is refused, and not changed',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      using watched = watchConnections()
      await using opened = await openIn(folder)
      const db = watched.of(opened.path)
      db.exec('drop table kysely_migration')
      await opened.store[Symbol.asyncDispose]()
      await assert.rejects(Store.open(path), /svc\.db belongs to another program/)
    }),
  )
})

describe('a callback after a commit', () => {
  test(
    'may throw without keeping others from hearing, or ending the process',
    inFolder(async (folder) => {
      await using opened = await openIn(folder)
      const heard: string[] = []
      opened.store.writeThen(putting(1), () => {
        throw new Error('not my day')
      })
      opened.store.writeThen(putting(2), (error) => heard.push(String(error)))
      opened.store.flush()
      assert.deepEqual(heard, ['null'])
      assert.deepEqual(errors(opened.lines), ['a callback after a commit failed'])
      assert.deepEqual(opened.store.read(keysOf), [1, 2])
    }),
  )
})

describe('a fault', () => {
  const coded = (code: string) => Object.assign(new Error(code), { code })

  test('is told from its code, and what is none is left alone', () => {
    const KNOWN: Record<string, string> = {
      SQLITE_FULL: 'full',
      ENOSPC: 'full',
      SQLITE_READONLY_DBMOVED: 'read_only',
      EROFS: 'read_only',
      SQLITE_CORRUPT_INDEX: 'damaged',
      SQLITE_NOTADB: 'damaged',
      SQLITE_IOERR_SHORT_READ: 'damaged',
      SQLITE_IOERR_CORRUPTFS: 'damaged',
      SQLITE_BUSY_SNAPSHOT: 'locked',
      SQLITE_IOERR_FSYNC: 'unreachable',
      SQLITE_CANTOPEN_ISDIR: 'unreachable',
      EIO: 'unreachable',
    }
    for (const [code, fault] of Object.entries(KNOWN))
      assert.equal(classifyFault(coded(code), '/tmp/svc.db'), fault, code)
    for (const code of ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_ERROR', 'SQLITE_MISUSE', 'ENOENT', ''])
      assert.equal(classifyFault(coded(code), '/tmp/svc.db'), null, code)
    for (const thrown of [undefined, null, 'disk full', 5, new ServiceError('CONFLICT')])
      assert.equal(classifyFault(thrown, '/tmp/svc.db'), null)
  })

  test('of input or output is told more exactly where the file system does', { skip: cannotMount }, () => {
    using disk = smallDisk(MIB)
    const path = join(disk.path, 'svc.db')
    writeFileSync(path, '')
    assert.equal(classifyFault(coded('SQLITE_IOERR_SHMSIZE'), path), 'unreachable')
    {
      using _filled = fill(disk.path)
      assert.equal(classifyFault(coded('SQLITE_IOERR_SHMSIZE'), path), 'full')
    }
    disk.again('ro')
    assert.equal(classifyFault(coded('SQLITE_IOERR_WRITE'), path), 'read_only')
  })
})
