// The data folder belongs to one process: a second process is told the owner, and a dead process holds no lock.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { acquireDatabaseLock, openDataFolder } from '../../../src/db/files/data-folder.ts'
import { createLog } from '../../../src/log.ts'
import { StartError } from '../../../src/start-error.ts'
import { inFolder } from '../../helpers/folder.ts'
import { call } from '../../helpers/http.ts'
import { startServer, temporaryFolder } from '../../helpers/server.ts'

function refused(path: string, message: RegExp): void {
  assert.throws(
    () => openDataFolder(path, 'the second'),
    (error) => {
      assert.ok(error instanceof StartError, String(error))
      assert.match(error.message, message)
      assert.ok(!error.message.includes('\n'))
      return true
    },
  )
}

/** Files that others may use, and folders at the top. */
function openEntries(path: string): string[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true })
  const names = entries.map((entry) => join(entry.parentPath, entry.name))
  return names.filter((name) => (statSync(name).mode & 0o077) !== 0)
}

/** A process that holds the folder. */
async function holder(path: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('hold-folder.ts', import.meta.url))
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout!, 'data')
  return child
}

describe('data folder', () => {
  test(
    'is created if it is missing, readable only for its owner',
    inFolder((folder) => {
      const path = join(folder, 'a', 'b')
      using opened = openDataFolder(path, 'the first')
      assert.equal(opened.path, path)
      assert.equal(opened.database, join(path, 'svc.db'))
      if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o700)
    }),
  )

  test(
    'that others may list has only private files, and the start warns',
    inFolder(async (folder) => {
      const path = join(folder, 'open')
      mkdirSync(path)
      // Leftovers of a copy without modes, or of an earlier version.
      chmodSync(path, 0o755)
      mkdirSync(join(path, 'journal'))
      chmodSync(join(path, 'journal'), 0o755)
      for (const name of ['svc.db', 'lock', 'owner']) {
        writeFileSync(join(path, name), '')
        chmodSync(join(path, name), 0o644)
      }
      const lines: string[] = []
      const log = createLog('warn', undefined, { write: (line) => void lines.push(line) })
      await using server = await startServer({ data_dir: path, log })
      await call(server, 'POST', '/api/workflows', { body: { name: 'a', graph: { nodes: [], edges: [] } } })
      await call(server, 'PUT', '/api/storage/objects/a.txt', { raw: 'a text' })
      assert.deepEqual(openEntries(path), [])
      assert.ok(existsSync(join(path, 'svc.db-wal')))
      assert.equal(lines.length, 1, lines.join(''))
      assert.match(JSON.parse(lines[0]!).msg, /^other users may list the data folder .*open \(mode 755\).*chmod 700$/)
    }),
  )

  test(
    'what a restore or a change of the key left open is made private at the start, and no other file is touched',
    { skip: process.platform === 'win32' },
    inFolder(async (folder) => {
      const path = join(folder, 'open')
      mkdirSync(join(path, 'journal.before-20260101T000000000Z'), { recursive: true })
      const ended = '.before-20260101T000000000Z'
      const names = [`svc.db${ended}`, `svc.db${ended}-wal`, `last-commit-of-svc.db.mark${ended}`, `master.key${ended}`]
      for (const name of [...names, 'master.key', 'a note']) {
        writeFileSync(join(path, name), 'a text of many letters')
        chmodSync(join(path, name), 0o644)
      }
      chmodSync(join(path, `journal${ended}`), 0o755)
      chmodSync(path, 0o700)
      const lines: string[] = []
      const log = createLog('warn', undefined, { write: (line) => void lines.push(line) })
      await using _server = await startServer({ data_dir: path, log })
      assert.deepEqual(openEntries(path), [join(path, 'a note')])
      assert.match(lines.join(''), /master\.key could be read by others \(mode 644\) and is private now/)
    }),
  )

  test(
    'a second owner in the same process is told who the first is',
    inFolder((folder) => {
      using _first = openDataFolder(folder, 'process 17, 127.0.0.1:7777')
      refused(folder, /belongs to a running server \(process 17, 127\.0\.0\.1:7777\); stop it/)
      refused(folder, /process 17/)
    }),
  )

  test(
    'can be taken again after its owner has released it',
    inFolder((folder) => {
      openDataFolder(folder, 'the first')[Symbol.dispose]()
      assert.equal(existsSync(join(folder, 'owner')), false)
      openDataFolder(folder, 'the second')[Symbol.dispose]()
    }),
  )

  test(
    'an owner in another process is named, and holds nothing once it was killed',
    inFolder(async (folder) => {
      const child = await holder(folder)
      const ended = once(child, 'exit')
      try {
        refused(folder, new RegExp(`\\(process ${child.pid}, held by a test\\)`))
      } finally {
        child.kill('SIGKILL')
        await ended
      }
      using _second = openDataFolder(folder, 'the second')
      refused(folder, /\(the second\)/)
    }),
  )

  test(
    'an owner without a name is still an owner',
    inFolder((folder) => {
      using _first = openDataFolder(folder, 'the first')
      rmSync(join(folder, 'owner'))
      refused(folder, /\(its owner left no name\)/)
    }),
  )

  test(
    'must not be a file, nor lie below a file',
    inFolder((folder) => {
      const file = join(folder, 'file')
      writeFileSync(file, '')
      const below = `lies below ${file}, which is a file`
      for (const [path, why] of [
        [file, 'is a file'],
        [join(file, 'data'), below],
        [join(file, 'more', 'data'), below],
      ] as const) {
        const message = `the data folder ${path} ${why}; choose another with SVC_DATA_DIR`
        assert.throws(() => openDataFolder(path, 'the first'), { name: 'StartError', message })
      }
    }),
  )

  test(
    'a lock that is no lock file cannot be written',
    inFolder((folder) => {
      writeFileSync(join(folder, 'lock'), 'somebody’s notes, which are long enough to look like a header'.repeat(30))
      refused(folder, /cannot be written \(SQLITE_NOTADB\)/)
    }),
  )
})

