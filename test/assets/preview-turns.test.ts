// Tests fairness between users: no user's assets hold up the previews of others, however many there are and however long they take.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { findNextUnpreviewed, listUnpreviewedAssets, listUsersWithUnpreviewed } from '../../src/db/assets/previews.ts'
import { insertAsset } from '../../src/db/assets/rows.ts'
import { type OwnerScope, userShareKey } from '../../src/db/owner-scope.ts'
import type { MediaTask } from '../../src/engine/node-api/services/media.ts'
import { createMediaPool } from '../../src/media/worker-pool.ts'
import { PATIENCE_MS } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import { ADA, about, BOB, bytesOf, type Kit, openKit } from './kit.ts'
import { Gate, kept, pictures, previewsOf, real } from './preview-kit.ts'

after(() => real[Symbol.asyncDispose]())

const CLEO = { user_id: 'cleo', workspace_id: null }

const ofAda = ({ owner }: MediaTask) => owner === userShareKey(ADA)

const previewed = (kit: Kit, scope: OwnerScope, id: string) => kit.assets.findById(scope, id)!.previewed

describe('the assets of one user', () => {
  test('get their previews one by one, and those of other users meanwhile', async () => {
    await using kit = await openKit()
    const files = await pictures(50)
    const mine = await Promise.all(files.map((file) => kept(kit, file)))
    const gate = new Gate(ofAda)
    await using previews = previewsOf(kit, gate)
    await until('the first look', () => gate.asked.length === 1)
    const waited = await kept(kit, files[0]!, { scope: BOB })
    await previews.prioritize(waited, PATIENCE_MS)
    assert.equal(previewed(kit, BOB, waited.id), 1)
    const told = await kept(kit, files[0]!, { scope: CLEO })
    previews.added(CLEO.user_id)
    await until('a look at what nobody waits for', () => previewed(kit, CLEO, told.id) === 1)
    assert.deepEqual([gate.asked.filter(ofAda).length, gate.asked.length], [1, 3])
    gate.open()
    await until('a look at all', () => mine.every(({ id }) => previewed(kit, ADA, id) === 1))
  })

  test('that requests wait for get their previews one by one as well, and do not hold up those of others', async () => {
    await using kit = await openKit()
    const files = await pictures(20)
    const gate = new Gate(ofAda)
    await using previews = previewsOf(kit, gate)
    const mine = await Promise.all(files.map((file) => kept(kit, file)))
    const waiting = mine.map((row) => previews.prioritize(row, PATIENCE_MS))
    await until('the first look', () => gate.asked.length === 1)
    const theirs = await kept(kit, files[0]!, { scope: BOB })
    await previews.prioritize(theirs, PATIENCE_MS)
    assert.equal(previewed(kit, BOB, theirs.id), 1)
    assert.equal(gate.asked.filter(ofAda).length, 1)
    gate.open()
    await Promise.all(waiting)
  })

  test("wait while the user's processes are busy, and those of others do not", async () => {
    await using kit = await openKit()
    const script = new URL('../media/faulty-process.ts', import.meta.url)
    await using media = createMediaPool({ script, processes: 2 })
    const stop = new AbortController()
    const work = { task: 'faulty.wait', files: [], params: {}, owner: userShareKey(ADA), signal: stop.signal }
    const own = [media.run(work), media.run(work)].map((one) => one.catch(() => {}))
    const asked: MediaTask[] = []
    const run = (task: MediaTask) => {
      asked.push(task)
      return media.run({ ...task, task: 'faulty.echo', files: [] })
    }
    await using previews = previewsOf(kit, { run })
    const [file] = await pictures(1)
    const mine = await kept(kit, file!)
    const waiting = previews.prioritize(mine, PATIENCE_MS)
    await until('the look that waits', () => asked.length === 1)
    const theirs = await kept(kit, file!, { scope: BOB })
    await previews.prioritize(theirs, PATIENCE_MS)
    assert.deepEqual([previewed(kit, ADA, mine.id), previewed(kit, BOB, theirs.id)], [0, 1])
    stop.abort()
    await Promise.all([...own, waiting])
    assert.equal(previewed(kit, ADA, mine.id), 1)
  })

  test('give up their turn for now while their processes are busy', async () => {
    await using kit = await openKit()
    const script = new URL('../media/faulty-process.ts', import.meta.url)
    await using media = createMediaPool({ script, processes: 1 })
    const stop = new AbortController()
    const work = { task: 'faulty.wait', files: [], params: {}, owner: userShareKey(ADA), signal: stop.signal }
    const own = media.run(work).catch(() => {})
    const limits: (number | undefined)[] = []
    const run = (task: MediaTask) => {
      limits.push(task.wait_limit_ms)
      return media.run({ ...task, wait_limit_ms: 1 })
    }
    const rows = await Promise.all((await pictures(2)).map((file) => kept(kit, file)))
    await using _previews = previewsOf(kit, { run })
    await until('both', () => limits.length === 2)
    assert.ok(limits.every((ms) => ms !== undefined && ms <= 10_000))
    assert.deepEqual(
      rows.map(({ id }) => previewed(kit, ADA, id)),
      [0, 0],
    )
    stop.abort()
    await own
  })
})

test('users are found in the order of their ids, and the assets of each in the order of creation', async () => {
  await using kit = await openKit()
  const { row } = kit.assets.prepare(ADA, bytesOf('text'), about())
  const of = (user_id: string, at: number) => ({ id: `${user_id}_${at}`, user_id, storage_key: `${user_id}/${at}` })
  const { store } = kit.db
  await store.write((tx) => {
    for (const user_id of ['cleo', 'ada', 'bob'])
      for (const at of [1, 2, 3, 4]) insertAsset(tx, { ...row, ...of(user_id, at), previewed: Number(at === 1) })
    insertAsset(tx, { ...row, ...of('dora', 1), previewed: 1 })
  })
  store.read((tx) => {
    assert.deepEqual(listUsersWithUnpreviewed(tx, '', 100), ['ada', 'bob', 'cleo'])
    assert.deepEqual(listUsersWithUnpreviewed(tx, 'ada', 1), ['bob'])
    const first = findNextUnpreviewed(tx, 'bob', 0)!
    const second = findNextUnpreviewed(tx, 'bob', first.key)!
    assert.deepEqual([first.id, second.id, findNextUnpreviewed(tx, 'dora', 0)], ['bob_2', 'bob_3', undefined])
    const ids = (from: number, limit: number) => listUnpreviewedAssets(tx, 'bob', from, limit).map(({ id }) => id)
    assert.deepEqual(
      [ids(0, 2), ids(second.key, 100)],
      [
        ['bob_2', 'bob_3'],
        ['bob_3', 'bob_4'],
      ],
    )
  })
})
