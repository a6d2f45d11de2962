// Random operations of two users on their assets, compared with a model: folder trees, the order of lists, search results, and the stored bytes after
// a sweep, including uploads that a crash left without a row.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { AssetPage } from '../../generated/types.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { ServiceError } from '../../src/errors.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { storedFiles } from './assets-kit.ts'

interface Item {
  readonly id: string
  readonly folder: boolean
  parent: string | null
  name: string
  readonly content: string
}

interface Person {
  readonly scope: OwnerScope
  /** Oldest first. */
  items: Item[]
}

const index = fc.nat(30)
const content = fc.constantFrom('', 'a', 'b', 'the same', 'long '.repeat(2_000))
const name = fc.constantFrom('Sea', 'a day at the SEA', 'x', '海辺の朝', 'ab', 'notes.txt')
/** The owner of the things that an operation names: the caller, or by mistake the other user. */
const own = fc.integer({ min: 0, max: 5 }).map((n) => n > 0)
const operation = fc.record({
  who: fc.nat(1),
  own,
  kind: fc.constantFrom('folder', 'file', 'file', 'copy', 'replace', 'rename', 'move', 'delete', 'crash'),
  at: index,
  to: index,
  content,
  name,
})
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

const platform = clock()
let server: TestServer
let runs = 0
before(async () => {
  server = await startServer({ platform })
})
after(() => server[Symbol.asyncDispose]())

/** An item by index modulo the length; undefined for an empty list. */
function pick(items: readonly Item[], at: number): Item | undefined {
  return items[at % Math.max(1, items.length)]
}

function below(items: readonly Item[], top: Item): Set<string> {
  const held = new Set([top.id])
  for (let size = 0; size !== held.size; ) {
    size = held.size
    for (const { id, parent } of items) if (parent !== null && held.has(parent)) held.add(id)
  }
  return held
}

async function codeOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

const file = (text: string) => ({ name: null, content_type: null, bytes: Buffer.from(text) })

/** Creates an asset, or returns the error. Things of the other user count as unknown. */
async function make(person: Person, items: readonly Item[], one: Operation): Promise<void> {
  const { service: library } = server.context.assets
  const { kind, to, at, own } = one
  const folders = items.filter(({ folder }) => folder)
  const parent = to % 3 === 0 ? undefined : pick(folders, to)
  const source = pick(items, at)
  const request = { name: one.name, ...(parent ? { parent_id: parent.id } : {}) }
  const missing = !own && (parent !== undefined || ((kind === 'copy' || kind === 'replace') && source !== undefined))
  let asked: Promise<{ id: string; get_url: string | null }>
  let text = one.content
  if (kind === 'folder') asked = library.create(person.scope, { ...request, content_type: 'folder' }, null)
  else if (kind === 'copy') {
    if (!source || source.folder) return
    text = source.content
    asked = library.create(
      person.scope,
      { ...request, uri: `/api/storage/${keyOf(source, own ? person : otherOf(person))}` },
      null,
    )
  } else if (kind === 'replace') {
    if (!source) return
    const work = library.create(person.scope, { ...request, replaces: source.id }, file(text))
    if (!own || source.folder) return assert.equal(await codeOf(work), own ? 'CONFLICT' : 'NOT_FOUND')
    asked = work
    const { id } = await work
    person.items = person.items.filter((item) => item !== source)
    person.items.push({ id, folder: false, parent: parent?.id ?? source.parent, name: one.name, content: text })
    return
  } else asked = library.create(person.scope, request, file(text))
  if (missing) return assert.equal(await codeOf(asked), 'NOT_FOUND')
  const { id } = await asked
  person.items.push({ id, folder: kind === 'folder', parent: parent?.id ?? null, name: one.name, content: text })
}

function keyOf({ id }: Item, { scope }: Person): string {
  const asset = server.context.assets.store.findById(scope, id)
  return asset!.storage_key
}

let people: [Person, Person]
const otherOf = (person: Person) => people[person === people[0] ? 1 : 0]

async function change(person: Person, items: readonly Item[], { kind, at, to, own, name }: Operation): Promise<void> {
  const { service: library } = server.context.assets
  const item = pick(items, at)
  if (!item) return
  const folder =
    to % 4 === 0
      ? null
      : pick(
          person.items.filter((one) => one.folder),
          to,
        )
  const request = kind === 'rename' ? { name } : { parent_id: folder ? folder.id : 'root' }
  const code = await codeOf(library.update(person.scope, item.id, request))
  if (!own) return assert.equal(code, 'NOT_FOUND')
  if (kind === 'rename') item.name = name
  else if (folder && item.folder && below(person.items, item).has(folder.id)) return assert.equal(code, 'CONFLICT')
  else item.parent = folder?.id ?? null
  assert.equal(code, null)
}

