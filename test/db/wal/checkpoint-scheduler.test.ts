// The write-ahead log: a thread copies it while commits continue, it stays small, and faults are reported.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { classifyFault, errorCode } from '../../../src/db/health/database-faults.ts'
import { Store, type StoreOptions } from '../../../src/db/store.ts'
import { CheckpointScheduler } from '../../../src/db/wal/checkpoint-scheduler.ts'
import { CheckpointThread } from '../../../src/db/wal/checkpoint-thread.ts'
import { inFolder } from '../../helpers/folder.ts'
import { runProcess } from '../../helpers/process.ts'
import { until } from '../../helpers/server.ts'
import { openStore } from '../../helpers/store.ts'
import {
  cannotMount,
  fill,
  keysOf,
  memoryLog,
  putting,
  sizeOf,
  smallDisk,
  watchConnections,
  watchCopiers,
} from '../kit.ts'

const KIB = 1024
const MIB = 1024 * KIB
const LIMITS = { bytes: 256 * KIB, look_every_ms: 10 }
const BYTES = 8 * KIB
const NEVER_MS = 3_600_000
const WRITE_ON = fileURLToPath(new URL('write-on.ts', import.meta.url))

const atPath = (run: (path: string) => Promise<void>) => inFolder((folder) => run(join(folder, 'svc.db')))