describe('a database outside the data folder', () => {
  test(
    'is private with all that belongs to it, and other files beside it are left alone',
    { skip: process.platform === 'win32' },
    inFolder((folder) => {
      const own = ['x.db', 'x.db-wal', 'x.db.before-2026', 'x.db.before-2026-wal', 'last-commit-of-x.db.mark']
      const others = ['x.dbs', 'x.db-notes', 'y.db', 'last-commit-of-y.db.mark']
      for (const name of [...own, ...others]) {
        writeFileSync(join(folder, name), '')
        chmodSync(join(folder, name), 0o644)
      }
      using data = openDataFolder(join(folder, 'data'), 'the first')
      using _owned = acquireDatabaseLock(join(folder, 'x.db'), 'the first', data)
      assert.deepEqual(
        openEntries(folder)
          .map((name) => basename(name))
          .toSorted(),
        others.toSorted(),
      )
    }),
  )

  test(
    'has one owner as well, who is named',
    inFolder((folder) => {
      const path = join(folder, 'shared.db')
      using first = openDataFolder(join(folder, 'first'), 'process 17')
      using second = openDataFolder(join(folder, 'second'), 'process 18')
      using _owned = acquireDatabaseLock(path, 'process 17', first)
      assert.throws(
        () => acquireDatabaseLock(path, 'process 18', second),
        /the database .*shared\.db belongs to a running server \(process 17\); stop it, or choose another with SVC_DATABASE_URL/,
      )
    }),
  )

  test(
    'has one owner by whatever links it is named',
    { skip: process.platform === 'win32' },
    inFolder((folder) => {
      const path = join(folder, 'disk', 'shared.db')
      using first = openDataFolder(join(folder, 'first'), 'process 17')
      using second = openDataFolder(join(folder, 'second'), 'process 18')
      mkdirSync(join(folder, 'disk'))
      symlinkSync(join(folder, 'disk'), join(folder, 'link'))
      using _owned = acquireDatabaseLock(join(folder, 'link', 'shared.db'), 'process 17', first)
      assert.throws(() => acquireDatabaseLock(path, 'process 18', second), /belongs to a running server \(process 17\)/)
      writeFileSync(path, '')
      symlinkSync(path, join(folder, 'linked.db'))
      assert.throws(() => acquireDatabaseLock(join(folder, 'linked.db'), 'process 18', second), /\(process 17\)/)
    }),
  )

  test(
    'may be that of the data folder, and then cannot be used with another folder',
    inFolder((folder) => {
      using first = openDataFolder(join(folder, 'first'), 'process 17')
      using second = openDataFolder(join(folder, 'second'), 'process 18')
      using _owned = acquireDatabaseLock(first.database, 'process 17', first)
      assert.throws(
        () => acquireDatabaseLock(first.database, 'process 18', second),
        /the database .*svc\.db belongs to a running server \(process 17\)/,
      )
    }),
  )

  test(
    'keeps other processes from the data folder that it belongs to',
    inFolder((folder) => {
      using first = openDataFolder(join(folder, 'first'), 'process 17')
      mkdirSync(join(folder, 'second'))
      using _owned = acquireDatabaseLock(join(folder, 'second', 'svc.db'), 'process 17', first)
      refused(
        join(folder, 'second'),
        /the database .*svc\.db belongs to a running server \(process 17\); .* SVC_DATA_DIR/,
      )
    }),
  )

  test('two servers with folders of their own cannot share it', async () => {
    const folder = temporaryFolder()
    try {
      const environment = { SVC_DATABASE_URL: `sqlite:${join(folder, 'shared.db')}` }
      await using _first = await startServer({ environment })
      await assert.rejects(startServer({ environment }), /belongs to a running server/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
