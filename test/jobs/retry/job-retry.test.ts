// Retries where finished firings are downstream of continued streams, restarted streams, or called workflows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph, GraphNode } from '../../../src/engine/compile/graph.ts'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import type { ServiceError } from '../../../src/errors.ts'
import { listJobs } from '../../../src/jobs/queries.ts'
import { graph, item, node, output, sink, source, testType, value } from '../../engine/kit.ts'
import { coded, ended, type GatedServer, OWNER, outputs, startGated, submit } from '../kit.ts'

/** Nodes whose results change between a job and its retry. */
class World {
  /** The items of the lists, and whether the lists fail after them. */
  items = ['a', 'b']
  cut = true
  /** The inputs of each run of a node, by node id. */
  readonly ran: Record<string, unknown[]> = {}

  get types(): NodeType[] {
    const list = (type: string, repeats: boolean): NodeType => {
      const streams = () => this.#list()
      return testType(type, { properties: [value], outputs: [item], repeats, run: () => streams() })
    }
    const work = (type: string, more: Partial<NodeType>): NodeType =>
      testType(type, {
        properties: [value],
        outputs: [output],
        run: async (inputs, { node_id }) => {
          this.ran[node_id] = [...(this.ran[node_id] ?? []), inputs.value]
          await new Promise((resolve) => setImmediate(resolve))
          return { output: inputs.value }
        },
        ...more,
      })
    return [
      list('test.List', true),
      list('test.News', false),
      work('test.Pay', { retry_safe: false }),
      work('test.Mark', {}),
      work('test.Fail', { run: () => Promise.reject(new NodeError('It fails.')) }),
    ]
  }

  /** The list fails once its items have been processed. */
  async *#list() {
    const given = [...this.items]
    for (const one of given) yield { item: one }
    if (!this.cut) return
    for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
    throw new NodeError('The rest is gone.')
  }
}

/** A job that has failed. */
async function failed(server: GatedServer, of: Graph): Promise<string> {
  const job = submit(server, { graph: of })
  await job.settled()
  assert.equal(job.row.status, 'failed')
  return job.row.id
}

async function retried(server: GatedServer, id: string) {
  const { row } = await server.context.runs.jobs.retry(OWNER, id)
  return ended(server, row.id)
}

async function jobs({ context }: GatedServer): Promise<string> {
  let text = ''
  for await (const part of listJobs(context.runs, OWNER, {}).text) text += part
  return text
}

/** The message of a refused retry, which makes no job. */
async function refusal(server: GatedServer, id: string): Promise<string> {
  const before = await jobs(server)
  const error = await server.context.runs.jobs.retry(OWNER, id).then(
    () => assert.fail('it was retried'),
    (reason: ServiceError) => reason,
  )
  coded('CONFLICT')(error)
  assert.equal(await jobs(server), before)
  return error.publicMessage
}

const errorOf = (row: { error: string | null }) => JSON.parse(row.error ?? 'null') as { type: string; node_id: string }

/** `in -> list -> work -> out`, and `in -> beside`. */
const listed = (list: string, work: string) =>
  graph(
    [source('in', 'x'), node('list', list), node('work', work), sink('out'), node('beside', 'test.Pay'), sink('other')],
    [
      'in.output->list.value',
      'list.item->work.value',
      'work.output->out.value',
      'in.output->beside.value',
      'beside.output->other.value',
    ],
  )

describe('a retry of a stream that was cut', () => {
  test('continues a stream that comes the same again', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const id = await failed(server, listed('test.List', 'test.Pay'))
    Object.assign(world, { items: ['a', 'b', 'c'], cut: false })
    const row = await retried(server, id)
    assert.deepEqual(outputs(row), { out: ['a', 'b', 'c'], other: 'x' })
    assert.deepEqual(world.ran, { work: ['a', 'b', 'c'], beside: ['x'] })
  })

  test('fails where the stream comes differently, and processes no earlier item again', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const id = await failed(server, listed('test.List', 'test.Pay'))
    Object.assign(world, { items: ['z', 'a', 'b'], cut: false })
    const row = await retried(server, id)
    assert.deepEqual([row.status, errorOf(row).type, errorOf(row).node_id], ['failed', 'node_interrupted', 'list'])
    assert.deepEqual(world.ran, { work: ['a', 'b'], beside: ['x'] })
  })

  test('restarts any other stream with its downstream firings, and nothing else', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const id = await failed(server, listed('test.News', 'test.Mark'))
    Object.assign(world, { items: ['z', 'a', 'b'], cut: false })
    const row = await retried(server, id)
    assert.deepEqual(outputs(row), { out: ['z', 'a', 'b'], other: 'x' })
    assert.deepEqual(world.ran, { work: ['a', 'b', 'z', 'a', 'b'], beside: ['x'] })
  })

  test('is refused where a firing downstream of a restarted stream must not run twice', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const id = await failed(server, listed('test.News', 'test.Pay'))
    assert.match(await refusal(server, id), /^Node "work" has run and must not run twice, .* can be run anew\.$/)
    assert.deepEqual(world.ran, { work: ['a', 'b'], beside: ['x'] })
  })
})

