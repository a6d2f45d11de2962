// Texts of graphs: small texts are stored whole, large texts in parts that are written before the row that makes them count.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import {
  deleteOrphanedGraphParts,
  deleteUnusedGraph,
  readGraphText,
  saveGraph,
  writeGraphParts,
} from '../../src/db/graphs.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { registerChecksumFunctions } from '../../src/db/integrity/row-checksum.ts'
import { statement } from '../../src/db/statement.ts'
import type { Store, Tx } from '../../src/db/store.ts'
import type { TransactionStatements } from '../../src/db/transaction.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'

const PARTS = statement('keys')((db) =>
  db
    .selectFrom('graph_part')
    .select(['sha256', 'at', (eb) => eb.fn<number>('length', ['body']).as('length')])
    .orderBy('sha256')
    .orderBy('at'),
)

/** The text of a graph of about `size` characters. Every second character is half of a surrogate pair. */
const textOf = (name: string, size: number) =>
  JSON.stringify({ name, nodes: [], edges: [], text: '𝄞'.repeat(size / 2) })

const LARGE = textOf('large', 2_500_001)
const HASH = sha256(LARGE)
const always = () => true

const partsOf = (store: Store, hash = HASH) =>
  store.read((tx) => tx.all(PARTS, {})).filter((part) => part.sha256 === hash)
const bodyOf = (store: Store, hash = HASH) => store.read((tx) => readGraphText(tx, hash))

/** The characters that a unit passes to writing statements. */
async function written(store: Store, unit: (tx: Tx) => void): Promise<number> {
  return store.write((tx) => {
    const counted = tx as TransactionStatements
    const before = counted.bytes
    unit(tx)
    return counted.bytes - before
  })
}

/** Changes the file without the store. */
function change(path: string, sql: string): void {
  const db = new Database(path)
  registerChecksumFunctions(db)
  db.exec(sql)
  db.close()
}

describe('the text of a graph', () => {
  test('is whole where it is small', async () => {
    await using opened = await openStore()
    const { store } = opened
    const small = textOf('small', 1_000)
    assert.equal(writeGraphParts(store, sha256(small), small), null)
    await store.write((tx) => saveGraph(tx, sha256(small), small))
    assert.equal(bodyOf(store, sha256(small)), small)
    assert.deepEqual(partsOf(store, sha256(small)), [])
  })

  test('is written anew where a part was left behind and is damaged', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await writeGraphParts(store, HASH, LARGE)
    const db = new Database(path)
    withoutTriggers(db, () => db.exec("update graph_part set body = 'other' where at = 1"))
    db.close()
    await writeGraphParts(store, HASH, LARGE)
    await store.write((tx) => saveGraph(tx, HASH, LARGE))
    assert.equal(bodyOf(store), LARGE)
  })

  test('is written in parts where it is large, none with half a character, and little is left for the transaction that names it', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await writeGraphParts(store, HASH, LARGE)
    assert.equal(bodyOf(store), undefined)
    assert.ok((await written(store, (tx) => saveGraph(tx, HASH, LARGE))) < 1_000)
    assert.equal(bodyOf(store), LARGE)
    const lengths = partsOf(store).map(({ at, length }) => [at, length <= 1_000_000])
    assert.deepEqual(lengths, [
      [0, true],
      [1, true],
      [2, true],
    ])
    assert.deepEqual(await checkDatabase(path), [])
    assert.equal(bodyOf(await opened.reopen()), LARGE)
  })

  test('is not written again where it is known', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => saveGraph(tx, HASH, LARGE))
    assert.equal(writeGraphParts(store, HASH, LARGE), null)
    assert.ok((await written(store, (tx) => saveGraph(tx, HASH, LARGE))) < 1_000)
    assert.equal(bodyOf(store), LARGE)
  })

  test('is complete even if parts are removed before they count, or another writer stores them as well', async () => {
    await using opened = await openStore()
    const { store } = opened
    const [first, second] = [writeGraphParts(store, HASH, LARGE), writeGraphParts(store, HASH, LARGE)]
    await Promise.all([first, second])
    change(opened.path, 'delete from graph_part where at = 1')
    await store.write((tx) => saveGraph(tx, HASH, LARGE))
    assert.equal(bodyOf(store), LARGE)
    await store.write((tx) => deleteUnusedGraph(tx, HASH))
    await writeGraphParts(store, HASH, LARGE)
    await store.write((tx) => deleteOrphanedGraphParts(tx, always))
    await store.write((tx) => saveGraph(tx, HASH, LARGE))
    assert.equal(bodyOf(store), LARGE)
  })

  test('is removed with its parts once nothing refers to it, and not before', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => {
      saveGraph(tx, HASH, LARGE)
      putJob(tx, jobRow(1, { graph_sha256: HASH }))
      deleteUnusedGraph(tx, HASH)
    })
    assert.equal(bodyOf(store), LARGE)
    await store.write((tx) => {
      tx.run(
        statement()((db) => db.deleteFrom('job')),
        {},
      )
      deleteUnusedGraph(tx, HASH)
    })
    assert.equal(bodyOf(store), undefined)
    assert.deepEqual(partsOf(store), [])
  })

  test('leaves no parts behind where its row was never written', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    const others = ['a', 'b', 'c'].map((name) => textOf(name, 1_500_000))
    for (const body of others) await writeGraphParts(store, sha256(body), body)
    await writeGraphParts(store, HASH, LARGE)
    await store.write((tx) => saveGraph(tx, HASH, LARGE))
    const left = () => new Set(store.read((tx) => tx.all(PARTS, {})).map((part) => part.sha256)).size
    assert.equal(await store.write((tx) => deleteOrphanedGraphParts(tx, () => false)), false)
    assert.equal(left(), 3)
    assert.equal(await store.write((tx) => deleteOrphanedGraphParts(tx, always)), true)
    assert.equal(left(), 1)
    assert.equal(bodyOf(store), LARGE)
    assert.deepEqual(await checkDatabase(path), [])
  })

  const damages = {
    "update graph_part set body = replace(body, '𝄞', 'x') where at = 1": /^a row of graph_part is not what was written/,
    'delete from graph_part where at = 2': /has another digest$/,
  }
  for (const [damage, finding] of Object.entries(damages))
    test(`is not served, and the damage is found, after: ${damage}`, async () => {
      await using opened = await openStore()
      const { store, path } = opened
      await store.write((tx) => saveGraph(tx, HASH, LARGE))
      change(path, damage)
      assert.throws(() => bodyOf(store), { code: 'DATA_DAMAGED' })
      const texts = (await checkDatabase(path)).map(({ text }) => text)
      assert.ok(
        texts.some((text) => finding.test(text)),
        texts.join('\n'),
      )
    })
})
