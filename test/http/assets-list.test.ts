// Lists and searches of assets: order, pages, combined filters, and cursors that are valid for one list of one user.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Asset } from '../../generated/types.ts'
import { toAssetFilter } from '../../src/assets/list-request.ts'
import { DELETED_FOLDER_STATEMENTS } from '../../src/db/assets/deleted-folders.ts'
import { ASSET_LIST_STATEMENTS, type AssetFilter, listAssetsByKeys } from '../../src/db/assets/list-queries.ts'
import { type AssetKeyPage, findAssetKeysSteps } from '../../src/db/assets/list-search.ts'
import { nameTrigramQuery } from '../../src/db/assets/name-trigrams.ts'
import { insertAsset, type NewAsset } from '../../src/db/assets/rows.ts'
import { FOLDER_STATEMENTS } from '../../src/db/assets/updates.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { Store } from '../../src/db/store.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { takesLess } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'
import { openStore, type TestStore } from '../helpers/store.ts'
import { type People, type Person, startPeople } from './assets-kit.ts'

const ANY: AssetFilter = { folder: null, essence: null, family: null, part: null, workflow_id: null, job_id: null }

let people: People
before(async () => {
  people = await startPeople()
})
after(() => people[Symbol.asyncDispose]())

async function pages(person: Person, query: Readonly<Record<string, string | number>>): Promise<Asset[][]> {
  const all: Asset[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await person.list(cursor === '' ? query : { ...query, cursor })
    all.push(page.assets)
    cursor = page.next
  }
  return all
}

const names = (assets: readonly Asset[]) => assets.map(({ name }) => name)

