// Tests the requirements of runs: credentials, providers, models, runtimes, node packs, approvals and assets, each found by a probe that
// changes nothing.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { NodeRuntime } from '../../../src/lifecycle/preflight/probes.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { graph, node, testType, withTypes } from '../../engine/kit.ts'
import { call } from '../../helpers/http.ts'
import { takesLess } from '../../helpers/patience.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { stored as storedAsset } from '../../http/storage-kit.ts'
import { stored } from '../../sockets/kit.ts'
import { calling, chat, issuesOf, preflight, preflightOf, requirement, requirementsOf } from '../preflight-kit.ts'

const VALUE = 'the-value-of-the-key-0123456789'
const CAUSE = 'the cause, with the secret of nobody in it'

const priced = pricedProvider()
const keyed = pricedProvider({ name: 'keyed', credential: 'KEYED_API_KEY', models: { one: dollars(1, 1) } })
const failing = pricedProvider({
  name: 'failing',
  listing() {
    throw new Error(CAUSE)
  },
})
const other = pricedProvider({ name: 'other', models: { small: dollars(9, 9), own: null } })

const runtimes: NodeRuntime[] = [
  { name: 'there', title: 'The runtime', status: async () => 'available' },
  { name: 'coming', title: 'Another', status: async () => 'downloading' },
  {
    name: 'broken',
    title: 'Broken',
    status() {
      throw new Error(CAUSE)
    },
  },
]

const registry = withTypes(
  ...['there', 'coming', 'broken', 'nowhere'].map((name) =>
    testType(`test.Needs_${name}`, { required_runtimes: [name], run: () => ({}) }),
  ),
  testType('test.Keyed', { required_settings: ['SOME_KEY', 'not a secret'], run: () => ({}) }),
)

let server: TestServer
before(async () => {
  server = await startServer({
    registry,
    runtimes,
    providers: [priced, keyed, failing, other],
    environment: { SVC_SECRET_FROM_ENVIRONMENT: VALUE },
  })
})
after(() => server[Symbol.asyncDispose]())

const required = async (of: Parameters<typeof preflightOf>[1], request = {}) =>
  requirementsOf(await preflightOf(server, of, request))

const http = (data: Record<string, unknown>) => graph([node('get', 'http.Request', data)], [])

describe('credentials', () => {
  test("are found in a node's own values, and reported without their value", async () => {
    await call(server, 'PUT', '/api/secrets/STORED', { body: { value: VALUE } })
    const of = http({
      url: 'https://x.example/{{secret:STORED}}?a={{secret:FROM_ENVIRONMENT}}',
      headers: { Authorization: 'Bearer {{ secret:ABSENT }}' },
      query: { a: ['{{secret:STORED}}'] },
      body: { deep: [{ down: '{{secret:DEEP}}' }] },
    })
    const summary = await preflightOf(server, of)
    assert.deepEqual(requirementsOf(summary), [
      'credential ABSENT missing true',
      'credential DEEP missing true',
      'credential FROM_ENVIRONMENT available true',
      'credential STORED available true',
    ])
    assert.equal(summary.runnable, false)
    assert.deepEqual(requirement(summary, 'credential', 'STORED').details, { node_ids: ['get'] })
    assert.ok(!JSON.stringify(summary).includes(VALUE))
  })

  test('in values that come along an edge do not count: a run does not resolve them either', async () => {
    const of = graph(
      [node('in', 'input.String', { name: 'url', value: '{{secret:ABSENT}}' }), node('get', 'http.Request')],
      ['in.output->get.url'],
    )
    assert.deepEqual(await required(of), [])
  })

  test('are those that node types need', async () => {
    assert.deepEqual(await required(graph([node('n', 'test.Keyed')], [])), ['credential SOME_KEY missing true'])
  })

  test('are looked up for the caller, through called workflows as well, and merged', async () => {
    const callee = await stored(server, http({ url: 'https://x.example/{{secret:INNER}}' }))
    const of = graph([...calling(callee).nodes, ...http({ url: 'https://{{secret:INNER}}' }).nodes], [])
    const summary = await preflightOf(server, of)
    assert.deepEqual(requirementsOf(summary), ['credential INNER missing true'])
    assert.deepEqual(requirement(summary, 'credential', 'INNER').details, { node_ids: [`${callee}/get`, 'get'].sort() })
  })
})

