// `svc backup` and `svc restore`: what they copy, what they refuse, and that no data is ever lost.
import assert from 'node:assert/strict'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { runBackupCommand as runBackup } from '../../../src/cli/backup/backup-command.ts'
import { runRestoreCommand as runRestore } from '../../../src/cli/backup/restore-command.ts'
import { runCheckCommand as runCheck } from '../../../src/cli/check.ts'
import { findFreeSuffix } from '../../../src/cli/stored-data/superseded-files.ts'
import { openDataFolder } from '../../../src/db/files/data-folder.ts'
import { registerChecksumFunctions } from '../../../src/db/integrity/row-checksum.ts'
import { cannotMount, damagePage, loseLastRow, rootPage, smallDisk } from '../../db/kit.ts'
import { withoutTriggers } from '../../helpers/checksums.ts'
import { temporaryFolder } from '../../helpers/server.ts'
import { jobRow, openStore, putJob } from '../../helpers/store.ts'
import { command, soundFolder } from '../stored.ts'

const MIB = 1024 * 1024

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

const partials = () => readdirSync(folder).filter((name) => name.includes('partial'))

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
    assert.match(stderr, /\nsvc: the master key is not included, .*: keep a copy of the key in another place\n$/)
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

  test('replaces only a backup, and only with --force', async () => {
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
    assert.deepEqual([code, stderr], [1, `${other} is not a backup, and is not replaced\n`])
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
    assert.deepEqual(partials(), [])
  })

  test('on a disk without room fails in one line, and leaves nothing', { skip: cannotMount }, async () => {
    using disk = smallDisk(128 * 1024)
    const { code, stderr } = await backup(sound, join(disk.path, 'backup'))
    assert.equal(code, 1)
    assert.match(stderr, /^the backup failed: .*full.*\n$/)
    assert.deepEqual(readdirSync(disk.path), [])
  })

  test('of missing data, into a missing folder, or with wrong usage fails', async () => {
    assert.match((await backup(next(), next())).stderr, /^there is no database \S+; check SVC_DATA_DIR/)
    assert.match((await backup(sound, join(next(), 'below'))).stderr, /cannot be written \(ENOENT\)\n$/)
    assert.equal((await backup(sound)).code, 2)
    assert.equal((await backup(sound, 'a', 'b')).code, 2)
    const memory = { SVC_DATA_DIR: sound, SVC_DATABASE_URL: 'sqlite::memory:' }
    assert.match(
      (await command(runBackup, [next()], memory)).stderr,
      /names a database in memory, so no stored data exists/,
    )
  })

  test('copies a database outside the data folder', async () => {
    const elsewhere = copyOf(sound)
    rmSync(join(elsewhere, 'svc.db'))
    const environment = { SVC_DATA_DIR: elsewhere, SVC_DATABASE_URL: `sqlite:${join(sound, 'svc.db')}` }
    const target = next()
    assert.equal((await command(runBackup, [target], environment)).code, 0)
    assert.equal(jobsIn(join(target, 'svc.db')), 301)
  })

  test('of a store with a damaged row is made only with --incomplete, and replaces no other backup', async () => {
    const data = copyOf(sound)
    const target = next()
    assert.equal((await backup(data, target)).code, 0)
    const whole = readFileSync(join(target, 'svc.db'))
    const db = new Database(join(data, 'svc.db'))
    withoutTriggers(db, () => db.exec("update asset set metadata = '{', thumb_key = 'aa/bb/cc'"))
    db.close()
    const refused = await backup(data, target, '--force')
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^the backup would be incomplete; --incomplete makes it nevertheless\n/)
    assert.match(refused.stderr, /a row of asset is not what was written: /)
    assert.deepEqual(readFileSync(join(target, 'svc.db')), whole)
    const made = await backup(data, next(), '--incomplete')
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stderr, /^svc: incomplete: svc\.db: a row of asset is not what was written: /m)
  })

  test('of a store that has lost rows is made only with --incomplete, and replaces no other backup', async () => {
    const data = copyOf(sound)
    const db = new Database(join(data, 'svc.db'))
    for (const name of ['FIRST', 'SECOND', 'THIRD'])
      db.prepare("insert into user_secret values ('1', '', ?, x'01', '', 0)").run(name)
    registerChecksumFunctions(db)
    db.exec("update user_secret set checksum = row_checksum('user_secret', user_id, workspace, name, body, updated_at)")
    db.close()
    const target = next()
    assert.equal((await backup(data, target)).code, 0)
    const whole = readFileSync(join(target, 'svc.db'))
    loseLastRow(join(data, 'svc.db'), 'user_secret')
    const refused = await backup(data, target, '--force')
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^the backup would be incomplete; --incomplete makes it nevertheless\n/)
    assert.match(refused.stderr, /rows of user_secret may be missing, its structure is damaged: /)
    assert.deepEqual(readFileSync(join(target, 'svc.db')), whole)
    assert.equal((await backup(data, target, '--force', '--incomplete')).code, 1)
    const made = await backup(data, next(), '--incomplete')
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stderr, /^svc: incomplete: svc\.db: rows of user_secret may be missing, /m)
  })

  test('of a store that lacks files of assets fails with a list of them, unless --incomplete is given', async () => {
    const spoiled: readonly [spoil: (file: string) => void, told: RegExp][] = [
      [(file) => rmSync(file), /\n\S+ is missing\n$/],
      [(file) => writeFileSync(file, 'THE BYTES OF AN ASSET'), /\n\S+ has different content than was written\n$/],
    ]
    for (const [spoil, told] of spoiled) {
      const data = copyOf(sound)
      spoil(data + asset)
      const [older, target] = [copyOf(kept), next()]
      const before = readFileSync(join(older, 'manifest.json'), 'utf8')
      for (const args of [[target], [older, '--force']]) {
        const refused = await backup(data, ...args)
        assert.equal(refused.code, 1)
        assert.match(refused.stderr, /^the backup would be incomplete; --incomplete makes it nevertheless\n/)
        assert.match(refused.stderr, told)
      }
      const instead = await backup(data, older, '--force', '--incomplete')
      assert.match(instead.stderr, /^the backup would be incomplete; an existing backup is not replaced by it/)
      assert.equal(readFileSync(join(older, 'manifest.json'), 'utf8'), before)
      assert.deepEqual([existsSync(target), partials()], [false, []])
      const { code, stderr } = await backup(data, target, '--incomplete')
      assert.equal(code, 0)
      assert.match(stderr, /^svc: incomplete: objects: \S+ (is missing|has different content)/)
      assert.equal((await restore(next(), target)).code, 0)
    }
  })

  test('refuses a target in the data folder, even through links', async () => {
    const data = copyOf(sound)
    const link = next()
    symlinkSync(join(data, 'storage'), link)
    const before = readdirSync(data, { recursive: true })
    for (const target of ['storage/objects/b', 'b', '.', 'none/b']
      .map((path) => join(data, path))
      .concat(join(link, 'b'))) {
      const { code, stderr } = await backup(data, target, '--force', '--incomplete')
      assert.deepEqual([code, stderr], [1, `${target} lies in the data folder; choose a place outside of it\n`])
    }
    assert.deepEqual(readdirSync(data, { recursive: true }), before)
    assert.equal((await backup(data, `${data}.backup`)).code, 0)
  })

  test('of an emptied database fails, and leaves its write-ahead log alone', async () => {
    const data = copyOf(sound)
    writeFileSync(join(data, 'svc.db'), '')
    writeFileSync(join(data, 'svc.db-wal'), 'acknowledged work')
    const { code, stderr } = await backup(data, next(), '--incomplete')
    assert.equal(code, 1)
    assert.match(stderr, /svc\.db is empty; see what "svc check" finds\n$/)
    assert.equal(readFileSync(join(data, 'svc.db-wal'), 'utf8'), 'acknowledged work')
  })

  test('is for its owner alone', { skip: process.platform === 'win32' }, () => {
    for (const entry of readdirSync(kept, { recursive: true, encoding: 'utf8' }))
      assert.equal(statSync(join(kept, entry)).mode & 0o077, 0, entry)
  })

  test('shows paths without control characters', async () => {
    const target = `${next()}\nodd\u001b[31m`
    assert.match((await backup(sound, target)).stderr, /-\d+\ufffdodd\ufffd\[31m holds the database/)
    assert.match((await backup(sound, target)).stderr, /^\S+\ufffdodd\ufffd\[31m exists; --force replaces it\n$/)
    assert.match((await restore(next(), target)).stderr, /^svc: \S+\ufffdodd\ufffd\[31m of \S+ is restored/)
  })
})

describe('svc restore', () => {
  test('restores everything into an empty folder, and says which key is needed', async () => {
    const data = next()
    const { code, stderr } = await restore(data, kept)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^svc: \S+ of 20\S+Z is restored: the database and 1 file of assets\n/)
    assert.match(stderr, /put back the master\.key of the backup, or set SECRETS_MASTER_KEY\n$/)
    assert.equal((await check(data)).code, 0)
    assert.equal(jobsIn(join(data, 'svc.db')), 301)
    assert.equal(readFileSync(data + asset, 'utf8'), 'the bytes of an asset')
    assert.ok(Math.abs(statSync(data + asset).mtimeMs - statSync(sound + asset).mtimeMs) < 2)
    assert.equal(existsSync(join(data, 'restoring')), false)
    openDataFolder(data, 'a server')[Symbol.dispose]()
  })

  test('does not change a folder that holds data, unless --force moves the data aside', async () => {
    const data = copyOf(sound)
    const old = new Database(join(data, 'svc.db'))
    old.exec("insert into job_tombstone (user_id, workspace, id, expired_at) values ('1', '', 'mine', 'z')")
    old.close()
    writeFileSync(join(data, 'svc.db-wal'), '')
    for (const name of ['svc.db', 'svc.db-wal', 'storage/objects']) chmodSync(join(data, name), 0o755)
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
    if (process.platform !== 'win32')
      for (const name of [`svc.db${ending}`, `svc.db${ending}-wal`, `storage/objects${ending}`])
        assert.equal(statSync(join(data, name)).mode & 0o077, 0, name)
    const now = new Database(join(data, 'svc.db'), { readonly: true })
    assert.equal(now.prepare('select count(*) from job_tombstone').pluck().get(), 0)
    now.close()
    assert.equal((await check(data)).code, 0)
  })

  test('keeps all previous data, however often it is repeated', async () => {
    const data = copyOf(sound)
    const endings = new Set<string>()
    for (let i = 0; i < 3; i++) {
      const { stderr } = await restore(data, kept, '--force')
      endings.add(/names that end with (\.before-\S+)/.exec(stderr)![1]!)
    }
    assert.equal(endings.size, 3)
    for (const ending of endings) {
      assert.equal(jobsIn(join(data, `svc.db${ending}`)), 301)
      assert.ok(existsSync(`${data}/storage/objects${ending}`))
    }
    const now = new Date('2026-01-01T00:00:00.007Z')
    const taken = ['.before-20260101T000000007Z', '.before-20260101T000000007Z-2']
    assert.equal(
      findFreeSuffix((ending) => taken.includes(ending), now),
      '.before-20260101T000000007Z-3',
    )
  })

  test('is refused where a server runs', async () => {
    const data = next()
    using _server = openDataFolder(data, 'process 17, 127.0.0.1:7777')
    const { code, stderr } = await restore(data, kept, '--force')
    assert.equal(code, 1)
    assert.match(stderr, /belongs to a running server \(process 17, 127\.0\.0\.1:7777\); stop it/)
  })

  test('checks every file of the backup before it changes anything', async () => {
    const spoiled: Record<string, (backup: string) => void> = {
      'svc.db differs from the manifest': (path) => appendFileSync(join(path, 'svc.db'), 'x'),
      'objects/\\S+ is missing': (path) => rmSync(join(path, asset.slice('/storage/'.length))),
      'objects/\\S+ differs from': (path) =>
        writeFileSync(join(path, asset.slice('/storage/'.length)), 'THE BYTES OF AN ASSET'),
    }
    for (const [message, spoil] of Object.entries(spoiled)) {
      const source = copyOf(kept)
      spoil(source)
      const data = copyOf(sound)
      const before = readdirSync(data)
      const { code, stderr } = await restore(data, source, '--force')
      assert.equal(code, 1)
      assert.match(stderr, new RegExp(`is incomplete or damaged\\n${message}`))
      assert.deepEqual(readdirSync(data), before)
    }
  })

  test('refuses a folder that is not a backup, or whose manifest names files outside of it', async () => {
    const manifests: [change: (manifest: Record<string, unknown>) => unknown, message: RegExp][] = [
      [() => 'no manifest', /is not a backup: its manifest\.json is damaged|cannot be read/],
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
    assert.match((await restore(next(), sound)).stderr, /is not a backup: its manifest\.json cannot be read\n$/)
    assert.equal((await restore(next())).code, 2)
  })

  test('that was interrupted keeps servers from starting until it has completed', async () => {
    const data = next()
    mkdirSync(join(data, 'restoring', 'objects'), { recursive: true })
    writeFileSync(join(data, 'restoring', 'svc.db'), 'half of it')
    assert.throws(() => openDataFolder(data, 'a server'), /was interrupted; run "svc restore DIR" again$/)
    assert.equal((await restore(data, kept)).code, 0)
    openDataFolder(data, 'a server')[Symbol.dispose]()
    assert.equal((await check(data)).code, 0)
  })

  test('that was interrupted while it copied blocks no server, and the next one removes its files', async () => {
    const data = copyOf(sound)
    mkdirSync(join(data, 'restore-incoming', 'objects'), { recursive: true })
    writeFileSync(join(data, 'restore-incoming', 'svc.db'), 'half of it')
    openDataFolder(data, 'a server')[Symbol.dispose]()
    assert.equal((await check(data)).code, 0)
    assert.equal((await restore(data, kept, '--force')).code, 0)
    assert.deepEqual(
      readdirSync(data).filter((name) => name.startsWith('resto')),
      [],
    )
  })

  test('that fails after an interrupted one still keeps servers from starting', async () => {
    const [data, source] = [next(), copyOf(kept)]
    mkdirSync(join(data, 'restoring'), { recursive: true })
    const path = join(source, 'manifest.json')
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    // The damage is in pages of no table: only copying the file shows it.
    writeFileSync(join(source, 'svc.db'), '')
    const digest = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    manifest.files[0] = { path: 'svc.db', size: 0, sha256: digest }
    writeFileSync(path, JSON.stringify(manifest))
    const { code, stderr } = await restore(data, source)
    assert.equal(code, 1)
    assert.match(stderr, /^the database of \S+ is damaged: is empty/)
    assert.throws(() => openDataFolder(data, 'a server'), /was interrupted/)
    assert.equal(existsSync(join(data, 'restore-incoming')), false)
    assert.equal((await restore(data, kept)).code, 0)
    openDataFolder(data, 'a server')[Symbol.dispose]()
  })

  test('without room changes nothing', { skip: cannotMount }, async () => {
    using disk = smallDisk(1024 * 1024)
    const data = join(disk.path, 'data')
    mkdirSync(data)
    writeFileSync(join(disk.path, 'filler'), Buffer.alloc(900 * 1024))
    const { code, stderr } = await restore(data, kept)
    assert.equal(code, 1)
    assert.match(stderr, /^the backup needs [\d,]+ bytes at \S+restore-incoming, but [\d,]+ of them are not free\n$/)
    assert.deepEqual(readdirSync(data), ['lock', 'svc.db.lock'])
  })

  test('needs no room for files of assets that exist already, if they equal those of the backup', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(40 * MIB)
    const data = join(disk.path, 'data')
    cpSync(sound, data, { recursive: true })
    // A second asset, which takes half of the disk.
    const large = `${asset.slice(0, -1)}x`
    writeFileSync(data + large, Buffer.alloc(14 * MIB, 7))
    const source = next()
    assert.equal((await backup(data, source)).code, 0)
    const first = await restore(data, source, '--force')
    assert.equal(first.code, 0, first.stderr)
    assert.equal(statSync(data + large).nlink, 2)
    assert.equal((await check(data)).code, 0)
    // Old and new data share the file; the backup shares it with neither.
    assert.equal(statSync(join(source, large.slice('/storage/'.length))).nlink, 1)
    // A file of the same size with different content is not used.
    rmSync(data + large)
    writeFileSync(data + large, Buffer.alloc(14 * MIB, 8))
    const { code, stderr } = await restore(data, source, '--force')
    assert.equal(code, 1)
    assert.match(stderr, /are not free\n$/)
    assert.equal(readFileSync(data + large)[0], 8)
  })

  test('needs no room for a second copy of the database', { skip: cannotMount }, async () => {
    const source = next()
    {
      await using opened = await openStore()
      const result = JSON.stringify('x'.repeat(MIB))
      for (let key = 1; key <= 12; key++) await opened.store.write((tx) => putJob(tx, jobRow(key, { result })))
      assert.equal((await backup(dirname(opened.path), source)).code, 0)
    }
    using disk = smallDisk(20 * MIB)
    const data = join(disk.path, 'data')
    const { code, stderr } = await restore(data, source)
    assert.equal(code, 0, stderr)
    assert.ok(statSync(join(data, 'svc.db')).size > 12 * MIB)
    assert.equal(jobsIn(join(data, 'svc.db')), 12)
  })

  test('restores a database outside the data folder to its place', async () => {
    const environment = { SVC_DATA_DIR: next(), SVC_DATABASE_URL: `sqlite:${next()}.db` }
    assert.equal((await command(runRestore, [kept], environment)).code, 0)
    assert.equal(jobsIn(environment.SVC_DATABASE_URL.slice('sqlite:'.length)), 301)
    assert.equal(existsSync(join(environment.SVC_DATA_DIR, 'svc.db')), false)
  })
})