describe('listAssets', () => {
  let folder: Asset

  before(async () => {
    const { ada, bob } = people
    folder = await ada.folder('Trip')
    await bob.made({ name: 'Bob at the sea.txt' }, { content: 'x' })
    for (const [name, parent_id, type] of [
      ['Day at the SEA.txt', folder.id, 'text/plain'],
      ['mountains.md', folder.id, 'Text/Markdown; charset=utf-8'],
      ['Sea shells.csv', 'root', 'text/csv'],
      ['100%_sea.json', 'root', 'application/json'],
      ['ΣΕΑ ŞEHİR.txt', 'root', 'text/plain'],
    ] as const)
      await ada.made({ name, parent_id, content_type: type }, { content: name })
  })

  test('lists all assets of the caller, newest first, in pages of any size', async () => {
    const { ada, bob } = people
    const all = ['ΣΕΑ ŞEHİR.txt', '100%_sea.json', 'Sea shells.csv', 'mountains.md', 'Day at the SEA.txt', 'Trip']
    assert.deepEqual(names((await ada.list()).assets), all)
    assert.deepEqual(names((await bob.list()).assets), ['Bob at the sea.txt'])
    for (const page_size of [1, 2, 3, 5, 6, 7, 500]) {
      const found = await pages(ada, { page_size })
      assert.deepEqual(names(found.flat()), all)
      assert.deepEqual(
        found.map(({ length }) => length),
        Array.from({ length: Math.ceil(6 / page_size) }, (_, i) => Math.min(page_size, 6 - i * page_size)),
      )
    }
    assert.deepEqual((await pages(ada, { page_size: -3 })).length, 6)
    assert.deepEqual((await pages(ada, { page_size: 100_000 })).length, 1)
  })

  test('combines filters', async () => {
    const { ada } = people
    const cases: [Readonly<Record<string, string>>, string[]][] = [
      [{ parent_id: 'root' }, ['ΣΕΑ ŞEHİR.txt', '100%_sea.json', 'Sea shells.csv', 'Trip']],
      [{ parent_id: folder.id }, ['mountains.md', 'Day at the SEA.txt']],
      [{ parent_id: 'asset_of_nobody' }, []],
      [{ content_type: 'folder' }, ['Trip']],
      [{ content_type: 'text' }, ['ΣΕΑ ŞEHİR.txt', 'Sea shells.csv', 'mountains.md', 'Day at the SEA.txt']],
      [{ content_type: 'TEXT/markdown' }, ['mountains.md']],
      [{ content_type: 'image' }, []],
      [{ q: 'sea' }, ['100%_sea.json', 'Sea shells.csv', 'Day at the SEA.txt']],
      [{ q: 'SE' }, ['100%_sea.json', 'Sea shells.csv', 'Day at the SEA.txt']],
      [{ q: 'sea', content_type: 'text' }, ['Sea shells.csv', 'Day at the SEA.txt']],
      [{ q: 'sea', content_type: 'text', parent_id: 'root' }, ['Sea shells.csv']],
      [{ q: '%_s' }, ['100%_sea.json']],
      [{ q: '%' }, ['100%_sea.json']],
      [{ q: 'σεα' }, ['ΣΕΑ ŞEHİR.txt']],
      [{ q: 'şehir' }, []],
      [{ q: 'ŞEHİR' }, ['ΣΕΑ ŞEHİR.txt']],
      [{ q: '" OR "sea' }, []],
      [{ q: "sea' --" }, []],
      [{ q: 'sea*' }, []],
      [{ q: 'a AND' }, []],
      [{ job_id: 'job_none' }, []],
      [{ workflow_id: 'wf_none', q: 'sea' }, []],
    ]
    for (const [query, expected] of cases) {
      assert.deepEqual(names((await ada.list(query)).assets), expected, JSON.stringify(query))
      assert.deepEqual(names((await pages(ada, { ...query, page_size: 1 })).flat()), expected, JSON.stringify(query))
    }
  })

  test('accepts a cursor only for the same list of the same user', async () => {
    const { ada, bob } = people
    await bob.made({ name: 'Bob once more.txt' }, { content: 'x' })
    const { next } = await ada.list({ page_size: 1, q: 'sea' })
    const own = await bob.list({ page_size: 1, q: 'bob' })
    const wrong: [Person, Record<string, string>][] = [
      [ada, { cursor: next! }],
      [ada, { cursor: next!, q: 'seas' }],
      [ada, { cursor: next!, q: 'sea', content_type: 'text' }],
      [bob, { cursor: next!, q: 'sea' }],
      [ada, { cursor: own.next!, q: 'bob' }],
      [ada, { cursor: 'x', q: 'sea' }],
      [ada, { cursor: `${next!.slice(0, -2)}AA`, q: 'sea' }],
      [ada, { cursor: Buffer.from('[5]').toString('base64url') }],
    ]
    for (const [person, query] of wrong) {
      const answer = await person.ask<{ error: { problems: { path: string }[] } }>(
        'GET',
        `/api/assets?${new URLSearchParams(query)}`,
      )
      assert.equal(answer.status, 400, JSON.stringify(query))
      assert.deepEqual(
        answer.body.error.problems.map(({ path }) => path),
        ['/query/cursor'],
      )
    }
    assert.equal((await ada.list({ cursor: next!, q: 'SEA', page_size: 7 })).assets.length, 2)
  })

  test('has fewer assets in a page if their metadata are long, and the rest in the next', async () => {
    await using others = await startPeople()
    const { ada } = others
    const metadata = JSON.stringify({ said: 'x'.repeat(60_000) })
    const made: string[] = []
    for (let i = 0; i < 11; i++) {
      const long: Record<string, string> = i === 3 ? {} : { metadata }
      made.push((await ada.made({ name: `${i}`, content_type: 'folder', ...long })).name)
    }
    const found = await pages(ada, { page_size: 500 })
    assert.deepEqual(names(found.flat()), made.reverse())
    assert.deepEqual(
      found.map(({ length }) => length),
      [4, 5, 2],
    )
    assert.deepEqual(
      (await pages(ada, { page_size: 3 })).map(({ length }) => length),
      [3, 3, 3, 2],
    )
  })

  test('continues after the last page, even if assets were deleted and created meanwhile', async () => {
    await using others = await startPeople()
    const { ada } = others
    const made: Asset[] = []
    for (let i = 0; i < 9; i++) made.push(await ada.made({ name: `${i}` }, { content: 'x' }))
    const first = await ada.list({ page_size: 4 })
    for (const { id } of [...first.assets, made[3]!]) await ada.ask('DELETE', `/api/assets/${id}`)
    await ada.made({ name: 'new' }, { content: 'x' })
    assert.deepEqual(names((await ada.list({ page_size: 4, cursor: first.next! })).assets), ['4', '2', '1', '0'])
  })
})

