// Folders nested very many levels deep: contents of a distant deleted ancestor are not shown, and checking takes few statements.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeletedFolderLookup, deleteAssetTree, purgeDeletedFolders } from '../../src/db/assets/deleted-folders.ts'
import { findAssetKeysSteps } from '../../src/db/assets/list-search.ts'
import { findOwnedAsset, insertAsset, type NewAsset } from '../../src/db/assets/rows.ts'
import { isFolderWithin } from '../../src/db/assets/updates.ts'
import type { Tx } from '../../src/db/store.ts'
import { openStore } from '../helpers/store.ts'

const owner = { user_id: 'ada', workspace_id: null }
const AT = '2026-01-01T00:00:00.000Z'
const LEVELS = 2_000
const TOO_DEEP = 25_000
/** Rows of folders that one check may read: about seven microseconds each. */
const MOST_ROWS = 10_500

function folder(id: string, parent_id: string | null): NewAsset {
  const none = { sha256: null, storage_key: null, content_key: null, thumb_key: null }
  const made = { workflow_id: null, job_id: null, node_id: null, created_at: AT, updated_at: AT }
  const is = { name: id, content_type: 'folder', size: 0, metadata: '{}', previewed: 1 } as const
  return { id, ...owner, parent_id, ...is, ...none, ...made }
}

/** The same transaction, counting its statements and the rows that they returned. */
function counted(tx: Tx): { readonly tx: Tx; count(): number; rows(): number } {
  let count = 0
  let rows = 0
  const asked = new Proxy(tx, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        count++
        const answer: unknown = Reflect.apply(value, of, args)
        rows += Array.isArray(answer) ? answer.length : 1
        return answer
      }
    },
  })
  return { tx: asked, count: () => count, rows: () => rows }
}

/** Nested folders, `<name>0` outermost. */
function insertChain(tx: Tx, name: string, levels: number): void {
  for (let at = 0; at < levels; at++) insertAsset(tx, folder(`${name}${at}`, at === 0 ? null : `${name}${at - 1}`))
}

/** A folder with more contents than one step of its deletion removes. */
function insertLarge(tx: Tx, id: string): void {
  insertAsset(tx, folder(id, null))
  for (let at = 0; at < 5_000; at++) insertAsset(tx, folder(`held${at}`, id))
}

test('few statements tell whether a very deep folder lies in a deleted one', async () => {
  await using opened = await openStore()
  const { store } = opened
  await store.write((tx) => {
    for (const tree of ['kept', 'gone']) insertChain(tx, tree, LEVELS)
  })
  // The contents of the folder are removed in steps.
  await store.write((tx) => deleteAssetTree(tx, owner, 'gone0'))
  store.read((tx) => {
    for (const [tree, isDeleted] of [
      ['kept', false],
      ['gone', true],
    ] as const) {
      const asked = counted(tx)
      const deleted = new DeletedFolderLookup(asked.tx, owner)
      assert.equal(deleted.isDeleted(`${tree}${LEVELS - 1}`), isDeleted)
      assert.ok(asked.count() < 200, `${asked.count()} statements`)
      const before = asked.count()
      assert.equal(deleted.isDeleted(`${tree}${LEVELS - 300}`), isDeleted)
      assert.ok(asked.count() <= before + 1, 'what is above was found with it')
    }
  })
})

