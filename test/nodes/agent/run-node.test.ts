// agent.Run: its loop over tools, the messages to the model when tools fail, its limits, and its events.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ResultManifest } from '../../../generated/types.ts'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import type { ModelPrice } from '../../../src/models/provider.ts'
import { graph, node, output, sink, source, testType, value, withTypes } from '../../engine/kit.ts'
import { type AgentProvider, agentProvider, type Move, toolTexts } from '../../helpers/agent-provider.ts'
import { call as http } from '../../helpers/http.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { ended, submit } from '../../jobs/kit.ts'
import { stored } from '../../models/kit.ts'

const OUTPUTS = ['text', 'answer', 'messages', 'steps', 'usage']

/** `agent.Run` with all of its outputs. `fed`: tools that come along an edge. */
function agent(data: Record<string, unknown>, fed: unknown[] | null = null): Graph {
  const all = { model: 'agent/brain', prompt: 'do it', ...data }
  return graph(
    [node('agent', 'agent.Run', all), ...OUTPUTS.map(sink), ...(fed ? [source('tools', fed)] : [])],
    [...OUTPUTS.map((name) => `agent.${name}->${name}.value`), ...(fed ? ['tools.output->agent.tools'] : [])],
  )
}

/** `in -> n -> out` */
const through = (type: string): Graph =>
  graph(
    [node('in', 'input.Any', { name: 'in' }), node('n', type), sink('out')],
    ['in.output->n.value', 'n.output->out.value'],
  )

const doubles: NodeType = testType('test.Double', {
  description: 'Twice a number.',
  properties: [{ ...value, type: { ...value.type, type: 'int' } }],
  outputs: [output],
  run: async ({ value: given }) => ({ output: (given as number) * 2 }),
})

type Outputs = {
  text: string[]
  answer: string
  messages: { role: string; content: unknown; tool_call_id?: string }[]
  steps: Record<string, unknown>[]
  usage: Record<string, unknown>
}

interface Ran {
  status: string
  error: { type: string; message: string } | null
  outputs: Outputs
  manifest: ResultManifest
  provider: AgentProvider
}

type Setting = {
  types?: NodeType[]
  price?: ModelPrice | null
  max_output_tokens?: number | null
  tools?: (server: TestServer) => Promise<unknown[]>
  fed?: unknown[]
}

/** Runs an agent to its end. `moves` are indexed by turn; the last one repeats. */
async function ran(moves: Move[] | ((turn: number) => Move), data: object = {}, setting: Setting = {}): Promise<Ran> {
  const of = typeof moves === 'function' ? moves : (turn: number) => moves[Math.min(turn, moves.length - 1)]!
  const provider = agentProvider((_request, turn) => of(turn), setting.price, setting.max_output_tokens)
  await using server = await startServer({
    providers: [provider],
    registry: withTypes(doubles, ...(setting.types ?? [])),
  })
  const tools = (await setting.tools?.(server)) ?? ['test.Double']
  const job = submit(server, { graph: agent({ tools, ...data }, setting.fed) })
  const row = await ended(server, job.row.id)
  const manifest = JSON.parse(row.result ?? 'null') as ResultManifest
  const error = JSON.parse(row.error ?? 'null') as Ran['error']
  return { status: row.status, error, outputs: manifest?.outputs as Outputs, manifest, provider }
}

const failed = (one: Ran): string => {
  assert.equal(one.status, 'failed')
  return `${one.error!.type}: ${one.error!.message}`
}

const call = (args: unknown, name = 'test_Double') => ({ name, args })

