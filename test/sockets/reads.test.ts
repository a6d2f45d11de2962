// The read commands, each answered by exactly one `rpc_response`, and `ping`.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
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

  test('wraps the list; without a limit it is whole, with one it goes on with next', async () => {
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

  test('a cursor that the server did not give is INVALID_REQUEST', async () => {
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
  test('give the record and the interface', async () => {
    await using client = await connect(bench.server)
    const workflow = await read<{ id: string; name: string; graph: { nodes: unknown[] } }>(client, 'get_workflow', {
      id,
    })
    assert.deepEqual([workflow.id, workflow.name, workflow.graph.nodes.length], [id, 'First', 3])
    const face = await read<{ workflow_id: string; inputs: Frame[] }>(client, 'get_workflow_interface', { id })
    assert.deepEqual([face.workflow_id, face.inputs.map((input) => input.name)], [id, ['name']])
  })

  test('an unknown one is WORKFLOW_NOT_FOUND, and not retryable', async () => {
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

  test('list_nodes filters and shortens', async () => {
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

  test('get_node gives one, or NOT_FOUND', async () => {
    await using client = await connect(bench.server)
    const node = await read<{ node_type: string }>(client, 'get_node', { node_type: 'text.Template' })
    assert.equal(node.node_type, 'text.Template')
    assert.equal((await failure(client, 'get_node', { node_type: 'no.Such' })).code, 'NOT_FOUND')
  })
})

describe('request ids', () => {
  test('many at once: each gets exactly one rpc_response with its own', async () => {
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
    // Answers of different commands may pass each other.
    for (const { request_id } of sent) await client.next({ request_id })
    await client.settled()
    const answers = client.frames.filter((frame) => frame.type === 'rpc_response')
    assert.deepEqual(
      answers.map(({ command, request_id }) => ({ command, request_id })).sort(byId),
      [...sent].sort(byId),
    )
  })

  test('ping answers with pong, with and without a request_id', async () => {
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
