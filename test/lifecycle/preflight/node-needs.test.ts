// Tests that a preflight asks for the needs of nodes in short steps, no more often than it has to, and keeps a limited number of them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PlanInput } from '../../../src/engine/compile/compiler.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../../src/engine/node-api/values/type-metadata.ts'
import { AbortableTimeSlices } from '../../../src/lifecycle/preflight/abortable-time-slices.ts'
import { AssetReferences } from '../../../src/lifecycle/preflight/asset-references.ts'
import type { WorkflowUnit } from '../../../src/lifecycle/preflight/call-graph.ts'
import { listPrompts, NeedsCollector } from '../../../src/lifecycle/preflight/node-needs.ts'
import type { NodeView } from '../../../src/lifecycle/preflight/node-views.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { runToCompletion, TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { graph, node } from '../../engine/kit.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { needsOf } from '../../nodes/chat-kit.ts'
import { issuesOf, preflightOf } from '../preflight-kit.ts'

const chat = builtinRegistry.get('chat.Complete')!
const PROMPT: PlanInput = {
  node_id: 'in',
  name: 'p',
  description: '',
  type: ANY_TYPE,
  required: true,
  default: null,
  stream: false,
}

/** A chat node with its own prompt, or with one that an input of its workflow feeds. */
function viewOf(id: string, type: NodeType, prompt: string | null): NodeView {
  const data = { system: '', messages: [], images: ['asset://a'], model: 'm/n', max_output_tokens: null, prompt }
  const fed = prompt === null ? ['prompt'] : []
  const runInputs = new Map(fed.map((name) => [name, PROMPT]))
  return { id, node_type: type.node_type, type, data, connected: new Set(fed), runInputs, firings: 'once' }
}

function unitOf(views: readonly NodeView[], given: unknown): WorkflowUnit {
  const graphFacts = { calls: new Map(), tools: new Map(), height: 0, recursive: false, cycle: [] }
  return { workflow_id: 'wf', views, given: () => given, covered: new Set(), ...graphFacts }
}

async function collected(units: readonly WorkflowUnit[], most?: number) {
  const turns = new AbortableTimeSlices(new TimeSliceScheduler(), 'one', AbortSignal.timeout(60_000))
  const references = new AssetReferences('', turns)
  const collector = new NeedsCollector(references, turns, most)
  await collector.collect({ root: units[0]!, units })
  return { collector, references }
}

describe('the needs of nodes', () => {
  test('are listed for each of two workflows with equal graphs', async () => {
    const views = [viewOf('ask', builtinRegistry.get('human.Approval')!, 'x')]
    const units = ['root', 'b', 'c'].map((workflow_id) => ({ ...unitOf(views, null), workflow_id }))
    const { collector } = await collected(units)
    assert.deepEqual(
      collector.nodes.map(({ qualified_id }) => qualified_id),
      ['ask', 'b/ask', 'c/ask'],
    )
  })

  test('are asked for once, and again for each way to call the workflow only where its inputs decide on them', async () => {
    const asked: string[] = []
    const type: NodeType = {
      ...chat,
      needs(facts) {
        asked.push(`${facts.data.prompt}`)
        return chat.needs!(facts)
      },
    }
    const views = [viewOf('own', type, 'x'), viewOf('fed', type, null)]
    const { collector, references } = await collected(['a', 'b', 'c'].map((given) => unitOf(views, given)))
    assert.deepEqual(asked, ['x', 'null', 'a', 'b', 'c'])
    assert.deepEqual(
      collector.nodes.map(({ qualified_id, unit }) => `${qualified_id} ${unit.given(PROMPT)}`),
      ['own a', 'fed a', 'wf/fed b', 'wf/fed c'],
    )
    assert.deepEqual([...references.found.keys()], ['asset://a'])
  })

  test('are kept without assets and prompts, which are read again when they are counted', async () => {
    const views = [
      viewOf(
        'fed',
        { ...chat, needs: (facts) => chat.needs!({ ...facts, data: { ...facts.data, images: [] } }) },
        null,
      ),
    ]
    const { collector } = await collected([unitOf(views, 'a long prompt')])
    const [{ needs }] = collector.nodes as [(typeof collector.nodes)[0]]
    assert.deepEqual(needs, [{ kind: 'model', model: 'm/n', task: 'chat', max_output_tokens: null }])
    assert.deepEqual(listPrompts(collector.nodes[0]!), [['a long prompt']])
  })

  test('are collected up to a limit, which counts assets as well', async () => {
    const views = Array.from({ length: 10 }, (_, at) => viewOf(`n${at}`, chat, 'x'))
    const of = async (most: number) => {
      const { collector } = await collected([unitOf(views, null)], most)
      return [collector.isComplete, collector.nodes.length]
    }
    assert.deepEqual(
      [await of(20), await of(19)],
      [
        [true, 10],
        [false, 9],
      ],
    )
  })

  test('do not read invalid labels, and list no more pictures than a preflight looks up', () => {
    let read = 0
    const labels = new Proxy(Array<string>(1_000).fill('a'), {
      get(of, name, receiver) {
        read++
        return Reflect.get(of, name, receiver) as unknown
      },
    })
    const [need] = needsOf('chat.Classify', { model: 'm/n', text: 'a', labels })
    assert.ok(need?.kind === 'model' && need.prompt === null)
    assert.ok(read < 10, `${read} reads`)
    const images = Array<string>(100_000).fill('/api/storage/%41')
    assert.equal(needsOf('chat.Complete', { model: 'm/n', prompt: 'x', images }).length, 1 + 10_001)
  })
})

describe('the secrets that a request names', () => {
  const namesSteps = (body: unknown) =>
    builtinRegistry.get('http.Request')!.secretNamesSteps!({
      node_id: 'a',
      data: { url: '{{secret:url}}', body },
      isConnected: () => false,
    })

  test('are found in keys and values at any depth', () => {
    let body: unknown = { '{{secret:key}}': ['{{ secret:value }} {{secret:url}}', 1, null, new Uint8Array(9)] }
    for (let depth = 0; depth < 10_000; depth++) body = [body]
    assert.deepEqual(runToCompletion(namesSteps(body)), ['url', 'key', 'value'])
  })

  test('are looked for in steps, none of which takes most of the time', () => {
    const steps = namesSteps(Array(1_000_000).fill({}))
    let [longest, total] = [0, 0]
    for (let done = false; !done; ) {
      const before = process.threadCpuUsage()
      done = steps.next().done === true
      const { user, system } = process.threadCpuUsage(before)
      longest = Math.max(longest, user + system)
      total += user + system
    }
    assert.ok(longest < 0.4 * total, `${longest} of ${total} µs`)
  })
})

describe('a preflight', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ providers: [pricedProvider({ models: { small: dollars(0, 0, 1) } })] })
  })
  after(() => server[Symbol.asyncDispose]())

  test('of workflows with very many needs says that it did not check them all, and that their cost is unknown', async () => {
    const data = { model: 'priced/small', prompt: 'x', images: Array(10_001).fill('asset://a') }
    const nodes = Array.from({ length: 25 }, (_, at) => ({ ...node('ask', 'chat.Complete', data), id: `n${at}` }))
    const summary = await preflightOf(server, graph(nodes, []))
    assert.deepEqual([issuesOf(summary), summary.runnable], [['error more_requirements - -'], false])
    assert.match(summary.issues[0]!.message, /^The run has more than 200000 requirements/)
    assert.deepEqual([summary.cost?.confidence, summary.cost?.amount], ['partial', 19])
    assert.equal(summary.cost?.unknown_cost_nodes.length, 6)
  })
})
