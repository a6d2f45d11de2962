// Discovery of the lifecycle profile: capabilities, summaries, interfaces, types. HTTP and the socket give the same answers.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type {
  Capabilities,
  NodeTypeInventory,
  WorkflowInterfacesResponse,
  WorkflowSummaryPage,
} from '../../../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../../../../src/access/principal.ts'
import { parseType } from '../../../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry, createRegistry } from '../../../../src/nodes/registry.ts'
import { type Answer, call, type ErrorBody, refused } from '../../../helpers/http.ts'
import { startServer, type TestServer } from '../../../helpers/server.ts'
import { connect } from '../../../helpers/socket.ts'
import { created, edge, greeting, node } from '../../kit.ts'

let server: TestServer
const ids: string[] = []
before(async () => {
  server = await startServer()
  for (const name of ['First', 'Second', 'Third']) ids.push((await created(server, greeting({ name }))).id)
})
after(() => server[Symbol.asyncDispose]())

async function twin<T>(command: string, data?: unknown): Promise<T> {
  await using client = await connect(server)
  const frame = await client.ask(command, data)
  assert.deepEqual([frame.type, frame.command, frame.error], ['rpc_response', command, undefined])
  return frame.result as T
}

const get = async <T>(path: string): Promise<T> => {
  const { status, body, text } = await call<T>(server, 'GET', path)
  assert.equal(status, 200, text)
  return body
}

