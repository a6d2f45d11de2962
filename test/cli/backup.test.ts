// `svc backup` and `svc restore`: what is copied, what is refused, and that nothing is ever lost on the way.
import assert from 'node:assert/strict'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { backup as runBackup } from '../../src/cli/backup.ts'
import { check as runCheck } from '../../src/cli/check.ts'
import { restore as runRestore } from '../../src/cli/restore.ts'
import { openDataFolder } from '../../src/db/data-folder.ts'
import { cannotMount, damagePage, rootPage, smallDisk } from '../db/kit.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { command, soundFolder } from './stored.ts'

let folder: string
let sound: string
let asset: string
let kept: string
let folders = 0

before(async () => {
  folder = temporaryFolder()
  sound = join(folder, 'sound')
  asset = (await soundFolder(sound)).slice(sound.length)
  kept = join(folder, 'kept')
  assert.equal((await backup(sound, kept)).code, 0)
})

after(() => rmSync(folder, { recursive: true, force: true }))

const next = () => join(folder, `folder-${++folders}`)
const backup = (data: string, ...args: string[]) => command(runBackup, args, { SVC_DATA_DIR: data })
const restore = (data: string, ...args: string[]) => command(runRestore, args, { SVC_DATA_DIR: data })
const check = (data: string) => command(runCheck, [], { SVC_DATA_DIR: data })

function copyOf(path: string): string {
  const to = next()
  cpSync(path, to, { recursive: true })
  return to
}

function jobsIn(path: string): number {
  const db = new Database(path, { readonly: true })
  try {
    return db.prepare('select count(*) from job').pluck().get() as number
  } finally {
    db.close()
  }
}

describe('svc backup', () => {
  test('makes a folder with the database, the files and what each must be, and says that the key is not in it', async () => {
    const target = next()
    writeFileSync(join(sound, 'master.key'), 'a key that is long enough to be one')
    const { code, stdout, stderr } = await backup(sound, target)
    rmSync(join(sound, 'master.key'))
    assert.deepEqual([code, stdout], [0, ''])
    assert.match(stderr, /^svc: \S+ holds the database \([\d,]+ bytes\) and 1 file of assets \(21 bytes\)\n/)
    assert.match(stderr, /\nsvc: the master key is not included, .*: keep a copy of it in another place\n$/)
    assert.deepEqual(readdirSync(target).sort(), ['manifest.json', 'objects', 'svc.db'])
    const manifest = JSON.parse(readFileSync(join(target, 'manifest.json'), 'utf8'))
    assert.deepEqual(
      manifest.files.map(({ path, size }: { path: string; size: number }) => [path, size]),
      [
        ['svc.db', statSync(join(target, 'svc.db')).size],
        [asset.slice('/storage/'.length), 21],
      ],
    )
    assert.equal(manifest.master_key, 'not included')
    assert.equal(jobsIn(join(target, 'svc.db')), 301)
    assert.equal(statSync(target).mode & 0o077, 0, 'nobody else may read it')
  })

  test('replaces nothing, unless it is told to, and then a backup alone', async () => {
    const target = copyOf(kept)
    const refused = await backup(sound, target)
    assert.deepEqual([refused.code, refused.stderr], [1, `${target} exists; --force replaces it\n`])
    writeFileSync(join(target, 'left.txt'), '')
    assert.equal((await backup(sound, target, '--force')).code, 0)
    assert.equal(existsSync(join(target, 'left.txt')), false)
    const other = next()
    mkdirSync(other)
    writeFileSync(join(other, 'novel.txt'), 'Call me Ishmael.')
    const { code, stderr } = await backup(sound, other, '--force')
    assert.deepEqual([code, stderr], [1, `${other} is no backup, and is not replaced\n`])
    assert.deepEqual(readdirSync(other), ['novel.txt'])
  })

  test('of a damaged database fails, and leaves nothing, nor touches an older one', async () => {
    const data = copyOf(sound)
    const db = new Database(join(data, 'svc.db'))
    const root = rootPage(db, 'job')
    db.close()
    damagePage(join(data, 'svc.db'), root)
    const target = copyOf(kept)
    const before = readFileSync(join(target, 'manifest.json'), 'utf8')
    const { code, stderr } = await backup(data, target, '--force')
    assert.equal(code, 1)
    assert.match(stderr, /the backup failed: .*malformed \(SQLITE_CORRUPT\w*\); see what "svc check" finds/)
    assert.equal(readFileSync(join(target, 'manifest.json'), 'utf8'), before)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('partial')),
      [],
    )
  })

  test('on a disk without room fails in one line, and leaves nothing', { skip: cannotMount }, async () => {
    using disk = smallDisk(128 * 1024)
    const { code, stderr } = await backup(sound, join(disk.path, 'backup'))
    assert.equal(code, 1)
    assert.match(stderr, /^the backup failed: .*full.*\n$/)
    assert.deepEqual(readdirSync(disk.path), [])
  })

  test('of nothing, into nowhere, and with wrong usage', async () => {
    assert.match((await backup(next(), next())).stderr, /^there is no database \S+; check SVC_DATA_DIR/)
    assert.match((await backup(sound, join(next(), 'below'))).stderr, /cannot be written \(ENOENT\)\n$/)
    assert.equal((await backup(sound)).code, 2)
    assert.equal((await backup(sound, 'a', 'b')).code, 2)
    const memory = { SVC_DATA_DIR: sound, SVC_DATABASE_URL: 'sqlite::memory:' }
    assert.match((await command(runBackup, [next()], memory)).stderr, /nothing is stored, so there is nothing to do/)
  })

  test('copies a database that lies elsewhere', async () => {
    const environment = { SVC_DATA_DIR: next(), SVC_DATABASE_URL: `sqlite:${join(sound, 'svc.db')}` }
    const target = next()
    assert.equal((await command(runBackup, [target], environment)).code, 0)
    assert.equal(jobsIn(join(target, 'svc.db')), 301)
  })
})

