// Tests preflights of agents: their tools, what these need and call in turn, and which costs cannot be known.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { graph, node, source } from '../engine/kit.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { run } from '../models/kit.ts'
import { stored } from '../sockets/kit.ts'
import { chat, issuesOf, preflightOf, requirement, requirementsOf } from './preflight-kit.ts'

let server: TestServer
before(async () => {
  const models = { small: dollars(0, 0, 1), free: dollars(0, 0, 0) }
  const speaks = pricedProvider({ name: 'mute', models: { speaks: null }, capabilities: ['streaming'] })
  const calls = pricedProvider({ name: 'handy', models: { calls: null }, capabilities: ['streaming', 'tools'] })
  server = await startServer({ providers: [pricedProvider({ models }), speaks, calls] })
})
after(() => server[Symbol.asyncDispose]())

const agent = (tools: unknown, model = 'priced/small') =>
  graph([node('agent', 'agent.Run', { model, prompt: 'x', tools })], [])

const MISFIT = 'error graph_type_mismatch agent tools'

const AVAILABLE = ['model priced/small available true', 'provider priced available true']

test('the tools of an agent are checked: workflows, node types, and invalid entries', async () => {
  const whole = await stored(server, chat({ model: 'priced/small', prompt: 'x' }))
  const broken = await stored(server, graph([node('n', 'nowhere.None')], []))
  for (const [tool, ...issues] of [
    [`workflow/${whole}`],
    ['text.Template'],
    ['workflow/none', 'error called_workflow_not_found agent tools'],
    [`workflow/${broken}`, 'error called_workflow_invalid agent tools'],
    [{ node_type: 'nowhere.None' }, 'error graph_unknown_node agent tools'],
    ['text.Tmplate', 'error graph_unknown_node agent tools'],
    [{ node_type: 'text.Template', data: { none: 1 } }, MISFIT],
    [{ node_type: 'text.Template', name: 'no name' }, MISFIT],
    ['control.Collect', MISFIT],
    [7, MISFIT],
  ] as const) {
    const summary = await preflightOf(server, agent([tool]))
    assert.deepEqual(issuesOf(summary), issues, JSON.stringify(tool))
    assert.equal(summary.runnable, issues.length === 0)
  }
})

test('each invalid tool entry is reported, misspelt ones with a suggestion', async () => {
  const same = { node_type: 'text.Join', name: 'same' }
  const { issues } = await preflightOf(server, agent(['text.Tmplate', 'text.Template', same, same]))
  assert.deepEqual(
    issues.map(({ code, message }) => `${code}: ${message}`),
    [
      'graph_unknown_node: Node "agent": Tool 1: There is no node type "text.Tmplate". Did you mean "text.Template"?',
      'tool_invalid: Tool 4 has the name "same", which another tool has already.',
    ],
  )
  for (const [tool, meant] of [
    ['text.template', '"text.Template"'],
    ['Math.formula', '"math.Formula"'],
    ['mathFormula', '"math.Formula"'],
    ['workflow/greting', 'the example "greeting"'],
  ] as const) {
    const near = await preflightOf(server, agent([tool]))
    const id = tool.replace('workflow/', '')
    const text = `The workflow "${id}", a tool of node "agent", was not found. Did you mean ${meant}?`
    assert.deepEqual(
      near.issues.map(({ message }) => message),
      [text],
    )
    const answer = await run(server, agent([tool]))
    assert.equal(answer.error!.type, 'unknown_tool')
    assert.ok(answer.error!.message.endsWith(` Did you mean ${meant}?`), answer.error!.message)
  }
})

test('an agent with tools requires a model that can call tools, as far as that is known', async () => {
  for (const [model, tools, status] of [
    ['mute/speaks', ['text.Template'], 'unavailable'],
    ['mute/speaks', [], 'available'],
    ['handy/calls', ['text.Template'], 'available'],
    ['builtin/echo', ['text.Template'], 'unavailable'],
    ['priced/small', ['text.Template'], 'available'],
  ] as const) {
    const summary = await preflightOf(server, agent(tools, model))
    const { status: found, message, details } = requirement(summary, 'model', model)
    assert.deepEqual([found, summary.runnable], [status, status === 'available'], `${model} ${message}`)
    if (status === 'unavailable') assert.match(message!, /tools/)
    assert.deepEqual(details!.node_ids, ['agent'])
  }
})