describe('getCapabilities and get_capabilities', () => {
  test('return the same, but for the time', async () => {
    const { server_time, ...told } = await get<Capabilities>('/api/sdk/v1/capabilities')
    const { server_time: later, ...twins } = await twin<Capabilities>('get_capabilities')
    assert.deepEqual(twins, told)
    assert.match(server_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.ok(later >= server_time)
    assert.deepEqual(
      [told.protocol_version, told.default_encoding, told.auth_modes],
      ['1', 'messagepack', ['trusted_local', 'bearer']],
    )
    assert.deepEqual(told.asset_uri_schemes, ['asset://', '/api/storage/', '/api/assets/packages/'])
  })

  test('return the limits of the settings', async () => {
    const config = { max_upload_bytes: 12_345, max_queued_jobs: 0, trust_localhost: false }
    await using other = await startServer({ config })
    const made = await other.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'x' })
    const headers = { Authorization: `Bearer ${made.token}` }
    const { body } = await call<Capabilities>(other, 'GET', '/api/sdk/v1/capabilities', { headers })
    assert.deepEqual([body.limits.max_upload_bytes, body.limits.max_queued_jobs], [12_345, 0])
    assert.deepEqual(body.auth_modes, ['bearer'])
  })

  test('name the profile of jobs only with the preview', async () => {
    assert.equal((await get<Capabilities>('/api/sdk/v1/capabilities')).profiles.jobs, 'unavailable')
    await using other = await startServer({ environment: { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' } })
    const { body } = await call<Capabilities>(other, 'GET', '/api/sdk/v1/capabilities')
    assert.equal(body.profiles.jobs, 'available')
  })
})

describe('listWorkflowSummaries and list_workflow_summaries', () => {
  test('page through the workflows, the last changed first', async () => {
    const first = await get<WorkflowSummaryPage>('/api/sdk/v1/workflows?limit=2')
    assert.equal(first.workflows.length, 2)
    const rest = await get<WorkflowSummaryPage>(`/api/sdk/v1/workflows?limit=2&cursor=${first.next}`)
    assert.equal(rest.next, null)
    const all = await get<WorkflowSummaryPage>('/api/sdk/v1/workflows')
    assert.deepEqual([...first.workflows, ...rest.workflows], all.workflows)
    assert.deepEqual(new Set(all.workflows.map(({ id }) => id)), new Set(ids))
    assert.deepEqual(await twin('list_workflow_summaries'), all)
    assert.deepEqual(await twin('list_workflow_summaries', { limit: 2, cursor: null }), first)
  })

  test('a revision is the etag of the interface', async () => {
    const [summary] = (await get<WorkflowSummaryPage>('/api/sdk/v1/workflows?limit=1')).workflows
    const face = await get<{ etag: string }>(`/api/workflows/${summary!.id}/interface`)
    assert.equal(summary!.revision, face.etag)
    const capabilities = await get<Capabilities>('/api/sdk/v1/capabilities')
    assert.equal(summary!.registry_revision, capabilities.registry_revision)
  })

  test('refuse invalid limits and cursors, in the error format of the profile', async () => {
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=mine', 'other=1']) {
      const paths = await refused(server, 'GET', `/api/sdk/v1/workflows?${query}`, {}, [400, 'invalid_request'])
      assert.deepEqual(paths, [`/query/${query.split('=')[0]}`])
    }
  })
})

describe('getWorkflowInterfaces and get_workflow_interfaces', () => {
  const ask = (body: unknown) => call<WorkflowInterfacesResponse>(server, 'POST', PATH, { body })
  const PATH = '/api/sdk/v1/workflow-interfaces'

  test('return readable interfaces in the requested order, and errors for the others', async () => {
    const twice = {
      name: 'Twice',
      graph: {
        nodes: [node('a', 'input.String', { name: 'x' }), node('b', 'input.String', { name: 'x' })],
        edges: [],
      },
    }
    const broken = await created(server, twice)
    const asked = [ids[2]!, 'nobody', broken.id, ids[0]!]
    const { status, body } = await ask({ ids: asked })
    assert.equal(status, 200)
    assert.deepEqual(
      body.interfaces.map(({ workflow_id }) => workflow_id),
      [ids[2], ids[0]],
    )
    assert.deepEqual(
      body.errors.map(({ workflow_id, code }) => [workflow_id, code]),
      [
        ['nobody', 'workflow_not_found'],
        [broken.id, 'invalid_graph'],
      ],
    )
    assert.deepEqual(await twin('get_workflow_interfaces', { ids: asked, version: 1 }), body)
    assert.deepEqual(body.interfaces[1], await get(`/api/workflows/${ids[0]}/interface?version=1`))
  })

  test('are refused on a socket if the graphs have more than 32 MiB together, and come one by one over HTTP', async () => {
    const note = 'x'.repeat(11 * 1024 * 1024)
    const large: string[] = []
    for (const name of ['L1', 'L2', 'L3']) {
      const graph = { nodes: [node('a', 'input.String', { name: 'x', note })], edges: [] }
      large.push((await created(server, { name, graph })).id)
    }
    const ofIds = (interfaces: WorkflowInterfacesResponse) =>
      interfaces.interfaces.map(({ workflow_id }) => workflow_id)
    const told = await twin<WorkflowInterfacesResponse>('get_workflow_interfaces', { ids: large.slice(1) })
    assert.deepEqual(ofIds(told), large.slice(1))
    assert.deepEqual(ofIds((await ask({ ids: large })).body), large)
    await using client = await connect(server)
    const { error } = (await client.ask('get_workflow_interfaces', { ids: large })) as { error?: ErrorBody['error'] }
    const message = 'names workflows whose interfaces are too large for one frame: ask for fewer at a time'
    assert.deepEqual([error?.code, error?.problems], ['INVALID_REQUEST', [{ path: '/data/ids', message }]])
  })

  test('accept a hundred distinct ids', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `wf_${index}`)
    assert.equal((await ask({ ids: many.slice(1) })).body.errors.length, 100)
    const bodies = [{ ids: many }, { ids: [] }, { ids: ['a', 'a'] }, { ids: ['a'], version: 2 }, {}, { ids: 'a' }]
    for (const body of bodies) await refused(server, 'POST', PATH, { body }, [400, 'invalid_request'])
    await refused(server, 'POST', PATH, { body: { ids: ['a'], more: 1 } }, [400, 'invalid_request'])
  })
})