/** A store that is closed at the end of its block. */
async function open(
  path: string,
  options: StoreOptions = {},
): Promise<AsyncDisposable & { store: Store; wal(): number }> {
  const store = await Store.open(path, options)
  return { store, wal: () => sizeOf(`${path}-wal`), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
}

/** A reader that keeps its snapshot until it is closed. */
function readerOf(path: string): Database.Database {
  const reader = new Database(path, { readonly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from job').get()
  return reader
}

/** Another connection, which waits `ms` for readers so that it can copy the whole log: no other connection can copy meanwhile. */
async function copyFully(path: string, ms: number): Promise<void> {
  const source = `
    const { workerData: [library, path, ms] } = require('node:worker_threads')
    const db = require(library)(path, { timeout: ms })
    db.pragma('wal_checkpoint(FULL)')
    db.close()`
  const library = createRequire(import.meta.url).resolve('better-sqlite3')
  const worker = new Worker(source, { eval: true, workerData: [library, path, ms] })
  await new Promise((resolve) => worker.once('exit', resolve))
}

describe('the write-ahead log', () => {
  for (const [durability, level] of [
    ['full', 2],
    ['normal', 1],
  ] as const)
    test(
      `stays small under constant writes at durability ${durability}, and no commit copies it`,
      atPath(async (path) => {
        using watched = watchConnections()
        using copiers = watchCopiers()
        const limits = { bytes: 2 * MIB, look_every_ms: NEVER_MS }
        await using opened = await open(path, { wal: limits, durability })
        assert.equal(watched.of(path).pragma('wal_autocheckpoint', { simple: true }), 0)
        let high = 0
        let key = 0
        await until('the thread', async () => {
          await opened.store.write(putting(++key, BYTES))
          return copiers.of(path).length > 0
        })
        // Eight callers, so that there is never a pause; together they write several times as much as the log may hold.
        const caller = async () => {
          while (key * BYTES < Math.max(12 * MIB, 3 * high)) {
            await opened.store.write(putting(++key, BYTES))
            high = Math.max(high, opened.wal())
          }
        }
        await Promise.all(Array.from({ length: 8 }, caller))
        assert.ok(key * BYTES < 200 * MIB, `the log grew to ${high} bytes`)
        assert.deepEqual(copiers.of(path), [level])
        assert.equal(opened.store.read(keysOf).length, key)
      }),
    )

  test(
    'grows while a reader holds an old state, and is emptied once it has gone and the server is idle',
    atPath(async (path) => {
      const { log, lines } = memoryLog()
      await using opened = await open(path, { wal: LIMITS, log })
      const { store, wal } = opened
      await store.write(putting(1))
      const reader = readerOf(path)
      for (let key = 2; key <= 60; key++) await store.write(putting(key, 32 * KIB))
      const held = wal()
      assert.ok(held > 4 * LIMITS.bytes, String(held))
      await until('the warning', () =>
        lines.some(({ msg }) => /another program has been reading the database/.test(msg)),
      )
      assert.ok(wal() >= held)
      assert.equal(reader.prepare('select count(*) from job').pluck().get(), 1, 'the reader sees what it saw')
      reader.close()
      await until('an empty log', () => wal() === 0)
      assert.equal(lines.filter(({ level }) => level >= 40).length, 1)
      await store.write(putting(61))
    }),
  )

  test(
    'reports a long reader once, even if another connection prevents passes',
    atPath(async (path) => {
      const { log, lines } = memoryLog()
      await using opened = await open(path, { wal: LIMITS, log })
      const { store } = opened
      await store.write(putting(1))
      const reader = readerOf(path)
      for (let key = 2; key <= 60; key++) await store.write(putting(key, 32 * KIB))
      const told = () => lines.filter(({ msg }) => /another program has been reading/.test(msg)).length
      await until('the warning', () => told() > 0)
      await copyFully(path, 300)
      // So that passes run again.
      await setTimeout(20 * LIMITS.look_every_ms)
      reader.close()
      assert.equal(told(), 1)
    }),
  )

  test(
    'gives its room back when it begins anew, also on a server that is never idle',
    atPath(async (path) => {
      await using opened = await open(path, { wal: { ...LIMITS, look_every_ms: NEVER_MS } })
      const { store, wal } = opened
      const reader = readerOf(path)
      let key = 0
      while (key < 200) await store.write(putting(++key, 128 * KIB))
      assert.ok(wal() > 16 * MIB, String(wal()))
      reader.close()
      await until('a small log', async () => {
        await store.write(putting(++key))
        return wal() <= LIMITS.bytes
      })
    }),
  )

  test(
    'is copied by a thread that ends after a minute without work, and starts again',
    atPath(async (path) => {
      using copiers = watchCopiers()
      let ms = 0
      await using opened = await open(path, { wal: { ...LIMITS, look_every_ms: 1 }, now: () => ms })
      let key = 0
      const write = () => opened.store.write(putting(++key, 32 * KIB))
      const threads = (count: number) =>
        until(`thread ${count}`, async () => {
          await write()
          return copiers.of(path).length === count
        })
      await threads(1)
      for (let round = 0; round < 20; round++) await write()
      assert.equal(copiers.of(path).length, 1)
      await until('the end of the thread', async () => {
        ms += 60_000
        await write()
        return copiers.of(path).length === 2
      })
    }),
  )
})

test(
  'a large transaction is written to the log at its commit, and not before as well',
  atPath(async (path) => {
    await using opened = await open(path)
    await opened.store.write(putting(1, BYTES))
    const before = opened.wal()
    const during = await opened.store.write((tx) => {
      putting(2, 40 * MIB)(tx)
      return opened.wal()
    })
    assert.equal(during, before)
    assert.equal(opened.wal() > 40 * MIB, true)
  }),
)

describe('the close of a store', () => {
  test(
    'leaves no log behind, whatever its thread is doing',
    atPath(async (path) => {
      using copiers = watchCopiers()
      for (const key of [1, 2, 3]) {
        await using opened = await open(path, { wal: LIMITS })
        await opened.store.write(putting(key, 64 * KIB * key))
        assert.ok(opened.wal() > 0)
        if (key === 3) await until('the thread', () => copiers.of(path).length > 0)
        await opened.store[Symbol.asyncDispose]()
        assert.deepEqual([existsSync(`${path}-wal`), existsSync(`${path}-shm`)], [false, false])
      }
    }),
  )

  test('empties the log as far as a reader allows', async () => {
    await using opened = await openStore()
    await opened.store.write(putting(1))
    const reader = readerOf(opened.path)
    await opened.store.write(putting(2))
    await opened.store[Symbol.asyncDispose]()
    assert.ok(sizeOf(`${opened.path}-wal`) > 0)
    reader.close()
    const again = new Database(opened.path, { readonly: true })
    assert.equal(again.prepare('select count(*) from job').pluck().get(), 2)
    again.close()
  })
})

describe('a process', () => {
  test(
    'that is killed while its log is copied loses nothing that it acknowledged',
    atPath(async (path) => {
      for (const keys of [30, 130]) {
        await using child = runProcess(WRITE_ON, [path])
        await until('writes', () => child.stdout().split('\n').length > keys)
        child.kill('SIGKILL')
        const { stdout } = await child.ended()
        const acknowledged = stdout.split('\n').filter(Boolean).map(Number)
        await using opened = await open(path)
        const stored = opened.store.read(keysOf)
        assert.deepEqual(stored.slice(0, acknowledged.length), acknowledged)
        assert.equal(new Set(stored).size, stored.length)
        await opened.store[Symbol.asyncDispose]()
        const file = new Database(path)
        assert.equal(file.pragma('integrity_check', { simple: true }), 'ok')
        file.exec('delete from job')
        file.close()
      }
    }),
  )

  test(
    'ends although its checkpoint thread is running',
    atPath(async (path) => {
      await using child = runProcess(WRITE_ON, [path, '60'])
      await until('its end', () => child.child.exitCode !== null)
      assert.equal(child.child.exitCode, 0, child.stderr())
    }),
  )
})

interface Heard {
  passed: number
  failed: unknown[]
  lost: unknown[]
}

/** A thread for the database at `path`, and the outcome of one pass. */
async function once(path: string, data: object | null = { path, durability: 'full' }): Promise<Heard> {
  const heard: Heard = { passed: 0, failed: [], lost: [] }
  const copier = new CheckpointThread(data as never, () => 0, {
    passEnded: () => heard.passed++,
    passFailed: (error) => heard.failed.push(error),
    threadLost: (error) => heard.lost.push(error),
  })
  copier.requestPass()
  await until('an answer', () => !copier.isBusy)
  assert.equal(copier.isFailing, heard.passed === 0)
  await copier.end()
  return heard
}

describe('a pass that fails', () => {
  test(
    'creates no missing database, and reports a file that is not a database',
    atPath(async (path) => {
      const missing = await once(path)
      assert.deepEqual(missing.failed.map(errorCode), ['SQLITE_CANTOPEN'])
      assert.equal(existsSync(path), false)
      writeFileSync(path, 'x'.repeat(10_000))
      const { failed } = await once(path)
      assert.deepEqual(
        failed.map((error) => classifyFault(error, path)),
        ['damaged'],
      )
    }),
  )

  test(
    'because the thread failed is reported, and the process continues',
    atPath(async (path) => {
      // The thread meets an error of its own before its first pass; the other thread cannot be started at all.
      const ended = await once(path, null)
      const impossible = await once(path, { path, durability: () => {} })
      for (const { passed, failed, lost } of [ended, impossible]) {
        assert.deepEqual([passed, failed.length, lost.length], [0, 0, 1])
        assert.ok(lost[0] instanceof Error)
      }
    }),
  )

  test(
    'because there is no thread leaves the log to the event loop',
    atPath(async (path) => {
      await using opened = await open(path, { wal: { ...LIMITS, look_every_ms: NEVER_MS } })
      await opened.store[Symbol.asyncDispose]()
      const db = new Database(path)
      db.pragma('wal_autocheckpoint = 0')
      const { log, lines } = memoryLog()
      const keeper = new CheckpointScheduler(db, {
        limits: LIMITS,
        durability: (() => {}) as never,
        log,
        now: () => 0,
        idle: () => false,
        hold: () => assert.fail(),
        release: () => assert.fail(),
        failed: () => assert.fail(),
      })
      db.exec('create table t (x)')
      const insert = db.prepare('insert into t values (zeroblob(4000))')
      for (let row = 0; row < 1_000; row++) {
        insert.run()
        keeper.commitDone()
      }
      assert.ok(keeper.walBytes() > 0 && keeper.walBytes() <= LIMITS.bytes, String(keeper.walBytes()))
      assert.deepEqual(
        lines.map(({ level, msg }) => [level, msg.replace(path, '')]),
        [[50, 'the thread that copies -wal failed']],
      )
      keeper[Symbol.dispose]()
      db.close()
    }),
  )

  test('on a full disk is a fault like any other, and the log is copied when there is room', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(8 * MIB)
    const path = join(disk.path, 'svc.db')
    const { log, lines } = memoryLog()
    let later = 0
    const now = () => performance.now() + later
    await using opened = await open(path, { wal: LIMITS, log, now })
    const { store, wal } = opened
    await store.write(putting(1))
    const reader = readerOf(path)
    for (let key = 2; key <= 80; key++) await store.write(putting(key, 16 * KIB))
    assert.ok(wal() > MIB)
    const filled = fill(disk.path)
    reader.close()
    await until('the fault', () => store.fault === 'full')
    assert.equal(store.read(keysOf).length, 80)
    assert.match(
      lines.find(({ level }) => level === 50)!.msg,
      /svc\.db cannot be written because the disk is full: make room/,
    )
    filled[Symbol.dispose]()
    later += 5_000
    await until('an empty log', () => wal() === 0)
    await store.write(putting(81, 16 * KIB))
    assert.equal(store.fault, null)
  })
})
