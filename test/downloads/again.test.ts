// Tests what is fetched again: after faults of the list, after wrong bytes, and while another process fetches the same file.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { tryLockFile } from '../../src/db/files/data-folder.ts'
import { resolveFileLocation } from '../../src/downloads/file-location.ts'
import { DownloadService } from '../../src/downloads/service.ts'
import { createLog } from '../../src/log.ts'
import { sha256 } from '../helpers/hub.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import { BIG, OTHER, OWNER, REPO, test, withLists } from './scene.ts'

const one = { repo_id: REPO, path: 'big.gguf', model_type: 'x', allow: null, ignore: [] }

function placeIn(folder: string, bytes: Buffer) {
  mkdirSync(join(folder, '.incomplete'), { recursive: true })
  const digest = { kind: 'sha256', hex: sha256(bytes) } as const
  return resolveFileLocation(folder, REPO, { path: 'big.gguf', size: bytes.length, digest })
}

test('a list that fails once is requested again', async ({ pull, hub, read }) => {
  let lists = 0
  hub.fault = ({ path }) => (path.startsWith('/api/') && ++lists < 3 ? { status: 503 } : undefined)
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
  assert.equal(lists, 3)
  assert.deepEqual(read('big.gguf'), BIG)
})

test('a list that never ends is given up', async ({ hub, folder, pull }) => {
  const gate = Promise.withResolvers<void>()
  hub.fault = () => ({ pause: { after: 0, until: gate.promise } })
  // Each request has to reach the hub within its time limit.
  await withMoreTime(50, async (list_ms) => {
    const log = createLog('silent')
    await using downloads = new DownloadService({ folder, hub_url: hub.url, allow: [], log, pause_ms: 1, list_ms })
    const before = hub.requests.length
    const ends: (string | null)[] = []
    downloads.follow(OTHER, {}, ({ status, error }) => void (status === 'failed' && ends.push(error)))
    downloads.start(OTHER, one, null)
    await until('its end', () => ends.length > 0)
    assert.deepEqual(ends, ['The hub takes too long to send its list of files.'])
    assert.equal(hub.requests.length - before, 5)
  })
  gate.resolve()
  hub.fault = () => undefined
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
})

test('bytes of an earlier version are not continued: the hub is told their version', async (s) => {
  const { partial, tag } = await placeIn(s.folder, BIG)
  writeFileSync(partial, randomBytes(100_000))
  writeFileSync(tag, `"${sha256(randomBytes(8))}"`)
  assert.equal((await s.pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(s.read('big.gguf'), BIG)
  // Without the condition the hub sends the rest, which turns out wrong, and all of it is fetched again.
  assert.deepEqual(
    s.hub.files().map(({ range }) => range),
    ['bytes=100000-'],
  )
})

test('a file that changes during its download is requested with its version, and arrives complete', async (s) => {
  const now = randomBytes(300_000)
  s.hub.fault = withLists((_request, count) => {
    if (count !== 1) return
    s.hub.repositories[REPO]!['big.gguf'] = { bytes: now }
    return { cut: 120_000 }
  })
  assert.equal((await s.pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(s.read('big.gguf'), now)
})

test('bytes that were damaged on the disk are fetched again by themselves', async ({ pull, hub, folder, read }) => {
  const { partial, tag } = await placeIn(folder, BIG)
  writeFileSync(partial, Buffer.concat([BIG.subarray(0, 100_000), Buffer.alloc(50_000)]))
  writeFileSync(tag, `"${sha256(BIG)}"`)
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
  assert.deepEqual(
    hub.files().map(({ range }) => range),
    ['bytes=150000-', undefined],
  )
})

test('a file that two downloads need at the same time is fetched once, by one server or two', async (s) => {
  await using second = new DownloadService({
    folder: s.folder,
    hub_url: s.hub.url,
    allow: [],
    log: createLog('silent'),
  })
  const gate = Promise.withResolvers<void>()
  s.hub.fault = withLists(() => ({ pause: { after: 100_000, until: gate.promise } }))
  const ends: string[] = []
  const hear = (name: string) => (update: { status: string }) => void (update.status === 'completed' && ends.push(name))
  s.downloads.follow(OTHER, {}, hear('same'))
  second.follow(OWNER, {}, hear('other'))
  s.downloads.start(OWNER, one, null)
  await until('its first bytes', () => s.told.some(({ downloaded_bytes }) => downloaded_bytes > 0))
  s.downloads.start(OTHER, one, null)
  second.start(OWNER, one, null)
  await until('all lists', () => s.hub.requests.filter(({ path }) => path.startsWith('/api/')).length === 3)
  gate.resolve()
  await until('all ends', () => ends.length === 2 && s.told.at(-1)?.status === 'completed')
  assert.equal(s.hub.files().length, 1)
  assert.deepEqual(readFileSync(join(s.folder, REPO, 'big.gguf')), BIG)
  assert.deepEqual(readdirSync(join(s.folder, '.incomplete')), [])
})

test('waiting for another download is no failed attempt, and may be cancelled', async ({
  folder,
  downloads,
  told,
  pull,
}) => {
  const { lock } = await placeIn(folder, BIG)
  {
    using held = tryLockFile(lock)
    assert.ok(held)
    downloads.start(OWNER, one, null)
    await until('the file to be its turn', () => told.some(({ current_files }) => current_files.length > 0))
    // At each attempt to get the lock, it reports the progress of the other download.
    const before = told.length
    await until('more looks', () => told.length >= before + 3)
    assert.equal(told.at(-1)?.status, 'progress')
    assert.equal(downloads.cancel(OWNER, REPO, 'big.gguf').status, 'cancelled')
  }
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
})

test('a download that is cancelled while it waits for its turn ends', async ({ hub, downloads, told }) => {
  const gate = Promise.withResolvers<void>()
  hub.fault = () => ({ pause: { after: 0, until: gate.promise } })
  const wanted = (repo_id: string) => ({ ...one, repo_id, path: null })
  for (const name of ['a', 'b', 'c']) downloads.start(OWNER, wanted(`maker/${name}`), null)
  const gone: WeakRef<object>[] = []
  for (let at = 0; at < 50; at++) {
    const asked = wanted('maker/waits')
    downloads.start(OWNER, asked, null)
    gone.push(new WeakRef(asked))
    downloads.cancel(OWNER, 'maker/waits', null)
  }
  hub.repositories['maker/last'] = { 'x.bin': { bytes: BIG } }
  downloads.start(OWNER, wanted('maker/last'), null)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  const left = gone.filter((one) => one.deref() !== undefined).length
  assert.ok(left < 5, `${left} of 50 are kept`)
  gate.resolve()
  await until('the last one', () =>
    told.some(({ repo_id, status }) => repo_id === 'maker/last' && status === 'completed'),
  )
})

function collect(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}
