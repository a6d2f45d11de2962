// Tests downloads from a hub that interrupts, lies, redirects and refuses: a file in its place is complete, or absent.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { until } from '../helpers/server.ts'
import { BIG, OTHER, OWNER, REPO, SMALL, test, withLists } from './scene.ts'

test('a repository is downloaded completely, and nothing else is left', async ({ pull, read, folder, told }) => {
  const { status, downloaded_bytes, total_bytes, downloaded_files, total_files, error } = await pull()
  const size = BIG.length + SMALL.length
  assert.deepEqual(
    [status, downloaded_bytes, total_bytes, downloaded_files, total_files, error],
    ['completed', size, size, 2, 2, null],
  )
  assert.deepEqual(read('big.gguf'), BIG)
  assert.deepEqual(read('deep/config.json'), SMALL)
  assert.deepEqual(readdirSync(join(folder, '.incomplete')), [])
  assert.equal(told[0]?.status, 'start')
})

test('a file that is stored is not fetched again, and a changed one is', async ({ pull, hub, folder, read }) => {
  await pull()
  const before = hub.files().length
  assert.equal((await pull()).status, 'completed')
  assert.equal(hub.files().length, before)
  writeFileSync(join(folder, REPO, 'big.gguf'), Buffer.alloc(BIG.length))
  assert.equal((await pull()).status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
  assert.equal(hub.files().length, before + 1)
})

test('an interrupted file continues where it stopped', async ({ pull, hub, read }) => {
  const cuts = [1, 70_000, 1_000, 0, 150_000]
  hub.fault = ({ path }, count) =>
    path.endsWith('big.gguf') && count <= cuts.length ? { cut: cuts[count - 1]! } : undefined
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
  const starts = hub.files().map(({ range }) => Number(/\d+/.exec(range ?? 'bytes=0-')![0]))
  assert.equal(starts.length, cuts.length + 1)
  assert.deepEqual(
    starts,
    starts.toSorted((a, b) => a - b),
  )
  assert.ok(starts.at(-1)! > 100_000)
})

test('a hub without ranges is asked for the whole file again', async ({ pull, hub, read }) => {
  hub.fault = (_request, count) => (count === 1 ? { cut: 90_000 } : { whole: true })
  hub.fault = withLists(hub.fault)
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
})

test('a file that changes on the hub between two pieces is downloaded in its new version', async ({
  pull,
  hub,
  read,
}) => {
  const now = randomBytes(300_000)
  hub.fault = withLists((_request, count) => {
    if (count !== 1) return
    hub.repositories[REPO]!['big.gguf'] = { bytes: now }
    return { cut: 0 }
  })
  assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
  assert.deepEqual(read('big.gguf'), now)
})

test('a file with a wrong digest never gets its name', async ({ pull, hub, read, folder }) => {
  hub.repositories[REPO]!['big.gguf']!.listed = 'ab'.repeat(32)
  const { status, error } = await pull({ path: 'big.gguf' })
  assert.equal(status, 'failed')
  assert.match(error ?? '', /"big.gguf" has another digest than the hub says/)
  assert.equal(read('big.gguf'), null)
  assert.ok(!readdirSync(join(folder, '.incomplete')).some((name) => /^[0-9a-f]+$/.test(name)))
  hub.repositories[REPO]!['deep/config.json']!.listed = 'cd'.repeat(20)
  assert.equal((await pull({ path: 'deep/config.json' })).status, 'failed')
  assert.equal(read('deep/config.json'), null)
})

test('files come from another origin, which never sees the key', async ({ pull, hub, read }) => {
  hub.redirects = true
  hub.key = 'hf_secret_of_the_caller'
  assert.equal((await pull({}, hub.key)).status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
  const seen = hub.requests.filter(({ at }) => at === 'cdn')
  assert.equal(seen.length, 2)
  for (const { authorization } of seen) assert.equal(authorization, undefined)
})

test(
  'the hub itself may be on this machine, and where it sends others on to may not',
  async ({ pull, hub }) => {
    assert.equal((await pull({ path: 'deep/config.json' })).status, 'completed')
    hub.redirects = true
    const { status, error } = await pull({ path: 'big.gguf' })
    assert.equal(status, 'failed')
    assert.match(error ?? '', /^Requests to "127.0.0.1" are refused/)
  },
  [],
)

for (const [status, sentence] of [
  [401, /refuses access to "maker\/model": it may need the key HF_TOKEN/],
  [403, /refuses access/],
  [404, /^The hub has no "maker\/model"\.$/],
  [400, /^The hub answered with 400\.$/],
] as const) {
  test(`a download ends at once after ${status}`, async ({ pull, hub }) => {
    hub.fault = () => ({ status })
    const { status: ended, error } = await pull()
    assert.equal(ended, 'failed')
    assert.match(error ?? '', sentence)
    assert.equal(hub.requests.length, 1)
  })
}

for (const status of [429, 500, 503]) {
  test(`a download is retried after ${status}, and not for ever`, async ({ pull, hub, read }) => {
    hub.fault = withLists((_request, count) => (count <= 2 ? { status, headers: { 'Retry-After': '0' } } : undefined))
    assert.equal((await pull({ path: 'big.gguf' })).status, 'completed')
    assert.deepEqual(read('big.gguf'), BIG)
    hub.fault = withLists(() => ({ status }))
    const before = hub.files().length
    hub.repositories[REPO]!['more.gguf'] = { bytes: SMALL }
    assert.equal((await pull({ path: 'more.gguf' })).status, 'failed')
    assert.equal(hub.files().length - before, 5)
  })
}

test('patterns say which files are meant', async ({ pull, read }) => {
  assert.equal((await pull({ allow: ['*.json'], ignore: ['big*'] })).total_files, 1)
  assert.deepEqual([read('big.gguf'), read('deep/config.json')], [null, SMALL])
  assert.match((await pull({ allow: ['nothing'] })).error ?? '', /patterns match no file/)
})

test('paths that lead elsewhere are refused, from callers and from the hub', async ({
  pull,
  hub,
  downloads,
  folder,
}) => {
  for (const path of ['../x', 'a/../../x', '/etc/x', 'a//b', 'a\\..\\b', 'C:x', 'node_modules/x/index.js', 'a\0b']) {
    hub.repositories[REPO] = { [path]: { bytes: SMALL } }
    const { status, error } = await pull()
    assert.equal(status, 'failed', path)
    assert.match(error ?? '', /^The hub lists a file whose name cannot be used here: "/)
    const wanted = { repo_id: REPO, path, model_type: 'x', allow: null, ignore: [] }
    assert.throws(() => downloads.start(OWNER, wanted, null), { code: 'INVALID_REQUEST' }, path)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('a download that is larger than the disk is refused before it starts', async ({ pull, hub }) => {
  hub.repositories[REPO]!['big.gguf']!.size = Number.MAX_SAFE_INTEGER
  const { status, error } = await pull({ path: 'big.gguf' })
  assert.deepEqual([status, hub.files().length], ['failed', 0])
  assert.match(error ?? '', /not enough space on the disk/)
})

test('a folder in the place of a file is reported', async ({ pull, folder }) => {
  mkdirSync(join(folder, REPO, 'big.gguf', 'x'), { recursive: true })
  const { status, error } = await pull({ path: 'big.gguf' })
  assert.equal(status, 'failed')
  assert.match(error ?? '', /A folder has the name of a file/)
})

test('stored bytes of a cancelled download are kept, and used by the next one', async ({
  hub,
  downloads,
  told,
  pull,
  read,
}) => {
  const opened = Promise.withResolvers<void>()
  hub.fault = withLists((_request, count) =>
    count === 1 ? { pause: { after: 120_000, until: opened.promise } } : undefined,
  )
  const wanted = { repo_id: REPO, path: 'big.gguf', model_type: 'x', allow: null, ignore: [] }
  downloads.start(OWNER, wanted, null)
  await until('half of it', () => told.some(({ downloaded_bytes }) => downloaded_bytes >= 100_000))
  assert.equal(downloads.cancel(OWNER, REPO, 'big.gguf').status, 'cancelled')
  assert.throws(() => downloads.cancel(OWNER, REPO, 'big.gguf'), { code: 'NOT_FOUND' })
  opened.resolve()
  assert.equal(read('big.gguf'), null)
  const { status } = await pull({ path: 'big.gguf' })
  assert.equal(status, 'completed')
  assert.deepEqual(read('big.gguf'), BIG)
  assert.match(hub.files().at(-1)?.range ?? '', /^bytes=1\d{5}-$/)
})

test('the same download again is joined; other patterns are a conflict; other owners have their own', async ({
  hub,
  downloads,
  told,
}) => {
  const opened = Promise.withResolvers<void>()
  hub.fault = withLists((_request, count) =>
    count === 1 ? { pause: { after: 1_000, until: opened.promise } } : undefined,
  )
  const wanted = { repo_id: REPO, path: 'big.gguf', model_type: 'x', allow: null, ignore: [] }
  downloads.start(OWNER, wanted, null)
  await until('its first bytes', () => told.some(({ status }) => status === 'progress'))
  assert.equal(downloads.start(OWNER, wanted, null).status, 'progress')
  assert.throws(() => downloads.start(OWNER, { ...wanted, ignore: ['x'] }, null), { code: 'CONFLICT' })
  assert.throws(() => downloads.cancel(OTHER, REPO, 'big.gguf'), { code: 'NOT_FOUND' })
  const others: DownloadUpdateFrame[] = []
  downloads.follow(OTHER, {}, (update) => others.push(update))
  assert.deepEqual(others, [])
  const mine: DownloadUpdateFrame[] = []
  downloads.follow(OWNER, {}, (update) => mine.push(update))
  assert.equal(mine.length, 1)
  opened.resolve()
  await until('the end', () => mine.some(({ status }) => status === 'completed'))
  assert.equal(hub.files().length, 1)
})

test('two callers who want the same file both get it', async ({ downloads, told, read }) => {
  const others: DownloadUpdateFrame[] = []
  downloads.follow(OTHER, {}, (update) => others.push(update))
  const wanted = { repo_id: REPO, path: 'big.gguf', model_type: 'x', allow: null, ignore: [] }
  for (const owner of [OWNER, OTHER]) downloads.start(owner, wanted, null)
  for (const list of [told, others]) await until('the end', () => list.some(({ status }) => status === 'completed'))
  assert.deepEqual(read('big.gguf'), BIG)
})

test('of many downloads at once some wait, and too many are refused', async ({ hub, downloads, told }) => {
  const opened = Promise.withResolvers<void>()
  for (let at = 0; at < 20; at++) hub.repositories[`maker/m${at}`] = { 'a.bin': { bytes: SMALL } }
  hub.fault = withLists(() => ({ pause: { after: 1, until: opened.promise } }))
  const wanted = (repo_id: string) => ({ repo_id, path: null, model_type: 'x', allow: null, ignore: [] })
  for (let at = 0; at < 20; at++) downloads.start(OWNER, wanted(`maker/m${at}`), null)
  assert.throws(() => downloads.start(OWNER, wanted(REPO), null), { code: 'QUEUE_FULL' })
  await until('those that run', () => hub.files().length === 3)
  opened.resolve()
  await until('all of them', () => told.filter(({ status }) => status === 'completed').length === 20)
})

test('a user whose downloads take all turns holds up no other user, in any workspace', async ({
  hub,
  downloads,
  folder,
}) => {
  const opened = Promise.withResolvers<void>()
  for (let at = 0; at < 20; at++) hub.repositories[`maker/m${at}`] = { 'a.bin': { bytes: SMALL } }
  hub.fault = withLists(({ path }) =>
    path.includes('maker/') ? { pause: { after: 1, until: opened.promise } } : undefined,
  )
  hub.repositories.other = { 'a.bin': { bytes: SMALL } }
  const wanted = (repo_id: string) => ({ repo_id, path: null, model_type: 'x', allow: null, ignore: [] })
  for (let at = 0; at < 20; at++) downloads.start({ ...OWNER, workspace_id: `${at % 2}` }, wanted(`maker/m${at}`), null)
  await until('those that run', () => hub.files().length === 3)
  const others: DownloadUpdateFrame[] = []
  downloads.follow(OTHER, {}, (update) => others.push(update))
  downloads.start(OTHER, wanted('other'), null)
  await until('the other one', () => others.some(({ status }) => status === 'completed'))
  assert.deepEqual(readFileSync(join(folder, 'other', 'a.bin')), SMALL)
  assert.equal(hub.files().length, 4)
  opened.resolve()
})