describe('models and providers', () => {
  test('are listed once for each provider', async () => {
    const before = priced.listed
    const models = ['priced/small', 'priced/small', 'priced/free', 'priced/nothing']
    const of = graph(
      models.map((model, at) => node(`n${at}`, 'chat.Complete', { model, prompt: 'x' })),
      [],
    )
    assert.deepEqual(await required(of), [
      'model priced/free available true',
      'model priced/nothing missing true',
      'model priced/small available true',
      'provider priced available true',
    ])
    assert.ok(priced.listed <= before + 1)
    assert.equal(priced.calls.length, 0)
  })

  test('builtin/echo needs nothing else', async () => {
    const summary = await preflightOf(server, chat({ model: 'builtin/echo', prompt: 'x' }), { level: 'execution' })
    assert.deepEqual(requirementsOf(summary), ['model builtin/echo available true', 'provider builtin available true'])
    assert.deepEqual([summary.runnable, summary.cost], [true, null])
  })

  test('a provider without its credential is not asked at all', async () => {
    const of = chat({ model: 'keyed/one', prompt: 'x' })
    assert.deepEqual(await required(of), [
      'credential KEYED_API_KEY missing true',
      'model keyed/one unknown true',
      'provider keyed unavailable true',
    ])
    assert.equal(keyed.listed, 0)
    await call(server, 'PUT', '/api/secrets/KEYED_API_KEY', { body: { value: VALUE } })
    const summary = await preflightOf(server, of)
    assert.deepEqual(requirementsOf(summary), [
      'credential KEYED_API_KEY available true',
      'model keyed/one available true',
      'provider keyed available true',
    ])
    assert.deepEqual([summary.runnable, keyed.listed], [true, 1])
    assert.ok(!JSON.stringify(summary).includes(VALUE))
  })

  test('a provider that throws is unknown, with a message that does not reveal the cause', async () => {
    const summary = await preflightOf(server, chat({ model: 'failing/x', prompt: 'x' }))
    assert.deepEqual(requirementsOf(summary), ['model failing/x unknown true', 'provider failing unknown true'])
    assert.equal(requirement(summary, 'provider', 'failing').message, 'The provider could not be asked.')
    assert.ok(!JSON.stringify(summary).includes(CAUSE))
    assert.deepEqual([summary.runnable, summary.cost?.confidence], [false, 'unknown'])
  })

  test('a provider that this server does not have is missing, and so is its model', async () => {
    assert.deepEqual(await required(chat({ model: 'nobody/x', prompt: 'x' })), [
      'model nobody/x missing true',
      'provider nobody missing true',
    ])
  })

  test('a bare name belongs to the only provider that lists it', async () => {
    assert.deepEqual(await required(chat({ model: 'own', prompt: 'x' })), [
      'model other/own available true',
      'provider other available true',
    ])
    // Two providers list it, and neither is the default one, so the model is ambiguous, as in a run.
    const several = await preflightOf(server, chat({ model: 'small', prompt: 'x' }))
    assert.deepEqual(requirementsOf(several), ['model small missing true'])
    assert.match(requirement(several, 'model', 'small').message!, /Several providers/)
    // A provider that could not be asked may list it.
    assert.deepEqual(await required(chat({ model: 'no such', prompt: 'x' })), ['model no such unknown true'])
  })

  test('a model that the run itself chooses is unknown and does not block; one from an input is known', async () => {
    const of = (type: string) =>
      graph(
        [
          node('in', 'input.String', { name: 'model', value: 'priced/small' }),
          node('same', 'text.Template', { template: '{{m}}' }),
          node('ask', 'chat.Complete', { prompt: 'x' }),
        ],
        type === 'input' ? ['in.output->ask.model'] : ['in.output->same.m', 'same.output->ask.model'],
      )
    const summary = await preflightOf(server, of('run'))
    assert.deepEqual(requirementsOf(summary), ['model node:ask unknown false'])
    assert.deepEqual([summary.runnable, summary.cost?.unknown_cost_nodes], [true, ['ask']])
    assert.deepEqual(await required(of('input')), [
      'model priced/small available true',
      'provider priced available true',
    ])
    assert.deepEqual(await required(of('input'), { inputs: { model: 'nobody/x' } }), [
      'model nobody/x missing true',
      'provider nobody missing true',
    ])
  })
})

