// The read commands, each answered by exactly one `rpc_response`; and `ping`.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Asset } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { fieldsForm } from '../http/uploads-kit.ts'
import { type Bench, greeting, startBench, stored } from './kit.ts'

let bench: Bench
let id: string
before(async () => {
  bench = await startBench()
  id = await stored(bench.server, greeting, 'First')
  for (const name of ['Second', 'Third']) await stored(bench.server, greeting, name)
})
after(() => bench[Symbol.asyncDispose]())

async function read<T>(client: Client, command: string, data?: unknown): Promise<T> {
  const frame = await client.ask(command, data)
  assert.deepEqual([frame.type, frame.command, frame.error], ['rpc_response', command, undefined])
  return frame.result as T
}

async function failure(client: Client, command: string, data: unknown): Promise<Record<string, unknown>> {
  const frame = await client.ask(command, data)
  assert.deepEqual([frame.type, frame.command, frame.result], ['rpc_response', command, undefined])
  return frame.error as Record<string, unknown>
}

describe('list_workflows', () => {
  type Page = { workflows: { id: string; name: string; graph?: unknown }[]; next: string | null }

  test('wraps the list, which is complete without a limit, and has `next` with a limit', async () => {
    await using client = await connect(bench.server)
    const all = await read<Page>(client, 'list_workflows', {})
    assert.equal(all.workflows.length, 3)
    assert.equal(all.next, null)
    assert.ok(all.workflows.every((workflow) => workflow.graph === undefined))
    const first = await read<Page>(client, 'list_workflows', { limit: 2, cursor: null })
    const rest = await read<Page>(client, 'list_workflows', { limit: 2, cursor: first.next })
    assert.deepEqual([...first.workflows, ...rest.workflows], all.workflows)
    assert.equal(rest.next, null)
    assert.deepEqual((await read<Page>(client, 'list_workflows', { q: 'second' })).workflows.length, 1)
    assert.deepEqual((await read<Page>(client, 'list_workflows')).workflows.length, 3)
  })

  test('refuses a cursor that the server did not issue with INVALID_REQUEST', async () => {
    await using client = await connect(bench.server)
    for (const command of ['list_workflows', 'list_workflow_summaries']) {
      const { code, problems } = await failure(client, command, { cursor: 'mine', limit: 1 })
      assert.equal(code, 'INVALID_REQUEST')
      assert.deepEqual(
        (problems as { path: string }[]).map(({ path }) => path),
        ['/data/cursor'],
      )
    }
  })
})

describe('get_workflow and get_workflow_interface', () => {
  test('return the record and the interface', async () => {
    await using client = await connect(bench.server)
    const workflow = await read<{ id: string; name: string; graph: { nodes: unknown[] } }>(client, 'get_workflow', {
      id,
    })
    assert.deepEqual([workflow.id, workflow.name, workflow.graph.nodes.length], [id, 'First', 3])
    const face = await read<{ workflow_id: string; inputs: Frame[] }>(client, 'get_workflow_interface', { id })
    assert.deepEqual([face.workflow_id, face.inputs.map((input) => input.name)], [id, ['name']])
  })

  test('refuse an unknown workflow with WORKFLOW_NOT_FOUND, not retryable', async () => {
    await using client = await connect(bench.server)
    for (const command of ['get_workflow', 'get_workflow_interface']) {
      const error = await failure(client, command, { id: 'nowhere' })
      const { code, apiCode, retryable } = error
      assert.deepEqual(
        { code, apiCode, retryable },
        {
          code: 'WORKFLOW_NOT_FOUND',
          apiCode: 'WORKFLOW_NOT_FOUND',
          retryable: false,
        },
      )
    }
  })
})

describe('list_nodes and get_node', () => {
  type Nodes = { nodes: { node_type: string; properties?: unknown }[] }

  test('list_nodes filters types and returns summaries', async () => {
    await using client = await connect(bench.server)
    const all = await read<Nodes>(client, 'list_nodes')
    assert.ok(all.nodes.length >= 25)
    const text = await read<Nodes>(client, 'list_nodes', { namespace: 'text' })
    assert.ok(text.nodes.length > 1 && text.nodes.every((node) => node.node_type.startsWith('text.')))
    const short = await read<Nodes>(client, 'list_nodes', { namespace: 'text', fields: 'summary' })
    assert.deepEqual(
      short.nodes.map((node) => node.node_type),
      text.nodes.map((node) => node.node_type),
    )
    assert.ok(short.nodes.every((node) => node.properties === undefined))
    assert.deepEqual(await read<Nodes>(client, 'list_nodes', { q: 'nothing has this name' }), { nodes: [] })
  })

  test('get_node returns a type, or NOT_FOUND', async () => {
    await using client = await connect(bench.server)
    const node = await read<{ node_type: string }>(client, 'get_node', { node_type: 'text.Template' })
    assert.equal(node.node_type, 'text.Template')
    assert.equal((await failure(client, 'get_node', { node_type: 'no.Such' })).code, 'NOT_FOUND')
  })
})

