// That a backup which has its name is on the disk can only be seen from outside, and so can what is left where it does not get its name.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { soundFolder } from '../cli/stored.ts'
import { inFolder } from '../helpers/folder.ts'
import { namingOf, skip, syncsOf, traced } from './commands.ts'

/** All folders of a backup, by their paths below it. */
function foldersOf(backup: string): string[] {
  const entries = readdirSync(backup, { recursive: true, withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory())
  return ['', ...folders.map(({ parentPath, name }) => join(parentPath, name).slice(backup.length))]
}

test(
  'the files and folders of a backup are synced before it has its name, and the folder that it is in after',
  { skip, timeout: 60_000 },
  inFolder(async (folder) => {
    const data = join(folder, 'data')
    await soundFolder(data)
    const backup = join(folder, 'backup')
    const { code, calls } = await traced(['backup', backup], { SVC_DATA_DIR: data }, join(folder, 'trace'))
    assert.equal(code, 0)
    const named = namingOf(backup, calls)
    const partial = /"([^"]*\.partial-[^"]*)"/.exec(named.text)?.[1]
    assert.ok(partial, 'it had another name before')
    const isSynced = (path: string) => syncsOf(path, calls).some(({ ends }) => ends < named.begins)
    const folders = foldersOf(backup)
    assert.ok(folders.length > 2, 'it has folders of assets')
    assert.deepEqual(
      [...folders, '/svc.db', '/manifest.json'].filter((path) => !isSynced(partial + path)),
      [],
    )
    assert.ok(syncsOf(dirname(backup), calls).some(({ begins }) => begins > named.ends))
  }),
)

test(
  'the files and folders of a restored backup are synced before servers may see them',
  { skip, timeout: 60_000 },
  inFolder(async (folder) => {
    const data = join(folder, 'data')
    const restored = join(folder, 'restored')
    await soundFolder(data)
    const backup = join(folder, 'backup')
    const trace = join(folder, 'trace')
    assert.equal((await traced(['backup', backup], { SVC_DATA_DIR: data }, trace)).code, 0)
    const { code, calls } = await traced(['restore', backup], { SVC_DATA_DIR: restored }, trace)
    assert.equal(code, 0)
    const named = namingOf(join(restored, 'restoring', 'objects'), calls)
    const incoming = /"([^"]*)\/objects", /.exec(named.text)?.[1]
    assert.ok(incoming, 'they had another name before')
    const paths = foldersOf(join(backup, 'objects')).map((path) => `/objects${path}`)
    assert.ok(paths.length > 2, 'it has folders of assets')
    assert.deepEqual(
      [...paths, '/svc.db'].filter((path) => !syncsOf(incoming + path, calls).some(({ ends }) => ends < named.begins)),
      [],
    )
  }),
)

test(
  'a backup that cannot get its name leaves the one that had it before',
  { skip, timeout: 60_000 },
  inFolder(async (folder) => {
    const data = join(folder, 'data')
    await soundFolder(data)
    const backup = join(folder, 'backup')
    // strace counts the calls of each thread.
    const environment = { SVC_DATA_DIR: data, UV_THREADPOOL_SIZE: '1' }
    const trace = join(folder, 'trace')
    assert.equal((await traced(['backup', backup], environment, trace)).code, 0)
    const manifest = readFileSync(join(backup, 'manifest.json'), 'utf8')
    // The first rename moves the old one aside.
    const second = ['-e', 'inject=rename,renameat,renameat2:error=EACCES:when=2']
    const { code } = await traced(['backup', '--force', backup], environment, trace, second)
    assert.equal(code, 1)
    assert.ok(existsSync(backup), 'a backup has the name')
    assert.equal(readFileSync(join(backup, 'manifest.json'), 'utf8'), manifest)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('partial')),
      [],
    )
  }),
)