describe('agent.Run', () => {
  test('streams its answer piece by piece if it calls no tools', async () => {
    const { outputs, manifest, provider } = await ran([{ say: ['all', ' done'] }], { tools: [] })
    assert.deepEqual([outputs.text, outputs.answer], [['all', ' done'], 'all done'])
    const { model, turns, total_tokens, cost, currency } = outputs.usage
    assert.deepEqual([model, turns, total_tokens, cost, currency], ['agent/brain', 1, 15, 1, 'USD'])
    assert.equal(provider.requests[0]!.tools, undefined)
    assert.deepEqual([manifest.provenance.models, manifest.cost!.amount], [['agent/brain'], 1])
  })

  test('sends its tools to the model, calls them in parallel and continues with their results', async () => {
    const { outputs, manifest, provider } = await ran([
      { say: ['Let me see.'], calls: [call({ value: 2 }), call({ value: 5 })] },
      { say: ['4 and 10'] },
    ])
    const [first, second] = provider.requests
    assert.deepEqual(first!.tools, [
      {
        type: 'function',
        function: {
          name: 'test_Double',
          description: 'test.Double: Twice a number.',
          parameters: {
            type: 'object',
            properties: { value: { type: 'integer' } },
            required: ['value'],
            additionalProperties: false,
          },
        },
      },
    ])
    assert.deepEqual(toolTexts(second!), ['4', '10'])
    assert.deepEqual(outputs.text, ['Let me see.', '\n\n4 and 10'])
    assert.equal(outputs.answer, '4 and 10')
    const ids = outputs.messages.flatMap(({ tool_call_id }) => tool_call_id ?? [])
    assert.deepEqual(
      outputs.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'tool', 'assistant'],
    )
    assert.equal(new Set(ids).size, 2)
    assert.deepEqual(
      outputs.steps.map(({ type, turn }) => [type, turn]),
      [
        ['turn', 0],
        ['tool', 0],
        ['tool', 0],
        ['turn', 1],
      ],
    )
    assert.deepEqual([outputs.usage.turns, manifest.cost!.amount], [2, 2])
  })

  test('calls workflows of the user who runs it, under their own names and with their schemas', async () => {
    const tools = async (server: TestServer) => {
      const id = await stored(server, through('test.Double'), 'Twice, please!')
      return [`workflow/${id}`, { workflow_id: id, name: 'again', description: 'Once more.' }]
    }
    const calls = [call({ in: 4 }, 'Twice_please'), call({ in: 6 }, 'again')]
    const { outputs, provider } = await ran([{ calls }, { say: ['so'] }], {}, { tools })
    assert.deepEqual(toolTexts(provider.requests[1]!), ['8', '12'])
    assert.equal(outputs.answer, 'so')
    const told = provider.requests[0]!.tools as { function: { name: string; parameters: object } }[]
    assert.deepEqual(
      told.map((one) => one.function.name),
      ['Twice_please', 'again'],
    )
    assert.deepEqual((told[0]!.function.parameters as { required: string[] }).required, ['in'])
  })

  test('hides the values that the author has set for a node from the model', async () => {
    const join = { node_type: 'text.Join', data: { separator: '-' }, name: 'join' }
    const { provider } = await ran([{ calls: [call({ list: ['a', 'b'] }, 'join')] }, {}], { tools: [join] })
    assert.deepEqual(toolTexts(provider.requests[1]!), ['a-b'])
    const told = provider.requests[0]!.tools as unknown as { function: { parameters: { properties: object } } }[]
    assert.ok(!('separator' in told[0]!.function.parameters.properties))
  })

  test('tells the model what was wrong with a call, and continues', async () => {
    const bad = testType('test.Bad', {
      properties: [value],
      outputs: [output],
      run: () => Promise.reject(new Error('the password is 1234')),
    })
    const calls = [
      call({ value: 1 }, 'nothing'),
      call('{"value": '),
      call('[1]'),
      call({ valve: 1 }),
      call({}),
      call({ value: 'x' }),
      call({ value: 1 }, 'test_Bad'),
      call({ value: 3 }),
    ]
    const { outputs, provider } = await ran(
      [{ calls }, { say: ['well'] }],
      { tools: ['test.Double', 'test.Bad'] },
      { types: [bad] },
    )
    const texts = toolTexts(provider.requests[1]!)
    const expected = [
      /^Error: There is no tool "nothing". There are: test_Double, test_Bad\.$/,
      /^Error: The arguments are no JSON\.$/,
      /^Error: The arguments are no JSON object\.$/,
      /^Error: There is no argument "valve"\.$/,
      /^Error: The argument "value" is missing\.$/,
      /^Error: Input "value" of node "tool": .*int/,
      /^Error: The node failed\. The log says why\.$/,
      /^6$/,
    ]
    assert.equal(texts.length, expected.length)
    for (const [at, text] of texts.entries()) assert.match(text, expected[at]!)
    assert.equal(outputs.answer, 'well')
  })

  test('refuses a tool with much data, which each call would write anew', async () => {
    const tool = (separator: string) => ({ node_type: 'text.Join', data: { separator }, name: 'join' })
    const { provider } = await ran([{ calls: [call({ list: ['a', 'b'] }, 'join')] }, {}], {
      tools: [tool('-'.repeat(90_000))],
    })
    assert.ok(toolTexts(provider.requests[1]!)[0]!.length > 20_000)
    await assert.rejects(ran([{}], { tools: [tool('-'.repeat(110_000))] }), /more than 100,000 characters of data/)
  })

  test('limits the results of one turn to four million characters, and the conversation to sixteen million', async () => {
    const long = testType('test.Long', { outputs: [output], run: () => ({ output: 'x'.repeat(1_000_000) }) })
    const data = { tools: ['test.Long'], max_result_characters: 1_000_000, max_steps: 100 }
    const eight = { calls: Array.from({ length: 8 }, () => call({}, 'test_Long')) }
    const one = await ran(() => eight, data, { types: [long] })
    const texts = toolTexts(one.provider.requests[1]!)
    assert.ok(texts.every((text) => text.startsWith('x'.repeat(500_000)) && text.length < 500_100))
    assert.match(failed(one), /^too_large: The conversation of the agent has more than 16,000,000 characters\./)
    assert.equal(one.provider.requests.length, 4)
  })

  test('reads no more arguments than fit into one turn, and gives a node no more than a hundred', async () => {
    const half = { value: 1, more: 'x'.repeat(300_000) }
    const named = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`n${at}`, 1]))
    const template = (more: object) => call({ template: '{{ n1 }}', ...more }, 'text_Template')
    const { n0: _, ...less } = named
    const { provider } = await ran(
      [{ calls: [template(named), template(less), call(half), call(half), call({ value: 1 })] }, { say: ['well'] }],
      { tools: ['test.Double', 'text.Template'] },
    )
    const beyond = 'Error: At most 500,000 characters of arguments are read in one turn.'
    assert.deepEqual(toolTexts(provider.requests[1]!), [
      'Error: There are more than 100 arguments.',
      '1',
      'Error: There is no argument "more".',
      beyond,
      beyond,
    ])
  })

  test('fails after three turns in a row in which every call failed', async () => {
    const one = await ran((turn) => (turn === 1 ? { calls: [call({ value: 1 }), call({})] } : { calls: [call({})] }))
    assert.equal(
      failed(one),
      'tool_failed: The tools of the agent failed 3 times in a row: The argument "value" is missing.',
    )
    assert.equal(one.provider.requests.length, 5)
  })

  test('shortens long results', async () => {
    const long = testType('test.Long', { outputs: [output], run: () => ({ output: 'x'.repeat(1000) }) })
    const data = { tools: ['test.Long'], max_result_characters: 100 }
    const { provider } = await ran([{ calls: [call({}, 'test_Long')] }, {}], data, { types: [long] })
    assert.equal(
      toolTexts(provider.requests[1]!)[0],
      `${'x'.repeat(100)}… (shortened: the first 100 of 1000 characters)`,
    )
  })

  test('reads little more of a very long result than it sends', async () => {
    const results: Record<string, unknown> = {
      numbers: Array(3_000_000).fill(1),
      text: 'x'.repeat(20_000_000),
      rows: Array.from({ length: 300_000 }, (_, at) => ({ [`k${at}`]: [at] })),
      file: { bytes: new Uint8Array(5_000_000), name: 'a', more: Array(400_000).fill('b') },
      bytes: new Uint8Array(5_000_000),
    }
    const given: Record<string, string> = {}
    for (const [name, value] of Object.entries(results)) {
      const long = testType('test.Long', { outputs: [output], run: () => ({ output: value }) })
      const data = { tools: ['test.Long'], max_result_characters: 100 }
      const { provider } = await ran([{ calls: [call({}, 'test_Long')] }, {}], data, { types: [long] })
      given[name] = toolTexts(provider.requests[1]!)[0]!
    }
    const cut = '… (shortened: the first 100 of more than 262244 characters)'
    assert.deepEqual(given, {
      numbers: `[${'1,'.repeat(49)}1${cut}`,
      text: `${'x'.repeat(100)}${cut}`,
      rows: `${JSON.stringify((results.rows as object[]).slice(0, 10)).slice(0, 100)}${cut}`,
      file: `${`{"bytes":"(5000000 bytes)","name":"a","more":[${'"b",'.repeat(30)}`.slice(0, 100)}${cut}`,
      bytes: '"(5000000 bytes)"',
    })
  })

  test('must not call a tool in its last turn, and fails if it does', async () => {
    const polite = await ran((turn) => (turn < 2 ? { calls: [call({ value: 1 })] } : { say: ['enough'] }), {
      max_steps: 3,
    })
    assert.equal(polite.outputs.answer, 'enough')
    assert.deepEqual(
      polite.provider.requests.map(({ tool_choice }) => tool_choice ?? null),
      [null, null, 'none'],
    )
    const stubborn = await ran(() => ({ calls: [call({ value: 1 })] }), { max_steps: 3 })
    assert.equal(failed(stubborn), 'too_many_steps: The agent called tools in each of its 3 turns.')
    assert.equal(stubborn.provider.requests.length, 3)
  })

  test('keeps to its limits of tokens and of money', async () => {
    const moves = () => ({ calls: [call({ value: 1 })] })
    const tokens = await ran(moves, { max_tokens: 40 })
    assert.equal(failed(tokens), 'limit_reached: The agent was stopped after 45 tokens: max_tokens is 40.')
    assert.deepEqual(
      tokens.provider.requests.map(({ max_completion_tokens }) => max_completion_tokens),
      [40, 25, 10],
    )
    const money = await ran(moves, { max_cost: 2 })
    assert.equal(failed(money), 'limit_reached: The agent was stopped after 2 USD: max_cost is 2.')
    assert.equal(money.provider.requests.length, 2)
    const unknown = await ran(moves, { max_cost: 2 }, { price: null })
    assert.equal(
      failed(unknown),
      'unknown_cost: The agent cannot keep to max_cost, because the price of the model "agent/brain" is unknown.',
    )
  })

  test('counts money exactly in decimal fractions, and calls no model if it may spend nothing', async () => {
    const price = { currency: 'USD', per_request: 0.1, per_million_input_tokens: 0, per_million_output_tokens: 0 }
    const tenth = await ran(() => ({ calls: [call({ value: 1 })] }), { max_cost: 1, max_steps: 30 }, { price })
    assert.equal(failed(tenth), 'limit_reached: The agent was stopped after 1 USD: max_cost is 1.')
    assert.equal(tenth.provider.requests.length, 10)
    const none = await ran([{ say: ['hi'] }], { max_cost: 0 }, { price })
    assert.equal(failed(none), 'limit_reached: The agent was stopped after 0: max_cost is 0.')
    assert.equal(none.provider.requests.length, 0)
  })

  test('never asks for more output tokens than the model supports', async () => {
    const asked = async (max_output_tokens: number | null, data: object) => {
      const one = await ran([{ say: ['hi'] }], data, { max_output_tokens })
      assert.equal(one.outputs?.answer, 'hi', one.error?.message)
      return one.provider.requests[0]!.max_completion_tokens ?? null
    }
    assert.equal(await asked(1_000, { max_tokens: 5_000 }), 1_000)
    assert.equal(await asked(1_000, { max_tokens: 5_000, max_output_tokens: 100 }), 100)
    assert.equal(await asked(1_000, { max_tokens: 50, max_output_tokens: 100 }), 50)
    assert.equal(await asked(null, { max_tokens: 4_000 }), 4_000)
    assert.equal(await asked(null, { max_tokens: 1_000_000 }), null)
    const beyond = await ran([{ say: ['hi'] }], { max_output_tokens: 1_001 }, { max_output_tokens: 1_000 })
    assert.match(failed(beyond), /^bad_input: The model "agent\/brain" gives at most 1000 tokens/)
  })

  test('keeps to its limit of time, in a turn and in a call', async () => {
    const forever = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const hangs = testType('test.Hangs', {
      outputs: [output],
      run: (_inputs, { signal }) => forever(signal) as Promise<never>,
    })
    const expected = 'limit_reached: The agent was stopped after 0.05 s: max_seconds is 0.05.'
    const thinking = await ran([{ say: ['hm'], waits: { before: 1, for: forever } }], { max_seconds: 0.05 })
    assert.equal(failed(thinking), expected)
    const data = { tools: ['test.Hangs'], max_seconds: 0.05 }
    assert.equal(failed(await ran([{ calls: [call({}, 'test_Hangs')] }], data, { types: [hangs] })), expected)
  })

  test('fails if the model refuses, or if a tool that comes along an edge is invalid', async () => {
    assert.equal(failed(await ran([{ refuse: 'no' }])), 'refused: The model declines to answer: no')
    const wrong: [unknown, RegExp][] = [
      ['workflow/none', /^unknown_tool: The workflow "none" cannot be a tool/],
      ['control.Collect', /^unknown_tool: The node type "control.Collect" cannot be a tool/],
      ['input.Any', /^unknown_tool/],
      [{ node_type: 'test.None' }, /^unknown_tool: There is no node type "test.None"/],
      ['test.Duoble', /^unknown_tool: There is no node type "test.Duoble". Did you mean "test.Double"\?/],
      [{ node_type: 'test.Double', data: { x: 1 } }, /^unknown_tool: The node type "test.Double" has no property "x"/],
      [{ node_type: 'test.Double', workflow_id: 'a' }, /^bad_input: Tool 1 must have either/],
      [{ node_type: 'test.Double', name: 'a b' }, /^bad_input: Tool 1 must have a name/],
      [7, /^bad_input: Tool 1 must be/],
    ]
    for (const [tool, text] of wrong) {
      const one = await ran([{}], {}, { fed: [tool] })
      assert.match(failed(one), text)
      assert.equal(one.provider.requests.length, 0)
    }
  })

  test('calls itself through a workflow no deeper than workflows call each other', async () => {
    const provider = agentProvider(({ messages }) => {
      const gave = messages.find(({ role }) => role === 'tool')
      return gave ? { say: [String(gave.content)] } : { calls: [call({}, 'self')] }
    })
    await using server = await startServer({ providers: [provider] })
    const id = await stored(server, agent({ tools: [] }))
    const data = { model: 'agent/brain', prompt: 'again', tools: [{ workflow_id: id, name: 'self' }] }
    const own = graph([node('agent', 'agent.Run', data), sink('out')], ['agent.answer->out.value'])
    const { status, text } = await http(server, 'PUT', `/api/workflows/${id}`, { body: { name: 'self', graph: own } })
    assert.equal(status, 200, text)
    const row = await ended(server, submit(server, { workflow_id: id }).row.id)
    assert.equal(row.status, 'completed', row.error ?? '')
    const { outputs } = JSON.parse(row.result!) as ResultManifest
    assert.equal(outputs.out, 'Error: Workflows call each other more than 16 deep.')
    assert.equal(provider.requests.length, 34)
  })

  test('shows its calls and their results to watchers', async () => {
    const provider = agentProvider((_, turn) => (turn === 0 ? { calls: [{ ...call({ value: 2 }), id: 'c1' }] } : {}))
    await using server = await startServer({ providers: [provider], registry: withTypes(doubles) })
    const job = submit(server, { graph: agent({ tools: ['test.Double'] }), hasFollower: true })
    const frames: Record<string, unknown>[] = []
    for await (const { frame } of server.context.runs.events.follow(job.row.key, 0, AbortSignal.timeout(60_000)))
      if (frame && String((frame as { type: string }).type).startsWith('tool_')) frames.push(frame as never)
    const of = {
      job_id: job.row.id,
      workflow_id: job.row.workflow_id,
      node_id: 'agent',
      tool_call_id: 'c1',
      name: 'test_Double',
    }
    assert.deepEqual(frames, [
      { type: 'tool_call_update', ...of, arguments: { value: 2 } },
      { type: 'tool_result_update', ...of, result: '4', error: null },
    ])
  })

  test('runs the calls of a turn one after the other if parallel is false', async () => {
    let [open, most] = [0, 0]
    const slow = testType('test.Slow', {
      properties: [value],
      outputs: [output],
      async run({ value: given }) {
        most = Math.max(most, ++open)
        await new Promise((resolve) => setImmediate(resolve))
        open--
        return { output: given }
      },
    })
    const calls = [1, 2, 3].map((one) => call({ value: one }, 'test_Slow'))
    for (const parallel of [true, false]) {
      most = 0
      const { provider } = await ran([{ calls }, {}], { tools: ['test.Slow'], parallel }, { types: [slow] })
      assert.equal(most > 1, parallel)
      assert.equal(provider.requests[0]!.parallel_tool_calls ?? null, parallel ? null : false)
    }
  })

  test('takes its task along an edge', async () => {
    const provider = agentProvider(() => ({ say: ['yes'] }))
    await using server = await startServer({ providers: [provider] })
    const of = graph(
      [source('in', 'ask this'), node('agent', 'agent.Run', { model: 'agent/brain' }), sink('out')],
      ['in.output->agent.prompt', 'agent.answer->out.value'],
    )
    const row = await ended(server, submit(server, { graph: of }).row.id)
    assert.equal(row.status, 'completed', row.error ?? '')
    assert.equal(provider.requests[0]!.messages.at(-1)!.content, 'ask this')
  })
})