describe('list_assets and get_asset', () => {
  type Page = { assets: Asset[]; next: string | null }
  const made: Asset[] = []
  const folder = () => made[0]!

  before(async () => {
    const make = async (fields: Record<string, string>, file?: { content: string }) => {
      const { body } = await call<Asset>(bench.server, 'POST', '/api/assets', fieldsForm(fields, file))
      made.push(body)
    }
    await make({ name: 'Trip', content_type: 'folder' })
    for (const name of ['sea.txt', 'sea shells.csv']) await make({ name, parent_id: folder().id }, { content: name })
    await make({ name: 'sea.json', content_type: 'application/json' }, { content: '{}' })
  })

  test('answer as over HTTP, with the same filters, a page at a time', async () => {
    await using client = await connect(bench.server)
    const cases: Record<string, string>[] = [
      {},
      { parent_id: 'root' },
      { parent_id: folder().id, q: 'SHELLS' },
      { content_type: 'text', page_size: '1' },
      { page_size: '0' },
      { page_size: '100000' },
      { workflow_id: 'of_nobody' },
      { job_id: 'of_nobody' },
    ]
    for (const query of cases) {
      const { page_size, ...rest } = query
      const data = { ...rest, ...(page_size ? { page_size: Number(page_size) } : {}) }
      const page = await read<Page>(client, 'list_assets', data)
      const twin = await call<Page>(bench.server, 'GET', `/api/assets?${new URLSearchParams(query)}`)
      assert.deepEqual(page.assets, twin.body.assets, JSON.stringify(query))
      assert.equal(page.next === null, twin.body.next === null)
      const next = page.next === null ? null : await read<Page>(client, 'list_assets', { ...data, cursor: page.next })
      assert.notEqual(next?.assets[0]?.id, page.assets[0]?.id ?? null)
    }
    const newest = made.toReversed().map(({ id }) => id)
    assert.deepEqual(
      (await read<Page>(client, 'list_assets')).assets.map(({ id }) => id),
      newest,
    )
    const all = { q: null, parent_id: null, content_type: null, page_size: null, cursor: null }
    assert.equal((await read<Page>(client, 'list_assets', all)).assets.length, 4)
  })

  test('get_asset returns the record, and on request a URL that expires', async () => {
    await using client = await connect(bench.server)
    for (const asset of made) assert.deepEqual(await read(client, 'get_asset', { id: asset.id }), asset)
    const { download_url } = await read<Asset>(client, 'get_asset', { id: made[1]!.id, expires_in: 60 })
    assert.equal((await call(bench.server, 'GET', download_url!)).text, 'sea.txt')
  })

  test('refuse an unknown asset with NOT_FOUND, and a cursor of another list with INVALID_REQUEST', async () => {
    await using client = await connect(bench.server)
    assert.equal((await failure(client, 'get_asset', { id: 'asset_nowhere' })).code, 'NOT_FOUND')
    const { next } = await read<Page>(client, 'list_assets', { page_size: 1 })
    for (const data of [{ cursor: next, q: 'sea' }, { cursor: 'mine' }]) {
      const { code, problems } = await failure(client, 'list_assets', data)
      assert.equal(code, 'INVALID_REQUEST')
      assert.deepEqual(
        (problems as { path: string }[]).map(({ path }) => path),
        ['/data/cursor'],
      )
    }
  })
})

describe('request ids', () => {
  test('of many concurrent commands each get exactly one rpc_response', async () => {
    await using client = await connect(bench.server)
    const commands = ['list_workflows', 'list_nodes', 'get_workflow', 'get_node', 'get_workflow_interface'] as const
    const sent = Array.from({ length: 60 }, (_, at) => ({ command: commands[at % 5]!, request_id: `many-${at}` }))
    for (const { command, request_id } of sent) {
      client.command(
        command,
        command === 'get_node' ? { node_type: 'x.Y' } : { ...(command.startsWith('get') && { id }) },
        request_id,
      )
    }
    // Answers of different commands may overtake each other.
    for (const { request_id } of sent) await client.next({ request_id })
    await client.settled()
    const answers = client.frames.filter((frame) => frame.type === 'rpc_response')
    assert.deepEqual(
      answers.map(({ command, request_id }) => ({ command, request_id })).sort(byId),
      [...sent].sort(byId),
    )
  })

  test('are optional for ping, which is answered with pong', async () => {
    await using client = await connect(bench.server)
    client.command('ping')
    const pong = await client.next({ type: 'pong' })
    assert.ok(Math.abs(Number(pong.ts) - Date.now()) < 10_000)
    client.command('ping', null, null)
    assert.equal((await client.next({ type: 'pong' })).request_id, undefined)
    client.command('ping', {}, 'x'.repeat(128))
    await client.next({ type: 'pong', request_id: 'x'.repeat(128) })
  })
})

function byId(a: { request_id?: string | undefined }, b: { request_id?: string | undefined }): number {
  return String(a.request_id).localeCompare(String(b.request_id))
}