async function remove(person: Person, items: readonly Item[], { at, own }: Operation): Promise<void> {
  const item = pick(items, at)
  if (!item) return
  const code = await codeOf(server.context.assets.service.delete(person.scope, item.id))
  if (!own) return assert.equal(code, 'NOT_FOUND')
  assert.equal(code, null)
  const held = below(person.items, item)
  person.items = person.items.filter(({ id }) => !held.has(id))
}

/** Bytes on disk without a row, as after a crash. */
function crash({ scope }: Person, { content }: Operation): void {
  const made = { workflow_id: null, job_id: null, node_id: null }
  server.context.assets.store.prepare(scope, Buffer.from(`${content} of a crash`), { content_type: null, ...made })
}

async function run(one: Operation): Promise<void> {
  const person = people[one.who]!
  const items = one.own ? person.items : otherOf(person).items
  if (one.kind === 'crash') return crash(person, one)
  if (one.kind === 'rename' || one.kind === 'move') return change(person, items, one)
  return one.kind === 'delete' ? remove(person, items, one) : make(person, items, one)
}

async function listed({ scope }: Person, filter: object, page_size: number): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: AssetPage = await server.context.assets.service.list(scope, { ...filter, page_size, cursor })
    ids.push(...page.assets.map(({ id }) => id))
    cursor = page.next
  }
  return ids
}

async function holds(person: Person): Promise<void> {
  const newest = person.items.toReversed()
  const ids = (fits: (item: Item) => boolean) => newest.filter(fits).map(({ id }) => id)
  assert.deepEqual(
    await listed(person, {}, 3),
    ids(() => true),
  )
  assert.deepEqual(
    await listed(person, { parent_id: 'root' }, 2),
    ids(({ parent }) => parent === null),
  )
  assert.deepEqual(
    await listed(person, { content_type: 'folder' }, 5),
    ids(({ folder }) => folder),
  )
  for (const q of ['sea', 'a', '海辺の', 'day AT'])
    assert.deepEqual(
      await listed(person, { q }, 4),
      ids(({ name }) => name.toLowerCase().includes(q.toLowerCase())),
    )
  for (const { id } of person.items.filter(({ folder }) => folder).slice(0, 3)) {
    assert.deepEqual(
      await listed(person, { parent_id: id, q: 'x' }, 1),
      ids((one) => one.parent === id && one.name.includes('x')),
    )
    assert.deepEqual(await listed(otherOf(person), { parent_id: id }, 1), [])
  }
}

describe('random operations of two users', () => {
  test('leave the state of the model, and nothing else on disk', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 20, maxLength: 60 }), async (operations) => {
        runs += 1
        const person = (name: string): Person => ({
          scope: { user_id: `${name}${runs}`, workspace_id: null },
          items: [],
        })
        people = [person('ada'), person('bob')]
        for (const one of operations) await run(one)
        for (const one of people) await holds(one)
        for (const { items, scope } of people)
          for (const { id, folder, content, name, parent } of items) {
            const asset = server.context.assets.service.get(scope, id)
            assert.deepEqual([asset.name, asset.parent_id, asset.size], [name, parent, folder ? 0 : content.length])
          }
        await swept()
      }),
      { numRuns: scaled(12) },
    )
    assert.deepEqual(await checkDatabase(`${server.data_dir}/svc.db`), [])
  })

  /** After the sweep, only blobs with rows are left, each once; then everything is deleted. */
  async function swept(): Promise<void> {
    const { service: library } = server.context.assets
    platform.ms += 2 * HOUR
    await server.context.runs.retention.sweep()
    const contents = people.map(
      ({ items }) => new Set(items.filter(({ folder }) => !folder).map(({ content }) => content)),
    )
    assert.equal(storedFiles(server).length, contents[0]!.size + contents[1]!.size)
    for (const { scope, items } of people)
      for (const { id, parent } of items) if (parent === null) await library.delete(scope, id)
    for (const one of people) assert.deepEqual(await listed(one, {}, 100), [])
    assert.deepEqual(storedFiles(server), [])
  }
})