test('a folder that is too deep to check counts as deleted while anything of its owner is removed, and no folder is moved there', async () => {
  await using opened = await openStore()
  const { store } = opened
  const deepest = `deep${TOO_DEEP - 1}`
  await store.write((tx) => {
    insertChain(tx, 'deep', TOO_DEEP)
    insertAsset(tx, folder('other', null))
    insertLarge(tx, 'gone')
  })
  store.read((tx) => {
    assert.ok(findOwnedAsset(tx, owner, deepest))
    assert.equal(isFolderWithin(tx, deepest, 'other'), null)
    assert.equal(isFolderWithin(tx, deepest, deepest), true)
    assert.equal(isFolderWithin(tx, 'deep1000', 'deep0'), true)
    assert.equal(isFolderWithin(tx, 'deep1000', 'deep1001'), false)
  })
  const { done } = await store.write((tx) => deleteAssetTree(tx, owner, 'gone'))
  assert.equal(done, false)
  store.read((tx) => {
    const asked = counted(tx)
    assert.equal(findOwnedAsset(asked.tx, owner, deepest), undefined)
    assert.ok(asked.count() < 200, `${asked.count()} statements`)
    assert.ok(asked.rows() < MOST_ROWS, `${asked.rows()} rows`)
    assert.ok(findOwnedAsset(tx, owner, 'deep2000'))
    assert.ok(findOwnedAsset(tx, owner, 'other'))
  })
  while (!(await store.write((tx) => purgeDeletedFolders(tx, () => true))).done);
  store.read((tx) => assert.ok(findOwnedAsset(tx, owner, deepest)))
})

/** Files that are looked up one after the other, like those of a value. */
const FILES = 100

test('files very deep in one tree are looked up one by one with few statements, and a write or one that is undone is seen', async () => {
  await using opened = await openStore()
  const { store } = opened
  const deepest = `kept${LEVELS - 1}`
  await store.write((tx) => {
    insertChain(tx, 'kept', LEVELS)
    for (let at = 0; at < FILES; at++) insertAsset(tx, { ...folder(`file${at}`, deepest), content_type: 'text/plain' })
    insertLarge(tx, 'gone')
  })
  const found = (at: number) => store.read((tx) => findOwnedAsset(tx, owner, `file${at}`))
  await store.write((tx) => deleteAssetTree(tx, owner, 'gone'))
  const before = store.statements
  for (let at = 0; at < FILES; at++) assert.ok(found(at))
  const count = store.statements - before
  assert.ok(count < 200 + 2 * FILES, `${count} statements`)

  const undone = store.write((tx) => {
    deleteAssetTree(tx, owner, 'kept0')
    assert.equal(findOwnedAsset(tx, owner, 'file0'), undefined)
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  assert.ok(found(0))
  await store.write((tx) => deleteAssetTree(tx, owner, 'kept0'))
  assert.equal(found(0), undefined)
})

/** Nested folders, so many of each, with a file in the last folder of each branch. */
const BRANCHES = 300
const DEEP = 100

test('a page of files in very many branches is searched in steps, and misses none of them', async () => {
  await using opened = await openStore()
  const { store } = opened
  await store.write((tx) => {
    for (let branch = 0; branch < BRANCHES; branch++)
      for (let at = 0; at < DEEP; at++)
        insertAsset(tx, folder(`${branch} ${at}`, at === 0 ? null : `${branch} ${at - 1}`))
    insertAsset(tx, folder('gone', null))
    for (let at = 0; at < 5_000; at++) insertAsset(tx, folder(`held${at}`, 'gone'))
    for (let branch = 0; branch < BRANCHES; branch++)
      insertAsset(tx, { ...folder(`file${branch}`, `${branch} ${DEEP - 1}`), content_type: 'text/plain' })
  })
  await store.write((tx) => deleteAssetTree(tx, owner, 'gone'))
  const filter = { folder: null, essence: 'text/plain', family: null, workflow_id: null, job_id: null, part: null }
  const found: number[] = []
  let most = 0
  const watched = <Result>(unit: (tx: Tx) => Result) =>
    store.read((tx) => {
      const asked = counted(tx)
      const given = unit(asked.tx)
      most = Math.max(most, asked.count())
      return given
    })
  for (let before: number | null = null; before !== 0; ) {
    const steps = findAssetKeysSteps({ read: watched } as typeof store, owner, filter, before, BRANCHES)
    let step = steps.next()
    while (!step.done) step = steps.next()
    found.push(...step.value.keys)
    before = step.value.reached
  }
  assert.equal(found.length, BRANCHES)
  assert.ok(most < 6_000, `${most} statements in one unit of work`)
})