test('a workflow in the place of a model is reported before any provider is asked, with the calling node', async () => {
  const cure =
    '"workflow/abc" is a workflow, not a model. Call it with a node workflow.Call whose workflow_id is "abc".'
  for (const [type, data] of [
    ['agent.Run', { prompt: 'x' }],
    ['chat.Complete', { prompt: 'x' }],
    ['chat.Structured', { prompt: 'x', schema: { type: 'object' } }],
    ['chat.Classify', { text: 'x', labels: ['a', 'b'] }],
    ['chat.Extract', { text: 'x', fields: { a: 'str' } }],
    ['chat.Summarize', { text: 'x' }],
    ['chat.Embed', { texts: 'x' }],
  ] as const) {
    const summary = await preflightOf(server, graph([node('n', type, { ...data, model: 'workflow/abc' })], []))
    assert.deepEqual(issuesOf(summary), ['error graph_type_mismatch n model'], type)
    assert.equal(summary.issues[0]!.message, `Node "n": ${cure}`)
    assert.equal(summary.runnable, false)
  }
  const fed = graph(
    [source('model', 'workflow/abc'), node('n', 'chat.Complete', { prompt: 'x' })],
    ['model.output->n.model'],
  )
  const summary = await preflightOf(server, fed)
  assert.equal(requirement(summary, 'provider', 'workflow').message, cure)
  const answer = await run(server, fed)
  assert.deepEqual([answer.status, answer.error!.type, answer.error!.message], ['failed', 'bad_input', cure])
})

test('the built-in model with tools is reported with advice, before a run and instead of one', async () => {
  const of = agent(['math.Formula'], 'builtin/echo')
  const cure = 'calls no tools. Name one that does, such as openai/gpt-4o-mini, or leave out the tools.'
  const text = `Node "agent": The model "builtin/echo" ${cure}`
  assert.deepEqual(
    (await preflightOf(server, of)).issues.map(({ code, message }) => `${code}: ${message}`),
    [`graph_type_mismatch: ${text}`],
  )
  await assert.rejects(run(server, of), /calls no tools\. Name one that does, such as/)
})

test('a run of an agent needs what its tools need', async () => {
  const whole = await stored(server, chat({ model: 'nobody/none', prompt: 'x' }))
  const missing = ['model nobody/none missing true', ...AVAILABLE.slice(0, 1), 'provider nobody missing true']
  for (const tool of [
    `workflow/${whole}`,
    { node_type: 'chat.Complete', data: { model: 'nobody/none' } },
    { node_type: 'agent.Run', data: { model: 'priced/small', tools: [`workflow/${whole}`] } },
  ]) {
    const summary = await preflightOf(server, agent([tool]))
    assert.deepEqual(requirementsOf(summary).sort(), [...missing, ...AVAILABLE.slice(1)].sort())
    assert.equal(summary.runnable, false)
  }
  const chosen = await preflightOf(server, agent(['chat.Complete']))
  assert.deepEqual(requirementsOf(chosen).sort(), ['model node:agent/chat.Complete unknown false', ...AVAILABLE])
  assert.equal(chosen.runnable, true)
})

test('tools that come along an edge need no secrets, but everything else that they name', async () => {
  const tools = [
    { node_type: 'http.Request', data: { url: 'https://x.example/{{secret:TOOL_KEY}}' } },
    { node_type: 'chat.Complete', data: { model: 'nobody/none' } },
  ]
  const named = ['model nobody/none missing true', 'provider nobody missing true', ...AVAILABLE]
  for (const list of [tools, [{ node_type: 'agent.Run', data: { model: 'priced/small', prompt: 'x', tools } }]]) {
    const own = await preflightOf(server, agent(list))
    assert.deepEqual(requirementsOf(own).sort(), ['credential TOOL_KEY missing true', ...named].sort())
    const { nodes } = agent(undefined)
    const of = graph([node('in', 'input.Any', { name: 'p', value: list }), ...nodes], ['in.output->agent.tools'])
    assert.deepEqual(requirementsOf(await preflightOf(server, of)).sort(), [...named].sort())
  }
})

test('an agent that may be its own tool may not end', async () => {
  const id = await stored(server, agent([]))
  const answer = await fetch(`${server.url}/api/workflows/${id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'self', graph: agent([`workflow/${id}`]) }),
  })
  assert.equal(answer.status, 200)
  const summary = await preflightOf(server, agent([`workflow/${id}`]))
  assert.deepEqual(issuesOf(summary), ['warning called_workflow_recursive agent -'])
})

test('the turns and calls of an agent are not known, unless it can make only one, or all is free', async () => {
  const paid = await stored(server, chat({ model: 'priced/small', prompt: 'x' }))
  for (const [of, amount, confidence] of [
    [agent([]), 1, 'exact'],
    [agent(['text.Template']), 1, 'partial'],
    [agent([`workflow/${paid}`]), 1, 'partial'],
    [agent([`workflow/${paid}`], 'priced/free'), null, 'unknown'],
  ] as const) {
    const { cost } = await preflightOf(server, of)
    assert.deepEqual([cost?.amount, cost?.confidence], [amount, confidence])
    assert.deepEqual(cost!.unknown_cost_nodes, confidence === 'exact' ? [] : ['agent'])
  }
  assert.equal((await preflightOf(server, agent(['text.Template'], 'priced/free'))).cost, null)
})
