// The mark of the last acknowledged commit: which commits it counts, and what happens if it cannot be written or is ahead of its database.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { geteuid, seteuid } from 'node:process'
import { describe, test } from 'node:test'
import {
  CommitMarkFile,
  commitMarkPath,
  readCommitMark,
  type StoredCommitMark,
} from '../../../src/db/loss-detection/commit-mark-file.ts'
import { statement } from '../../../src/db/statement.ts'
import { Store } from '../../../src/db/store.ts'
import { StartError } from '../../../src/start-error.ts'
import { inFolder } from '../../helpers/folder.ts'
import { giveDatabase } from '../../helpers/migrated.ts'
import { cannotMount, fill, memoryLog, putting, smallDisk } from '../kit.ts'

const deleted = statement()((db) => db.deleteFrom('job').where('key', '=', 0).returning('key'))
/** A user without rights, and the number of files that this process has open. */
const NOBODY = 65_534
const openFiles = () => readdirSync('/proc/self/fd').length
const markOf = (path: string) => readCommitMark(commitMarkPath(path)) as StoredCommitMark

describe('the mark of the last commit', () => {
  test(
    'counts commits that changed rows, each before it is acknowledged, and continues after a start',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      {
        await using store = await Store.open(path)
        assert.equal(readCommitMark(commitMarkPath(path)), null)
        await store.write(putting(1))
        assert.equal(markOf(path).number, 1)
        await store.write(() => {})
        assert.equal(markOf(path).number, 1)
        assert.deepEqual(await store.write((tx) => tx.all(deleted, {})), [])
        assert.equal(markOf(path).number, 1)
        const shared = [2, 3, 4].map((key) => store.write(putting(key)))
        const failing = store.write(() => assert.fail('a unit that throws'))
        await assert.rejects(failing)
        await Promise.all(shared)
        const { number } = markOf(path)
        assert.ok(number > 1 && number <= 4, String(number))
      }
      const before = markOf(path)
      await using store = await Store.open(path)
      assert.deepEqual(markOf(path), before)
      await store.write(putting(5))
      assert.deepEqual([markOf(path).number, markOf(path).database], [before.number + 1, before.database])
      assert.equal(statSync(commitMarkPath(path)).mode & 0o777, 0o600)
    }),
  )

  test(
    'that cannot be written takes no commit back: the log says so once, and the next one writes it',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const { log, lines } = memoryLog()
      await using store = await Store.open(path, { log })
      mkdirSync(commitMarkPath(path))
      await store.write(putting(1))
      await store.write(putting(2))
      assert.deepEqual(
        lines.map(({ level, msg }) => [level, msg]),
        [[50, `the mark of the last commit beside ${path} cannot be written: a loss may stay unknown`]],
      )
      rmdirSync(commitMarkPath(path))
      await store.write(putting(3))
      assert.equal(markOf(path).number, 3)
    }),
  )

  test(
    'is written into a file of another user’s, and keeps no more than one file open',
    { skip: geteuid?.() === 0 ? false : 'skipped: it needs Linux and its administrator' },
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const { log, lines } = memoryLog()
      await giveDatabase(path)
      writeFileSync(commitMarkPath(path), '')
      chmodSync(commitMarkPath(path), 0o666)
      for (const name of [folder, path]) chownSync(name, NOBODY, NOBODY)
      seteuid!(NOBODY)
      try {
        await using store = await Store.open(path, { log })
        await store.write(putting(1))
        const open = openFiles()
        for (const key of [2, 3, 4]) await store.write(putting(key))
        assert.equal(openFiles(), open)
      } finally {
        seteuid!(0)
      }
      assert.equal(markOf(path).number, 4)
      assert.deepEqual(
        lines.filter(({ level }) => level >= 50),
        [],
      )
    }),
  )

  test('that found no room for its file leaves no part of it, nor an open file', { skip: cannotMount }, async () => {
    using disk = smallDisk(4 * 1024 * 1024)
    const path = join(disk.path, 'svc.db')
    using _filled = fill(disk.path)
    using file = new CommitMarkFile(commitMarkPath(path), '00'.repeat(8), 'full')
    const open = openFiles()
    for (const number of [1, 2, 3]) assert.throws(() => file.write(number, 0), { code: 'ENOSPC' })
    assert.deepEqual([openFiles(), existsSync(commitMarkPath(path))], [open, false])
  })

  test('needs no room on a disk that is full', { skip: cannotMount }, async () => {
    using disk = smallDisk(4 * 1024 * 1024)
    const path = join(disk.path, 'svc.db')
    const { log, lines } = memoryLog()
    await using store = await Store.open(path, { log })
    await store.write(putting(1))
    const { number } = markOf(path)
    using _filled = fill(disk.path)
    const file = new CommitMarkFile(commitMarkPath(path), markOf(path).database, 'full')
    file.write(number + 1, Date.now())
    file[Symbol.dispose]()
    assert.equal(markOf(path).number, number + 1)
    assert.deepEqual(lines, [])
  })

  test(
    'that is ahead of its database is a loss, unless a power cut may have taken back what durability "normal" left to it',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const open = async (log = memoryLog()) => {
        await using store = await Store.open(path, { durability: 'normal', log: log.log })
        await store.write(putting(Math.ceil(performance.now() * 1_000)))
        return log.lines.map(({ msg }) => msg)
      }
      await open()
      const { database, number } = markOf(path)
      const ahead = (durability: StoredCommitMark['durability'], time: number) => {
        using file = new CommitMarkFile(commitMarkPath(path), database, durability)
        file.write(number + 10, time)
      }
      const lost = /svc\.db lacks the last 10 commits: /
      for (const [durability, time] of [
        ['normal', Date.now()],
        ['full', 0],
      ] as const) {
        ahead(durability, time)
        await assert.rejects(open(), (error) => error instanceof StartError && lost.test(error.message))
      }
      ahead('normal', 0)
      const told = await open()
      assert.match(told.join('\n'), lost)
      assert.match(told.join('\n'), /with SVC_DURABILITY normal a power cut may take that back/)
      assert.doesNotMatch((await open()).join('\n'), lost)
      assert.equal(markOf(path).number, number + 2)
    }),
  )
})
