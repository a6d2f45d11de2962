// Tests how a preflight explores called workflows: what each call passes, what follows from it, cycles, and limits.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import { AbortableTimeSlices } from '../../../src/lifecycle/preflight/abortable-time-slices.ts'
import { exploreCalls } from '../../../src/lifecycle/preflight/call-explorer.ts'
import { preflightFailedError } from '../../../src/lifecycle/preflight/failed-error.ts'
import { IssueCollector } from '../../../src/lifecycle/preflight/issues.ts'
import { buildNodeViewsSteps } from '../../../src/lifecycle/preflight/node-views.ts'
import { runToCompletion, TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { graph, node } from '../../engine/kit.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { stored } from '../../sockets/kit.ts'
import { calling, chat, issuesOf, preflight, preflightOf, requirement, requirementsOf } from '../preflight-kit.ts'

const ME = { user_id: '1', workspace_id: null }

let server: TestServer
before(async () => {
  server = await startServer({ providers: [pricedProvider({ models: { small: dollars(0, 0, 1) } })] })
})
after(() => server[Symbol.asyncDispose]())

const call = (id: string, workflow_id: string, passed: Record<string, unknown> = {}) => ({
  ...calling(workflow_id, passed).nodes[0]!,
  id,
})
const input = (name: string, value?: unknown, type = 'String') =>
  node(`in ${name}`, `input.${type}`, { name, ...(value === undefined ? {} : { value }) })

/** A workflow that calls the workflow named by its input. */
const chosen = (value: string) =>
  graph([input('target', value), node('call', 'workflow.Call')], ['in target.output->call.workflow_id'])

/** A call of the model that its input names, and of the asset that another input names. */
const taking: Graph = graph(
  [
    input('model', 'priced/small'),
    input('file', 'asset://standard', 'Any'),
    node('ask', 'chat.Complete', { prompt: 'x' }),
    node('load', 'asset.Load'),
  ],
  ['in model.output->ask.model', 'in file.output->load.asset'],
)

describe('the argument of a called workflow', () => {
  test("is what its call passes, whatever is given to the run's own node of the same id", async () => {
    const leaf = await stored(server, graph([], []))
    const middle = await stored(server, chosen(leaf))
    const of = graph(
      [input('target'), node('out', 'output.Output', { name: 'out' }), call('call', middle)],
      ['in target.output->out.value'],
    )
    const summary = await preflightOf(server, of, { inputs: { target: 'wf_none' } })
    assert.deepEqual([issuesOf(summary), summary.runnable], [[], true])
  })

  test('is its own default if nothing is passed', async () => {
    const summary = await preflightOf(server, calling(await stored(server, taking)))
    assert.deepEqual(requirementsOf(summary), [
      'asset asset://standard missing true',
      'model priced/small available true',
      'provider priced available true',
    ])
    assert.deepEqual([summary.cost?.amount, summary.cost?.unknown_cost_nodes], [1, []])
    const through = await stored(server, chosen('wf_none'))
    assert.deepEqual(issuesOf(await preflightOf(server, calling(through))), [
      'error called_workflow_not_found call workflow_id',
    ])
  })

  test('is reported for each way in which it is called', async () => {
    const callee = await stored(server, taking)
    const own = { model: 'nobody/x', file: 'asset://own' }
    const one = await preflightOf(server, graph([call('a', callee, own)], []))
    assert.deepEqual(requirementsOf(one), [
      'asset asset://own missing true',
      'model nobody/x missing true',
      'provider nobody missing true',
    ])
    const both = await preflightOf(server, graph([call('a', callee, own), call('b', callee)], []))
    assert.equal(both.requirements.length, 6)
    assert.deepEqual(both.cost?.unknown_cost_nodes, ['a'])
    assert.equal(both.cost?.amount, 1)
  })

  test('may come through inputs of the run and of workflows in between', async () => {
    const callee = await stored(server, taking)
    const middle = await stored(
      server,
      graph([input('m', 'priced/small'), call('inner', callee)], ['in m.output->inner.model']),
    )
    const of = graph([input('which', 'nobody/x'), call('outer', middle)], ['in which.output->outer.m'])
    const models = async (inputs: object) =>
      requirementsOf(await preflightOf(server, of, { inputs })).filter((one) => one.startsWith('model'))
    assert.deepEqual(await models({}), ['model nobody/x missing true'])
    assert.deepEqual(await models({ which: 'priced/small' }), ['model priced/small available true'])
  })

  test('is not known if the run computes it', async () => {
    const callee = await stored(server, taking)
    const of = graph(
      [input('which', 'x'), node('say', 'text.Template', { template: '{{x}}' }), call('outer', callee)],
      ['in which.output->say.x', 'say.output->outer.model'],
    )
    const summary = await preflightOf(server, of)
    assert.equal(requirement(summary, 'model', `node:${callee}/ask`).status, 'unknown')
  })
})

describe('a constant that a call passes', () => {
  const bounded = graph([node('in', 'input.Integer', { name: 'n', min: 0, max: 5 })], [])

  test('is checked against the type of the input', async () => {
    const callee = await stored(server, bounded)
    const of = async (n: unknown) => issuesOf(await preflightOf(server, calling(callee, { n }), { level: 'static' }))
    assert.deepEqual(await of('text'), ['error called_workflow_input_type_mismatch call n'])
    assert.deepEqual(await of(-1), ['error called_workflow_input_below_minimum call n'])
    assert.deepEqual(await of(99), ['error called_workflow_input_above_maximum call n'])
    assert.deepEqual(await of(5), [])
    assert.deepEqual(await of(null), ['error called_workflow_missing_input call n'])
  })

  test('is checked although the rest of the graph cannot run', async () => {
    const callee = await stored(server, graph([node('in', 'input.String', { name: 'text' })], []))
    const entry = (value: unknown) => ({ text: value })
    const broken = (properties: Record<string, unknown>) =>
      graph([call('call', callee, properties), node('bad', 'no.Such')], [])
    const of = async (properties: Record<string, unknown>) =>
      issuesOf(await preflightOf(server, broken(properties), { level: 'static' }))
    assert.deepEqual(await of(entry('hi')), ['error graph_unknown_node bad -'])
    assert.deepEqual(await of({}), ['error called_workflow_missing_input call text', 'error graph_unknown_node bad -'])
  })

  test('is reported as a problem of the graph when a submission is refused', async () => {
    const callee = await stored(server, bounded)
    const of = graph([call('a/b', callee, { n: 9, 'x~y': 1 }), call('c', 'wf_none')], [])
    const { problems } = preflightFailedError(await preflightOf(server, of), '/body')
    assert.deepEqual(problems.map(({ path, code }) => [path, code]).sort(), [
      ['/graph/nodes/a~1b/n', 'called_workflow_input_above_maximum'],
      ['/graph/nodes/a~1b/x~0y', 'called_workflow_unknown_input'],
      ['/graph/nodes/c/workflow_id', 'called_workflow_not_found'],
    ])
  })
})

test('a call into a cycle may run all of it, so its cost is not known', async () => {
  const { workflows } = server.context.runs
  const costly = chat({ model: 'priced/small', prompt: 'x' })
  const first = await stored(server, graph([], []))
  const second = await stored(server, calling(first))
  const third = await stored(server, calling(first))
  const all = graph([...costly.nodes, call('to second', second), call('to third', third)], costly.edges)
  await workflows.update(ME, first, { name: 'x', graph: all as never }, null)
  // The first workflow is met before the others, and their calls lead back to it.
  const outside = graph([call('a', first), call('b', second), call('c', third)], [])
  const { cost } = await preflightOf(server, outside)
  assert.deepEqual([cost?.confidence, cost?.unknown_cost_nodes], ['unknown', ['a', 'b', 'c']])
  const inside = await preflight(server, { workflow_id: third, level: 'availability' })
  assert.deepEqual([inside.cost?.confidence, inside.cost?.unknown_cost_nodes], ['unknown', ['call']])
})

test('the nodes of a large graph are read once, however many preflights run at the same time', async () => {
  const { workflows, registry } = server.context.runs
  const large = graph(
    Array.from({ length: 1_000 }, (_, at) => node(`n${at}`, 'constant.String', { value: 'x' })),
    [],
  )
  const { compiled } = workflows.runnable(ME, await stored(server, large))
  const [one, other] = [buildNodeViewsSteps(compiled, registry), buildNodeViewsSteps(compiled, registry)]
  one.next()
  const views = runToCompletion(other)
  assert.equal(views.length, 1_000)
  assert.equal(runToCompletion(one), views)
})

describe('the exploration ends', () => {
  test('if the client no longer waits, whatever is left', async () => {
    const callees = await Promise.all(Array.from({ length: 20 }, () => stored(server, graph([], []))))
    const of = graph(
      callees.map((id, at) => call(`n${at}`, id)),
      [],
    )
    const { workflows, registry } = server.context.runs
    const workflow_id = await stored(server, of)
    const found = workflows.runnable(ME, workflow_id)
    const gone = new AbortController()
    let looked = 0
    const tools = {
      registry,
      workflows: {
        prepare: (...asked: Parameters<typeof workflows.prepare>) => workflows.prepare(...asked),
        runnable(...asked: Parameters<typeof workflows.runnable>) {
          if (++looked === 3) gone.abort()
          return workflows.runnable(...asked)
        },
      },
    }
    const exploring = exploreCalls(
      tools,
      { owner: ME, inputs: {}, ...found },
      new IssueCollector(),
      new AbortableTimeSlices(new TimeSliceScheduler(), 'one', gone.signal),
    )
    await assert.rejects(exploring, { code: 'SERVICE_UNAVAILABLE' })
    assert.equal(looked, 3)
  })

  test('if the graphs together exceed the limit', async () => {
    const large = (at: number) =>
      graph([node('text', 'constant.String', { value: `${at}${'x'.repeat(6_000_000)}` })], [])
    const callees = await Promise.all([1, 2, 3, 4].map((at) => stored(server, large(at))))
    const of = graph(
      callees.map((id, at) => call(`n${at}`, id)),
      [],
    )
    const summary = await preflightOf(server, of, { level: 'static' })
    assert.deepEqual([issuesOf(summary), summary.runnable], [['warning called_workflows_unchecked - -'], true])
  })
})