/** A workflow whose input leads through the given nodes to its output, each in the `value` of the next. */
async function workflow({ context }: GatedServer, ...nodes: GraphNode[]): Promise<string> {
  const { record } = await context.runs.workflows.create(OWNER, { name: 'called', graph: chain(...nodes) as never })
  return record.id
}

/** Gives a workflow other nodes. */
async function changed({ context }: GatedServer, id: string, ...nodes: GraphNode[]): Promise<void> {
  await context.runs.workflows.update(OWNER, id, { name: 'called', graph: chain(...nodes) as never }, null)
}

function chain(...nodes: GraphNode[]): Graph {
  const all = [source('in', 'x'), ...nodes, sink('out')]
  const outOf = ({ type }: GraphNode) => (type === 'test.News' || type === 'test.List' ? 'item' : 'output')
  const edges = all.slice(1).map((one, at) => `${all[at]!.id}.${outOf(all[at]!)}->${one.id}.value`)
  return graph(all, edges)
}

/** Calls a workflow and hands its output on to `after`. */
const calling = (workflow_id: string, ...after: GraphNode[]) =>
  graph(
    [node('call', 'workflow.Call', { workflow_id }, { dynamic_outputs: { out: { type: 'any' } } as never }), ...after],
    after.map((one, at) => `${at === 0 ? 'call.out' : `${after[at - 1]!.id}.output`}->${one.id}.value`),
  )

describe('a retry of a job that calls workflows', () => {
  test('restarts a stream that was cut inside of a call, and reuses nothing of that call', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(
      server,
      node('before', 'test.Mark'),
      node('list', 'test.News'),
      node('work', 'test.Mark'),
    )
    const id = await failed(server, calling(called, sink('out')))
    Object.assign(world, { items: ['z', 'a'], cut: false })
    assert.deepEqual(outputs(await retried(server, id)), { out: ['z', 'a'] })
    assert.deepEqual(world.ran, { before: ['x', 'x'], work: ['a', 'b', 'z', 'a'] })
  })

  test('continues a stream that comes the same again', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('list', 'test.List'), node('work', 'test.Pay'))
    const id = await failed(server, calling(called, sink('out')))
    Object.assign(world, { items: ['a', 'b', 'c'], cut: false })
    assert.deepEqual(outputs(await retried(server, id)), { out: ['a', 'b', 'c'] })
    assert.deepEqual(world.ran, { work: ['a', 'b', 'c'] })
  })

  test('is refused where a finished firing of the call must not run twice', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('pay', 'test.Pay'), node('list', 'test.News'))
    const id = await failed(server, calling(called, sink('out')))
    assert.match(await refusal(server, id), /^Node "pay" of the workflow that node "call" calls has run/)
  })

  test('does not repeat calls that had ended', async () => {
    const world = new World()
    world.cut = false
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('pay', 'test.Pay'), node('list', 'test.News'))
    const id = await failed(server, calling(called, node('late', 'test.Pay'), node('fail', 'test.Fail'), sink('out')))
    assert.equal((await retried(server, id)).status, 'failed')
    assert.deepEqual(world.ran, { pay: ['x'], late: [['a', 'b']] })
  })

  test('calls a changed workflow in its current form, and continues calls of unchanged ones', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('mark', 'test.Mark'), node('work', 'test.Fail'))
    const other = await workflow(server, node('pay', 'test.Pay'), node('list', 'test.List'))
    const both = (id: string) => calling(id, sink('out'))
    const one = await failed(server, both(called))
    const two = await failed(server, both(other))
    await changed(server, called, node('mark', 'test.Mark'), node('work', 'test.Mark'))
    assert.deepEqual(outputs(await retried(server, one)), { out: 'x' })
    world.cut = false
    assert.deepEqual(outputs(await retried(server, two)), { out: ['a', 'b'] })
    assert.deepEqual(world.ran, { mark: ['x', 'x'], work: ['x'], pay: ['x'] })
  })

  test('is refused where a changed workflow was running and a firing of it must not run twice', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('pay', 'test.Pay'), node('work', 'test.Fail'))
    const first = await failed(server, calling(called, sink('out')))
    const again = await retried(server, first)
    assert.deepEqual([again.status, world.ran], ['failed', { pay: ['x'] }])
    await changed(server, called, node('pay', 'test.Pay'), node('work', 'test.Mark'))
    for (const id of [first, again.id]) {
      assert.match(await refusal(server, id), /^Node "pay" of the workflow that node "call" calls has run/)
    }
    assert.deepEqual(world.ran, { pay: ['x'] })
  })

  test('reuses the result of a changed workflow where its call had ended', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('pay', 'test.Pay'))
    const id = await failed(server, calling(called, node('late', 'test.Pay'), node('fail', 'test.Fail'), sink('out')))
    await changed(server, called, node('mark', 'test.Mark'))
    assert.equal(errorOf(await retried(server, id)).node_id, 'fail')
    assert.deepEqual(world.ran, { pay: ['x'], late: ['x'] })
  })

  test('fails where a workflow that was running no longer exists', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const called = await workflow(server, node('work', 'test.Fail'))
    const id = await failed(server, calling(called, sink('out')))
    await server.context.runs.workflows.delete(OWNER, called, null)
    const row = await retried(server, id)
    assert.deepEqual([row.status, errorOf(row).node_id], ['failed', 'call'])
    assert.match(row.error!, /does not exist/)
  })
})