describe('listNodeTypes and get_node_type_inventory', () => {
  const read = (query: string) => get<NodeTypeInventory>(`/api/sdk/v1/node-types${query}`)

  test('list every type of every pin once, on pages', async () => {
    const pages: NodeTypeInventory[] = []
    for (let cursor: number | null = 0; cursor !== null; cursor = pages.at(-1)!.next_cursor)
      pages.push(await read(`?limit=7&cursor=${cursor}`))
    const types = pages.flatMap((page) => page.types)
    assert.equal(types.length, pages[0]!.type_count)
    const signatures = types.map(({ signature }) => signature)
    assert.deepEqual(signatures, [...new Set(signatures)].sort())
    const pins = builtinRegistry.all().flatMap(({ properties, outputs }) => [...properties, ...outputs])
    assert.equal(
      types.reduce((sum, { input_uses, output_uses }) => sum + input_uses + output_uses, 0),
      pins.length,
    )
    assert.deepEqual(await twin('get_node_type_inventory', { limit: 7, cursor: 0 }), pages[0])
  })

  test('return an empty page for a cursor after the last type', async () => {
    const { types, next_cursor, cursor } = await read('?cursor=9007199254740991')
    assert.deepEqual([types, next_cursor, cursor], [[], null, Number.MAX_SAFE_INTEGER])
    for (const query of ['?cursor=-1', '?limit=101', '?cursor=1.5', '?cursor=9007199254740992'])
      await refused(server, 'GET', `/api/sdk/v1/node-types${query}`, {}, [400, 'invalid_request'])
  })

  test('return the same revision for the same registry only', async () => {
    const more = { node_type: 'test.Own', title: 'Own', description: 'Own.', properties: [], outputs: [] }
    const registries = [
      createRegistry([...builtinRegistry.all()].reverse()),
      createRegistry([
        ...builtinRegistry.all(),
        { ...more, outputs: [{ name: 'x', type: parseType('image') }], run: () => ({}) },
      ]),
    ]
    const revisions = [(await read('')).registry_revision]
    for (const registry of registries) {
      await using other = await startServer({ registry })
      const { body } = await call<NodeTypeInventory>(other, 'GET', '/api/sdk/v1/node-types')
      revisions.push(body.registry_revision)
    }
    assert.equal(revisions[1], revisions[0])
    assert.notEqual(revisions[2], revisions[0])
  })
})

describe('the switch of the lifecycle profile', () => {
  test('disables the operations of the profile with SDK_LIFECYCLE_DISABLED, but not discovery', async () => {
    await using off = await startServer({ environment: { SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
    const { status, body } = await call<ErrorBody & { code: string }>(off, 'GET', '/api/sdk/v1/capabilities')
    assert.deepEqual([status, body.code, body.error.type], [503, 'SDK_LIFECYCLE_DISABLED', 'sdk_lifecycle_disabled'])
    for (const path of ['/api/sdk/v1/workflows', '/api/sdk/v1/node-types', '/api/workflows', '/api/jobs'])
      assert.equal((await call(off, 'GET', path)).status, 200, path)
    await using client = await connect(off)
    const frame = await client.ask('get_capabilities')
    assert.equal((frame.error as { code: string }).code, 'SDK_LIFECYCLE_DISABLED')
    const list = await client.ask('list_workflow_summaries')
    assert.deepEqual((list.result as WorkflowSummaryPage).workflows, [])
    const { body: config } = await call<{ features: Record<string, boolean> }>(off, 'GET', '/api/config')
    assert.deepEqual([config.features.sdk_lifecycle, config.features.sdk_lifecycle_preview], [false, false])
  })

  test('is checked after authentication, path and method', async () => {
    const environment = { SVC_DISABLE_SDK_LIFECYCLE_V1: '1', SVC_TRUST_LOCALHOST: 'false' }
    await using off = await startServer({ environment })
    const made = await off.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'x' })
    const headers = { Authorization: `Bearer ${made.token}` }
    const statuses: number[] = []
    const asks: [string, object][] = [
      ['GET', {}],
      ['PUT', { headers }],
      ['GET', { headers }],
    ]
    for (const [method, options] of asks) {
      const answer: Answer = await call(off, method, '/api/sdk/v1/capabilities', options)
      statuses.push(answer.status)
    }
    assert.deepEqual(statuses, [401, 405, 503])
  })
})

test('the interface of a graph with a cycle of edges has diagnostics', async () => {
  const graph = {
    nodes: [node('a', 'text.Concat', { a: 'x' }), node('b', 'text.Concat', { a: 'y' })],
    edges: [edge('a.output', 'b.b'), edge('b.output', 'a.b')],
  }
  const { id } = await created(server, { name: 'Loop', graph })
  const { body } = await call<WorkflowInterfacesResponse>(server, 'POST', '/api/sdk/v1/workflow-interfaces', {
    body: { ids: [id] },
  })
  assert.deepEqual(
    body.interfaces[0]!.diagnostics.map(({ code }) => code),
    ['illegal_cycle'],
  )
})
