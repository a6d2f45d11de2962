// The catalogue of models for workflows: stable pages, an entry for each kind of property, with the caller's own keys.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Capabilities, ModelCatalog } from '../../generated/types.ts'
import { call, refused } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'

const MODELS = '/api/sdk/v1/models'
const names = ['a', 'b', 'c', 'd', 'e']
let server: TestServer
before(async () => {
  const many = pricedProvider({ name: 'many', models: Object.fromEntries(names.map((name) => [name, null])) })
  Object.assign(many, { base_url: 'http://127.0.0.1:9/v1' })
  const keyed = pricedProvider({ name: 'keyed', credential: 'KEYED_API_KEY' })
  const both = pricedProvider({ name: 'both', models: {} })
  const model = { id: 'both/m', name: 'm', title: 'Both', price: null, max_output_tokens: null, size_on_disk: 42 }
  Object.assign(both, { kind: 'local', models: async () => [{ ...model, tasks: ['chat', 'embedding'] }] })
  server = await startServer({ providers: [many, keyed, both], config: { default_provider: 'both' } })
  await created(server, greeting())
})
after(() => server[Symbol.asyncDispose]())

const page = async (query = '') => (await call<ModelCatalog>(server, 'GET', `${MODELS}${query}`)).body
const keys = ({ entries }: ModelCatalog) => entries.map(({ key }) => key)

const EMBEDDING = 'embedding_model:both/m'
const LANGUAGE = [
  'language_model:both/m',
  'language_model:builtin/echo',
  ...names.map((n) => `language_model:many/${n}`),
]

describe('listModelCatalog', () => {
  test('has an entry for each model and kind of property, by its key, and no workflows', async () => {
    const all = await page()
    assert.deepEqual(keys(all), [EMBEDDING, ...LANGUAGE])
    assert.deepEqual([all.version, all.scope, all.next_cursor], ['1', 'local', null])
    const common = { scope: 'local', repo_id: null, path: null, recommended: true, provider: 'both', id: 'both/m' }
    const local = { ...common, display_name: 'Both', availability: 'ready_local', size_on_disk: 42 }
    const ofType = (type: string) => ({ ...local, compatibility: type, wire_value: { type, id: 'both/m' } })
    assert.deepEqual(all.entries.slice(0, 2), [
      { key: EMBEDDING, supported_tasks: ['embedding'], ...ofType('embedding_model') },
      { key: LANGUAGE[0], supported_tasks: ['text_generation'], ...ofType('language_model') },
    ])
    for (const { compatibility, wire_value } of all.entries) assert.equal(wire_value.type, compatibility)
    const [, , echo, many] = all.entries
    assert.deepEqual([echo?.availability, echo?.recommended], ['ready_local', false])
    assert.deepEqual([many?.availability, many?.size_on_disk], ['ready_remote', null])
  })

  test('comes in pages that together are the whole catalogue', async () => {
    const all = keys(await page())
    for (const limit of [1, 3, 7]) {
      const found: string[] = []
      const revisions = new Set<string>()
      for (let query = `?limit=${limit}`; query !== ''; ) {
        const one = await page(query)
        found.push(...keys(one))
        revisions.add(one.catalog_revision)
        assert.ok(one.entries.length <= limit)
        query = one.next_cursor === null ? '' : `?limit=${limit}&cursor=${one.next_cursor}`
      }
      assert.deepEqual([found, revisions.size], [all, 1])
    }
  })

  test('can be filtered, page by page', async () => {
    assert.deepEqual(keys(await page('?compatibility=embedding_model')), [EMBEDDING])
    assert.deepEqual(keys(await page('?availability=ready_local')), [EMBEDDING, ...LANGUAGE.slice(0, 2)])
    assert.deepEqual(keys(await page('?availability=downloadable')), [])
    assert.deepEqual(keys(await page('?provider=many&compatibility=embedding_model')), [])
    const first = await page('?provider=many&limit=3&scope=local')
    const second = await page(`?provider=many&limit=3&cursor=${first.next_cursor}`)
    assert.deepEqual([...keys(first), ...keys(second)], LANGUAGE.slice(2))
    assert.equal(second.next_cursor, null)
  })

  test('has another revision if the caller has another key, and the same one again without it', async () => {
    const before = await page()
    await call(server, 'PUT', '/api/secrets/KEYED_API_KEY', { body: { value: 'sk-marked-key' } })
    const { body, text } = await call<ModelCatalog>(server, 'GET', MODELS)
    assert.equal(body.entries.filter(({ provider }) => provider === 'keyed').length, 2)
    assert.notEqual(body.catalog_revision, before.catalog_revision)
    assert.doesNotMatch(text, /sk-marked/)
    await call(server, 'DELETE', '/api/secrets/KEYED_API_KEY')
    assert.deepEqual(await page(), before)
  })

  test('refuses an invalid cursor, scope or limit', async () => {
    const wrong = [
      'cursor=x',
      `cursor=${Buffer.from('["a",1]').toString('base64url')}`,
      'cursor=W10',
      'limit=0',
      'limit=501',
    ]
    for (const query of [...wrong, 'scope=remote', 'availability=soon'])
      assert.deepEqual(await refused(server, 'GET', `${MODELS}?${query}`, {}, [400, 'invalid_request']), [
        `/query/${query.split('=')[0]}`,
      ])
  })

  test('is announced in the capabilities', async () => {
    const { body } = await call<Capabilities>(server, 'GET', '/api/sdk/v1/capabilities')
    assert.equal(body.profiles.model_catalog, 'available')
  })
})