describe('runtimes and node packs', () => {
  test('a runtime has the status of its probe; one that throws is unknown, an absent one missing', async () => {
    const names = ['there', 'coming', 'broken', 'nowhere']
    const of = graph(
      names.map((name) => node(name, `test.Needs_${name}`)),
      [],
    )
    const summary = await preflightOf(server, of)
    assert.deepEqual(requirementsOf(summary), [
      'runtime broken unknown true',
      'runtime coming downloading true',
      'runtime nowhere missing true',
      'runtime there available true',
    ])
    assert.equal(summary.runnable, false)
    assert.ok(!JSON.stringify(summary).includes(CAUSE))
    assert.equal((await preflightOf(server, graph([of.nodes[0]!], []))).runnable, true)
  })

  test('an unknown node type is a missing node pack, named by its namespace', async () => {
    const of = graph([node('a', 'pack.One'), node('b', 'pack.Two'), node('c', 'bare')], [])
    const summary = await preflightOf(server, of)
    assert.deepEqual(requirementsOf(summary), ['node_pack bare missing true', 'node_pack pack missing true'])
    assert.deepEqual(requirement(summary, 'node_pack', 'pack').details, { node_ids: ['a', 'b'] })
    assert.equal(issuesOf(summary).filter((issue) => issue.startsWith('error graph_unknown_node')).length, 3)
  })

  test('the rest of a graph that cannot run is reported as well', async () => {
    const of = graph([node('a', 'pack.One'), ...http({ url: '{{secret:ABSENT}}' }).nodes], [])
    assert.deepEqual(await required(of), ['credential ABSENT missing true', 'node_pack pack missing true'])
  })
})

test('an approval is reported, and does not block the run', async () => {
  const of = graph([node('ask', 'human.Approval', { message: 'Go on?' })], [])
  const callee = await stored(server, of)
  const summary = await preflightOf(server, graph([...of.nodes, ...calling(callee).nodes], []), { level: 'execution' })
  assert.deepEqual(
    requirementsOf(summary),
    ['approval ask unknown false', `approval ${callee}/ask unknown false`].sort(),
  )
  assert.equal(requirement(summary, 'approval', 'ask').name, 'Go on?')
  assert.equal(summary.runnable, true)
})