describe('the query for a page of assets', () => {
  let opened: TestStore
  before(async () => {
    opened = await openStore()
  })
  after(() => opened[Symbol.asyncDispose]())

  const OWNER = 'user_id=\\? AND <expr>=\\?'
  const expected = {
    byOwner: [new RegExp(`SEARCH asset USING INDEX asset_by_owner \\(${OWNER} AND rowid>\\? AND rowid<\\?\\)`)],
    byFolder: [new RegExp(`asset_by_folder \\(${OWNER} AND <expr>=\\? AND rowid>\\? AND rowid<\\?\\)`)],
    byEssence: [new RegExp(`asset_by_type \\(${OWNER} AND <expr>=\\? AND rowid>\\? AND rowid<\\?\\)`)],
    byFamily: [new RegExp(`asset_by_family \\(${OWNER} AND <expr>=\\? AND rowid>\\? AND rowid<\\?\\)`)],
    byWorkflow: [new RegExp(`asset_by_workflow \\(${OWNER} AND workflow_id=\\? AND rowid>\\? AND rowid<\\?\\)`)],
    byJob: [new RegExp(`asset_by_job \\(${OWNER} AND job_id=\\? AND rowid>\\? AND rowid<\\?\\)`)],
    byName: [/asset_name VIRTUAL TABLE INDEX \d+:M1<>/, /SEARCH asset USING .*rowid=\?/],
    selectByKeys: [/SEARCH asset USING INTEGER PRIMARY KEY \(rowid=\?\)/],
    selectLast: [/^SEARCH asset$/],
    selectAbove: [/SEARCH asset USING INDEX .*\(id=\?\)/],
    selectAny: [/SEARCH deleted_folder USING PRIMARY KEY \(user_id=\? AND workspace=\?\)/],
    selectDeleted: [/SEARCH deleted_folder USING PRIMARY KEY \(user_id=\? AND workspace=\? AND id=\?\)/],
    selectParent: [/SEARCH asset USING INDEX .*\(id=\?\)/],
    selectWay: [
      /SEARCH asset USING INDEX .*\(id=\?\)/,
      /SEARCH deleted_folder USING PRIMARY KEY \(user_id=\? AND workspace=\? AND id=\?\)/,
    ],
    removeHeld: [new RegExp(`asset_by_folder \\(${OWNER} AND <expr>=\\?\\)`)],
  }
  const statements = { ...ASSET_LIST_STATEMENTS, ...FOLDER_STATEMENTS, ...DELETED_FOLDER_STATEMENTS }

  test('covers every statement', () => {
    assert.deepEqual(Object.keys(expected).sort(), Object.keys(statements).sort())
  })

  for (const [name, details] of Object.entries(expected)) {
    test(`uses an index, without sorting: ${name}`, () => {
      const db = new Database(opened.path, { readonly: true })
      db.function('contains_text', (_text: unknown, _part: unknown) => 1)
      db.function('name_grams', (_user: unknown, _workspace: unknown, _name: unknown) => '')
      const { sql } = statements[name as keyof typeof statements]
      const slots = Array.from(sql.matchAll(/\?/g), () => 1)
      const rows = db.prepare(`explain query plan ${sql}`).all(...slots) as { detail: string }[]
      db.close()
      const found = rows.map(({ detail }) => detail)
      for (const detail of details)
        assert.ok(
          found.some((line) => detail.test(line)),
          found.join('\n'),
        )
      assert.ok(!found.some((line) => /TEMP B-TREE|^SCAN asset( |$)/.test(line)), found.join('\n'))
    })
  }

  const ADA: OwnerScope = { user_id: 'ada', workspace_id: null }
  const BOB: OwnerScope = { user_id: 'bob', workspace_id: 'w' }
  const FEW = 300
  const MANY = scaled(20_000)

  /** Ada has many assets in two folders; Bob has few, and none of the kind that Ada has many of. */
  async function filled(store: Store): Promise<void> {
    for (let from = 0; from < MANY; from += 5_000)
      await store.write((tx) => {
        for (let i = from; i < Math.min(MANY, from + 5_000); i++) {
          const odd = i % 2 === 1
          const name = `photo-${String(i).padStart(7, '0')}.${odd ? 'png' : 'jpg'}`
          insertAsset(
            tx,
            row(ADA, `a${i}`, { name, parent_id: odd ? 'odd' : null, content_type: odd ? 'image/png' : 'image/jpeg' }),
          )
        }
      })
    await store.write((tx) => {
      for (let i = 0; i < FEW; i++)
        insertAsset(tx, row(BOB, `b${i}`, { name: `report ${i}.pdf`, content_type: 'application/pdf' }))
    })
  }

  function row(owner: OwnerScope, id: string, more: Partial<NewAsset>): NewAsset {
    return {
      id,
      ...owner,
      parent_id: null,
      name: id,
      content_type: 'text/plain',
      size: 1,
      sha256: null,
      storage_key: id,
      content_key: id,
      thumb_key: null,
      metadata: '{}',
      previewed: 1,
      workflow_id: null,
      job_id: null,
      node_id: null,
      created_at: '',
      updated_at: '',
      ...more,
    }
  }

  function whole(store: Store, owner: OwnerScope, filter: Partial<AssetFilter>): { ids: string[]; pages: number } {
    const ids: string[] = []
    let pages = 0
    for (let before: number | null = null; before !== 0; pages++) {
      const from: number | null = before
      const { keys, reached }: AssetKeyPage = runToCompletion(
        findAssetKeysSteps(store, owner, { ...ANY, ...filter }, from, 101),
      )
      ids.push(...store.read((tx) => listAssetsByKeys(tx, keys)).map(({ id }) => id))
      before = reached
    }
    return { ids, pages }
  }

  test('is fast for common, rare and foreign assets', async () => {
    const { store } = opened
    await filled(store)
    const counts: [OwnerScope, Partial<AssetFilter>, number][] = [
      [ADA, { part: 'photo' }, MANY],
      [ADA, { part: 'photo-0000123' }, 1],
      [ADA, { part: 'report' }, 0],
      [BOB, { part: 'photo' }, 0],
      [BOB, { part: 'report' }, FEW],
      [ADA, { part: '0000123', folder: 'odd' }, 1],
      [ADA, { part: '0000123', folder: '' }, 0],
      [ADA, { part: '.jpg', folder: 'odd' }, 0],
      [ADA, { essence: 'image/jpeg', folder: 'odd' }, 0],
      [ADA, { part: 'zz' }, 0],
      [ADA, { family: 'image', part: '.png' }, MANY / 2],
    ]
    for (const [owner, filter, count] of counts) {
      assert.equal(whole(store, owner, filter).ids.length, count, JSON.stringify(filter))
      await takesLess(50, () => runToCompletion(findAssetKeysSteps(store, owner, { ...ANY, ...filter }, null, 101)))
    }
    const { ids } = whole(store, ADA, { folder: 'odd' })
    assert.deepEqual(ids.slice(0, 2), [`a${MANY - 1}`, `a${MANY - 3}`])
    assert.equal(new Set(ids).size, MANY / 2)
  })

  test('lets other requests run while a search finds nothing: a name can take 50 µs', async () => {
    const { store } = opened
    const steps = findAssetKeysSteps(store, ADA, { ...ANY, part: 'zz' }, null, 101)
    let count = 1
    while (!steps.next().done) count++
    assert.ok(count > 10, `${count} steps for 6,000 rows`)
  })

  test('finds names in any case and any Unicode normalization', async () => {
    const { store } = opened
    const EVE: OwnerScope = { user_id: 'eve', workspace_id: null }
    const names = ['Cafe\u0301 Zu\u0308rich.txt', 'Caf\u00e9.txt', 'ΟΔΟΣΗΜΑ', 'ὁδός', '😀 a\u200f b', 'שלום עולם']
    await store.write((tx) => {
      for (const [at, name] of names.entries()) insertAsset(tx, row(EVE, `e${at}`, { name }))
    })
    const cases: [string, number[]][] = [
      ['CAF\u00c9', [1, 0]],
      ['cafe\u0301', [1, 0]],
      ['cafe', []],
      ['é', [1, 0]],
      ['zürich', [0]],
      ['ΟΔΟΣ', [2]],
      ['οδος', [2]],
      ['Σ', [3, 2]],
      ['ς', [3, 2]],
      ['😀', [4]],
      ['\u200f', [4]],
      ['עול', [5]],
      ['ם', [5]],
    ]
    for (const [q, expected] of cases) {
      const { ids } = whole(store, EVE, toAssetFilter({ q }))
      assert.deepEqual(
        ids,
        expected.map((at) => `e${at}`),
        q,
      )
    }
  })

  test('ends a long search in a few pages', () => {
    const { pages } = whole(opened.store, ADA, { part: 'zz' })
    assert.ok(pages > 1 && pages <= Math.ceil(MANY / 5_000), String(pages))
  })

  test('never reads name words of other owners', () => {
    const words = (owner: OwnerScope) => nameTrigramQuery(owner, 'photo')!.split(' AND ')
    const all = [ADA, BOB, { ...ADA, workspace_id: 'w' }, { ...BOB, workspace_id: null }].flatMap(words)
    assert.equal(new Set(all).size, all.length)
    assert.equal(nameTrigramQuery(ADA, 'ph'), null)
  })
})
