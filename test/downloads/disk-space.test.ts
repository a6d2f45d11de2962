// Tests where downloads go: on disks with room for the missing bytes, and never through a link.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { test as plain } from 'node:test'
import { requireDiskSpace } from '../../src/downloads/disk-space.ts'
import { resolveFileLocation } from '../../src/downloads/file-location.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { BIG, REPO, SMALL, test } from './scene.ts'

const file = (path: string, size: number) => ({ path, size, digest: { kind: 'sha256', hex: 'ab'.repeat(32) } as const })

test('room is needed for all missing bytes, and for no stored ones', async ({ folder }) => {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const third = Math.floor(free / 3)
  await requireDiskSpace(folder, REPO, [file('a', third)])
  const four = ['a', 'b', 'c', 'd'].map((path) => file(path, third))
  await assert.rejects(requireDiskSpace(folder, REPO, four), /not enough space/)
  // A sparse file has its full size, and takes no room.
  const { partial, unfinished } = await resolveFileLocation(folder, REPO, four[0]!)
  mkdirSync(unfinished)
  writeFileSync(partial, '')
  truncateSync(partial, third)
  mkdirSync(join(folder, REPO), { recursive: true })
  writeFileSync(join(folder, REPO, 'b'), '')
  truncateSync(join(folder, REPO, 'b'), third)
  await requireDiskSpace(folder, REPO, four.slice(0, 3))
})

test('nothing is fetched through a link', async ({ pull, hub, folder }) => {
  const elsewhere = temporaryFolder()
  try {
    hub.repositories['linked/model'] = { 'a.gguf': { bytes: SMALL } }
    symlinkSync(elsewhere, join(folder, 'linked'), 'junction')
    const { status, error } = await pull({ repo_id: 'linked/model' })
    assert.deepEqual(
      [status, error],
      ['failed', '"linked" in the models folder is a link, and downloads do not follow links.'],
    )
    assert.equal(existsSync(join(elsewhere, 'model')), false)
    mkdirSync(join(folder, REPO), { recursive: true })
    writeFileSync(join(elsewhere, 'mine.gguf'), BIG)
    symlinkSync(join(elsewhere, 'mine.gguf'), join(folder, REPO, 'big.gguf'))
    assert.match((await pull({ path: 'big.gguf' })).error ?? '', /^"maker\/model\/big\.gguf" in the models folder is/)
    assert.equal(hub.files().length, 0)
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

plain('what is unfinished lies on the disk of what it becomes', async (context) => {
  // Shared memory is a disk of its own, if there is one.
  const [here, there] = [temporaryFolder(), existsSync('/dev/shm') ? mkdtempSync('/dev/shm/svc-test-') : null]
  try {
    if (there === null || statSync(here).dev === statSync(there).dev)
      return context.skip('skipped: there is one disk alone')
    const seen = new Map([[join(here, 'maker'), Promise.resolve(statSync(there))]])
    const { unfinished, path } = await resolveFileLocation(here, REPO, file('a.gguf', 1), seen)
    assert.deepEqual([unfinished, path], [join(here, 'maker/.incomplete'), join(here, REPO, 'a.gguf')])
  } finally {
    for (const folder of [here, there]) if (folder) rmSync(folder, { recursive: true, force: true })
  }
})