describe('assets', () => {
  const taking = graph(
    [node('in', 'input.Any', { name: 'x', value: 1 }), node('out', 'output.Output', { name: 'out' })],
    ['in.output->out.value'],
  )
  const given = (x: unknown) => required(taking, { inputs: { x } })

  test('are found by structured id, by URL and by key, at any depth, and exactly', async () => {
    const asset = await storedAsset(server, 'hello', { name: 'a.txt', content_type: 'text/plain' })
    const key = `/api/storage/${asset.storage_key}`
    const x = { list: [{ asset_id: asset.id }, [`asset://${asset.id}`, { uri: key }]] }
    const summary = await preflightOf(server, taking, { inputs: { x } })
    assert.deepEqual(
      requirementsOf(summary),
      [`asset ${key} available true`, `asset asset://${asset.id} available true`].sort(),
    )
    const { name, details } = requirement(summary, 'asset', key)
    assert.deepEqual([name, details], [asset.name, { content_type: 'text/plain', size: 5, expires_at: null }])
    assert.deepEqual(await given({ asset_id: 'asset_none' }), ['asset asset://asset_none missing true'])
    assert.deepEqual(await given([`${key}x`]), [`asset ${key}x missing true`])
    assert.deepEqual(await given([`${key}?signature=1#x`, key.replaceAll('/', '/')]), [`asset ${key} available true`])
    assert.deepEqual(await given(`${server.url}${key}`), [`asset ${key} available true`])
  })

  test('of other users and workspaces are missing, like those that never existed', async () => {
    for (const scope of [
      { user_id: 'other', workspace_id: null },
      { user_id: '1', workspace_id: 'other' },
    ]) {
      const asset = await storedAsset(server, 'hello', { scope })
      assert.deepEqual(await given([`asset://${asset.id}`, `/api/storage/${asset.storage_key}`]), [
        `asset /api/storage/${asset.storage_key} missing true`,
        `asset asset://${asset.id} missing true`,
      ])
    }
  })

  test('that a text mentions are reported and do not block, unless another value needs them', async () => {
    const text = 'See asset://a-1, (/api/storage/1/b.txt). Not http://far.example/api/storage/c or xasset://d'
    const of = await preflightOf(server, taking, { inputs: { x: text } })
    assert.deepEqual(requirementsOf(of), [
      'asset /api/storage/1/b.txt missing false',
      'asset asset://a-1 missing false',
    ])
    assert.equal(of.runnable, true)
    assert.deepEqual(await given([text, { asset_id: 'a-1' }]), [
      'asset /api/storage/1/b.txt missing false',
      'asset asset://a-1 missing true',
    ])
  })

  test('are found in the nodes as well, but not in a default that is not used', async () => {
    const of = graph(
      [
        node('in', 'input.Any', { name: 'x', value: { asset_id: 'standard' } }),
        node('load', 'asset.Load', { asset: 'asset://own' }),
        node('bad', 'asset.Load', { asset: 'nowhere' }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      ['in.output->out.value'],
    )
    const own = ['asset asset://own missing true', 'asset asset://standard missing true', 'asset nowhere missing true']
    assert.deepEqual(await required(of), own)
    assert.deepEqual(await required(of, { inputs: { x: 1 } }), [own[0], own[2]])
  })

  test('that are temporary uploads are available until they expire', async () => {
    let later = 0
    const system = systemPlatform()
    const platform = { ...system, now: () => system.now() + later }
    await using server = await startServer({ platform })
    const { temporary } = server.context.assets
    const me = { user_id: '1', workspace_id: null }
    const bytes = (async function* () {
      yield Buffer.from('hello')
    })()
    const file = await temporary.put(me, { name: 'a.txt', content_type: 'text/plain', bytes })
    const uri = `/api/storage/${file.storage_key}`
    const summary = await preflightOf(server, taking, { inputs: { x: uri } })
    assert.deepEqual(requirementsOf(summary), [`asset ${uri} available true`])
    assert.equal(requirement(summary, 'asset', uri).details?.expires_at, file.expires_at)
    later = Date.parse(file.expires_at) - system.now()
    const expired = await preflightOf(server, taking, { inputs: { x: uri } })
    assert.deepEqual([requirementsOf(expired), expired.runnable], [[`asset ${uri} missing true`], false])
  })

  test('up to ten thousand are looked up in bounded time, and the omission of more is reported', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `asset://none-${at}`)
    await takesLess(8_000, async () => {
      const summary = await preflightOf(server, taking, { inputs: { x: many } })
      assert.equal(summary.requirements.length, 10_000)
    })
    const more = await preflightOf(server, taking, { inputs: { x: [...many, 'asset://one-more'] } })
    assert.equal(more.requirements.length, 10_001)
    assert.equal(requirement(more, 'asset', 'others').blocking, true)
    assert.equal(more.runnable, false)
  })
})

test('a preflight at level static looks up nothing', async () => {
  const listed = priced.listed
  const workflow_id = await stored(server, chat({ model: 'priced/small', prompt: 'x' }))
  const summary = await preflight(server, { workflow_id })
  assert.deepEqual([summary.requirements, summary.cost, summary.runnable], [[], null, true])
  assert.equal(priced.listed, listed)
})