describe('svc restore', () => {
  test('brings everything back into an empty folder, and says what is needed besides', async () => {
    const data = next()
    const { code, stderr } = await restore(data, kept)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^svc: \S+ of 20\S+Z is back: the database and 1 file of assets\n/)
    assert.match(stderr, /put back the master\.key that belongs to it, or set SECRETS_MASTER_KEY\n$/)
    assert.equal((await check(data)).code, 0)
    assert.equal(jobsIn(join(data, 'svc.db')), 301)
    assert.equal(readFileSync(data + asset, 'utf8'), 'the bytes of an asset')
    assert.ok(Math.abs(statSync(data + asset).mtimeMs - statSync(sound + asset).mtimeMs) < 2)
    assert.equal(existsSync(join(data, 'restoring')), false)
    openDataFolder(data, 'a server')[Symbol.dispose]()
  })

  test('leaves a folder that holds data as it is, unless it is told to move that aside', async () => {
    const data = copyOf(sound)
    const old = new Database(join(data, 'svc.db'))
    old.exec("insert into job_tombstone values ('1', '', 'mine', 'z')")
    old.close()
    writeFileSync(join(data, 'svc.db-wal'), '')
    const refused = await restore(data, kept)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /holds data already \(svc\.db, .*objects\); --force moves it aside\n$/)
    const { code, stderr } = await restore(data, kept, '--force')
    assert.equal(code, 0, stderr)
    const ending = /names that end with (\.before-\S+)/.exec(stderr)![1]!
    const before = new Database(join(data, `svc.db${ending}`), { readonly: true })
    assert.equal(before.prepare('select id from job_tombstone').pluck().get(), 'mine')
    before.close()
    assert.ok(existsSync(join(data, `svc.db${ending}-wal`)))
    assert.ok(existsSync(join(data, `storage/objects${ending}`)))
    const now = new Database(join(data, 'svc.db'), { readonly: true })
    assert.equal(now.prepare('select count(*) from job_tombstone').pluck().get(), 0)
    now.close()
    assert.equal((await check(data)).code, 0)
  })

  test('is refused where a server runs', async () => {
    const data = next()
    using _server = openDataFolder(data, 'process 17, 127.0.0.1:7777')
    const { code, stderr } = await restore(data, kept, '--force')
    assert.equal(code, 1)
    assert.match(stderr, /belongs to a running server \(process 17, 127\.0\.0\.1:7777\); stop it/)
  })

  test('looks at every file before it touches anything', async () => {
    const spoiled: Record<string, (backup: string) => void> = {
      'svc.db is not what was backed up': (path) => appendFileSync(join(path, 'svc.db'), 'x'),
      'objects/\\S+ is missing': (path) => rmSync(join(path, asset.slice('/storage/'.length))),
      'objects/\\S+ is not what': (path) =>
        writeFileSync(join(path, asset.slice('/storage/'.length)), 'THE BYTES OF AN ASSET'),
    }
    for (const [message, spoil] of Object.entries(spoiled)) {
      const source = copyOf(kept)
      spoil(source)
      const data = copyOf(sound)
      const before = readdirSync(data)
      const { code, stderr } = await restore(data, source, '--force')
      assert.equal(code, 1)
      assert.match(stderr, new RegExp(`is not whole\\n${message}`))
      assert.deepEqual(readdirSync(data), before)
    }
  })

  test('refuses what is no backup, or names what lies outside of it', async () => {
    const manifests: [change: (manifest: Record<string, unknown>) => unknown, message: RegExp][] = [
      [() => 'no manifest', /is no backup: its manifest\.json is damaged|cannot be read/],
      [(manifest) => ({ ...manifest, format: 2 }), /was made by another version of the service \(format 2\)/],
      [(manifest) => ({ ...manifest, files: [] }), /manifest\.json is damaged/],
      ...['../svc.db', '/etc/passwd', 'objects/../../x', 'objects//x', 'objects/a\\b', 'lock', 'objects/./x'].map(
        (path): [(manifest: Record<string, unknown>) => unknown, RegExp] => [
          (manifest) => ({ ...manifest, files: [...(manifest.files as object[]), { path, size: 1, sha256: '' }] }),
          /manifest\.json is damaged/,
        ],
      ),
    ]
    for (const [change, message] of manifests) {
      const source = copyOf(kept)
      const path = join(source, 'manifest.json')
      writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))))
      const { code, stderr } = await restore(next(), source)
      assert.equal(code, 1)
      assert.match(stderr, message)
    }
    assert.match((await restore(next(), sound)).stderr, /is no backup: its manifest\.json cannot be read\n$/)
    assert.equal((await restore(next())).code, 2)
  })

  test('that was interrupted keeps servers away until it has come to its end', async () => {
    const data = next()
    mkdirSync(join(data, 'restoring', 'objects'), { recursive: true })
    writeFileSync(join(data, 'restoring', 'svc.db'), 'half of it')
    assert.throws(() => openDataFolder(data, 'a server'), /was interrupted; run "svc restore DIR" again$/)
    assert.equal((await restore(data, kept)).code, 0)
    openDataFolder(data, 'a server')[Symbol.dispose]()
    assert.equal((await check(data)).code, 0)
  })

  test('without room changes nothing', { skip: cannotMount }, async () => {
    using disk = smallDisk(1024 * 1024)
    const data = join(disk.path, 'data')
    mkdirSync(data)
    writeFileSync(join(disk.path, 'filler'), Buffer.alloc(900 * 1024))
    const { code, stderr } = await restore(data, kept)
    assert.equal(code, 1)
    assert.match(stderr, /^the backup could not be copied: .*\n$/)
    assert.deepEqual(readdirSync(data), ['lock'])
  })

  test('puts a database where it belongs', async () => {
    const environment = { SVC_DATA_DIR: next(), SVC_DATABASE_URL: `sqlite:${next()}.db` }
    assert.equal((await command(runRestore, [kept], environment)).code, 0)
    assert.equal(jobsIn(environment.SVC_DATABASE_URL.slice('sqlite:'.length)), 301)
    assert.equal(existsSync(join(environment.SVC_DATA_DIR, 'svc.db')), false)
  })
})
