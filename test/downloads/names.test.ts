// Tests which files a download selects: unusable names do not affect other files, and selection takes bounded time.
import assert from 'node:assert/strict'
import { matchFiles } from '../../src/downloads/glob-patterns.ts'
import { isSafePath } from '../../src/downloads/safe-path.ts'
import { BIG, REPO, SMALL, test } from './scene.ts'

const never = new AbortController().signal

test('one unusable name does not affect the other files of a repository', async ({ pull, hub, read }) => {
  hub.repositories[REPO]!['what?.txt'] = { bytes: SMALL }
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
  assert.equal((await pull({ ignore: ['what*'] })).status, 'completed')
  const all = await pull()
  assert.equal(all.status, 'failed')
  assert.match(all.error ?? '', /: "what\?\.txt"\. Download a single file, or exclude this one with a pattern\.$/)
  hub.repositories[REPO] = { 'a.gguf': { bytes: SMALL }, 'b.gguf': { bytes: SMALL, size: -1 } }
  assert.equal((await pull({ path: 'a.gguf' })).status, 'completed')
  assert.match((await pull()).error ?? '', /does not give the size or the digest of "b\.gguf"/)
})

test('a file that is listed twice is fetched once, and two with names that some system confuses are refused', async (s) => {
  s.hub.repositories[REPO] = { 'a.gguf': { bytes: BIG, again: 1 } }
  const { status, total_bytes, total_files } = await s.pull()
  assert.deepEqual([status, total_bytes, total_files], ['completed', BIG.length, 1])
  s.hub.repositories[REPO] = { 'B.gguf': { bytes: BIG }, 'b.gguf': { bytes: SMALL } }
  const before = s.hub.files().length
  assert.match((await s.pull()).error ?? '', /^The hub lists both "B\.gguf" and "b\.gguf"\. /)
  assert.equal(s.hub.files().length, before)
  assert.equal((await s.pull({ path: 'b.gguf' })).status, 'completed')
})

test('names of devices, and names that are too long for a disk, are unsafe', async () => {
  for (const path of ['CON', 'aux.gguf', 'a/COM1.txt', 'lpt9', 'nul .x', 'com\u00b9', 'a/conin$', 'ä'.repeat(128)])
    assert.equal(isSafePath(path), false, path)
  for (const path of ['console', 'auxiliary.gguf', 'com10', 'COM', 'a.con', 'ä'.repeat(127)])
    assert.equal(isSafePath(path), true, path)
})

test('slow patterns let other work run, and are stopped', async () => {
  const path = Array(4).fill('a'.repeat(255)).join('/')
  const files = Array.from({ length: 200 }, (_, at) => ({ path: `${path.slice(0, -4)}${at}` }))
  const slow = { allow: null, ignore: [`*${'?'.repeat(254)}b`] }
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  assert.equal((await matchFiles(files, slow, never)).length, files.length)
  clearInterval(timer)
  assert.ok(turns >= 5, `${turns} turns`)
  await assert.rejects(
    matchFiles(files, slow, never, 5_000_000),
    /^DownloadFault: Matching these patterns takes too long/,
  )
  await assert.rejects(matchFiles(files, slow, AbortSignal.abort(new Error('enough'))), /enough/)
})
