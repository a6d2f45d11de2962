// listCollections: administrators see the vector indexes of all users, in pages by name; other callers see none.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Collection, CollectionList } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { VectorEntry } from '../../src/engine/node-api/services/vectors.ts'
import { VectorStore } from '../../src/vectors/vector-store.ts'
import { call, refused } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'

const PATH = '/admin/collections'
const SIGNAL = new AbortController().signal

function entries(count: number): VectorEntry[] {
  return Array.from({ length: count }, (_, at) => ({ id: `${at}`, vector: [1, at, 2], text: 'secret', metadata: {} }))
}

function vectorsOf({ context: { store, platform } }: TestServer, owner: OwnerScope): VectorStore {
  return new VectorStore(owner, { store, platform })
}

const list = async (server: TestServer, query = '') =>
  (await call<CollectionList>(server, 'GET', `${PATH}${query}`)).body

const told = ({ name, user_id, workspace_id }: Collection) => [name, user_id, workspace_id]

const OWNERS: readonly (readonly [string, string, string | null])[] = [
  ['alike', 'ada', null],
  ['alike', 'ada', 'w'],
  ['alike', 'bob', null],
  ['Zoo', '1', null],
  ['été', '1', 'w2'],
  ['notes, of Ada’s "own"', 'ada', null],
]

describe('listCollections', () => {
  test('lists the collections of all users by name, without their content', async () => {
    await using server = await startServer()
    assert.deepEqual(await list(server), { collections: [], count: 0, next: null })
    for (const [name, user_id, workspace_id] of OWNERS)
      await vectorsOf(server, { user_id, workspace_id }).put(name, entries(2), 'acme/embed', SIGNAL)
    const { collections, count, next } = await list(server)
    assert.deepEqual([count, next], [6, null])
    const order = ['Zoo', 'alike', 'alike', 'alike', 'notes, of Ada’s "own"', 'été']
    assert.deepEqual(
      collections.map(({ name }) => name),
      order,
    )
    assert.deepEqual(collections.slice(1, 4).map(told), OWNERS.slice(0, 3))
    const { created_at, updated_at, ...first } = collections[0]!
    const known = { workspace_id: null, count: 2, dimensions: 3, embedding_model: 'acme/embed', metadata: {} }
    assert.deepEqual(first, { name: 'Zoo', user_id: '1', ...known })
    assert.ok(created_at <= updated_at)
    assert.ok(!JSON.stringify(collections).includes('secret'))
  })

  test('shows no name with a secret that its owner has set since', async () => {
    await using server = await startServer()
    const name = 'notes about planted-Secret-4711'
    await vectorsOf(server, { user_id: '1', workspace_id: null }).put(name, entries(1), null, SIGNAL)
    assert.equal((await list(server)).collections[0]!.name, name)
    await call(server, 'PUT', '/api/secrets/MINE', { body: { value: 'planted-Secret-4711' } })
    assert.equal((await list(server)).collections[0]!.name, 'notes about [redacted]')
  })

  test('lists an empty collection without dimensions, and no removed collection', async () => {
    await using server = await startServer()
    const vectors = vectorsOf(server, { user_id: 'ada', workspace_id: null })
    await vectors.put('a', entries(3), null, SIGNAL)
    await vectors.put('b', entries(3), null, SIGNAL)
    await vectors.remove('a', ['0', '1', '2'], SIGNAL)
    const [a] = (await list(server)).collections
    assert.deepEqual([a!.count, a!.dimensions, a!.embedding_model], [0, null, null])
    await vectors.remove('a', null, SIGNAL)
    const { collections, count } = await list(server)
    assert.deepEqual([collections.map(told), count], [[['b', 'ada', null]], 1])
  })

  test('hides the secrets of owners in names, and in the cursor that continues behind such a name', async () => {
    await using server = await startServer()
    const owner = { user_id: 'ada', workspace_id: null }
    for (const name of ['a planted-Secret-4711', 'b'])
      await vectorsOf(server, owner).put(name, entries(1), null, SIGNAL)
    await server.context.users.secrets.put(owner, 'KEY', 'planted-Secret-4711')
    const { text, body } = await call<CollectionList>(server, 'GET', `${PATH}?limit=1`)
    assert.equal(body.collections[0]!.name, 'a [redacted]')
    for (const form of [text, Buffer.from(body.next!, 'base64url').toString('latin1')])
      assert.ok(!form.includes('planted'), form)
    assert.deepEqual((await list(server, `?cursor=${body.next}`)).collections.map(told), [['b', 'ada', null]])
  })

  test('continues page by page, even if collections are created and removed meanwhile', async () => {
    await using server = await startServer()
    for (const [name, user_id, workspace_id] of OWNERS)
      await vectorsOf(server, { user_id, workspace_id }).put(name, entries(1), null, SIGNAL)
    const whole = (await list(server)).collections.map(told)
    for (const limit of [1, 2, 5, 6, 500]) {
      const seen: unknown[] = []
      for (let query = `?limit=${limit}`, next: string | null = ''; next !== null; ) {
        const page: CollectionList = await list(server, query)
        assert.ok(page.collections.length <= limit && page.count === 6)
        seen.push(...page.collections.map(told))
        next = page.next
        query = `?limit=${limit}&cursor=${encodeURIComponent(next ?? '')}`
      }
      assert.deepEqual(seen, whole)
    }
    const { next } = await list(server, '?limit=2')
    await vectorsOf(server, { user_id: 'ada', workspace_id: null }).remove('alike', null, SIGNAL)
    await vectorsOf(server, { user_id: 'ada', workspace_id: null }).put('A', entries(1), null, SIGNAL)
    const rest = await list(server, `?cursor=${next}`)
    assert.deepEqual(rest.collections.map(told), whole.slice(2))
  })

  test('refuses invalid limits and cursors', async () => {
    await using server = await startServer()
    const cursor = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')
    for (const [query, at] of [
      ['limit=0', '/query/limit'],
      ['limit=501', '/query/limit'],
      ['limit=x', '/query/limit'],
      ['cursor=x', '/query/cursor'],
      [`cursor=${cursor(['a', 'b'])}`, '/query/cursor'],
      [`cursor=${cursor(['a', 'b', 'c', 'd'])}`, '/query/cursor'],
      [`cursor=${cursor(['a', 'b', 3])}`, '/query/cursor'],
      [`cursor=${cursor(['a', 'b', 3, 'c'])}`, '/query/cursor'],
    ])
      assert.deepEqual(await refused(server, 'GET', `${PATH}?${query}`, {}, [400, 'invalid_request']), [at], query)
  })

  test('is only for administrators', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' } })
    const as = async (sub: string) => ({ headers: { Authorization: `Bearer ${await idp.token({ sub })}` } })
    await vectorsOf(server, { user_id: 'ada', workspace_id: null }).put('of Ada', entries(1), null, SIGNAL)
    const { body } = await call<CollectionList>(server, 'GET', PATH, await as('root'))
    assert.deepEqual(body.collections.map(told), [['of Ada', 'ada', null]])
    // Not even their own collections, and before other errors.
    for (const path of [PATH, `${PATH}?limit=0`])
      await refused(server, 'GET', path, await as('ada'), [403, 'forbidden'])
    assert.equal((await call(server, 'GET', PATH)).status, 401)
  })
})
