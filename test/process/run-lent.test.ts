// `svc run` of workflows whose nodes need more than inputs: agents with tools, vectors, assets, and a cost limit for models.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openDataFolder } from '../../src/db/files/data-folder.ts'
import { graphOf } from '../cli/kit.ts'
import { serve, svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { type Script, startUpstream, type Upstream } from '../helpers/upstream.ts'

let folder: string
before(() => {
  folder = temporaryFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: unknown): string {
  writeFileSync(join(folder, name), JSON.stringify(content))
  return join(folder, name)
}

/** Runs a file quietly, with the scripted models as those of the provider `acme`. */
async function run(path: string, { upstream, args = [], env = {} }: Given = {}) {
  const servers: Record<string, string> = upstream ? { SVC_MODEL_SERVERS: `acme=${upstream.base_url}` } : {}
  const { code, stdout, stderr } = await svc(['run', path, '--quiet', ...args], { ...servers, ...env })
  return { code, outputs: stdout === '' ? null : JSON.parse(stdout), stderr }
}

interface Given {
  upstream?: Upstream
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
}

const MODEL = 'acme/gpt-4o-mini'

/** An agent with these tools, and its last answer. */
function agent(tools: readonly unknown[]) {
  return graphOf(
    [
      { id: 'agent', type: 'agent.Run', data: { model: MODEL, prompt: 'Do it.', tools } },
      { id: 'answer', type: 'output.Output', data: { name: 'answer' } },
    ],
    ['agent.answer>answer.value'],
  )
}

/** A model that calls a tool with these arguments, and then repeats the result. */
function calling(name: string, args: Record<string, unknown>) {
  return startUpstream({
    answer: ({ json }): Script => {
      const told = json.messages.at(-1)
      if (told.role === 'tool') return { text: `It says: ${told.content}` }
      return { text: null, tool_calls: [{ id: 'call_1', name, arguments: JSON.stringify(args) }] }
    },
  })
}

/** The tools in the model's request. */
const toldOf = (upstream: Upstream) => upstream.posts[0]?.json.tools.map((one: { function: unknown }) => one.function)

describe('an agent in svc run', () => {
  test('calls node types', async () => {
    await using upstream = await calling('math_Formula', { a: 6, b: 7 })
    const tools = [{ node_type: 'math.Formula', data: { formula: 'a * b' } }]
    const { code, outputs, stderr } = await run(file('nodes.json', agent(tools)), { upstream })
    assert.deepEqual([code, outputs], [0, { answer: 'It says: 42' }], stderr)
  })

  test('calls files beside it, as they call themselves', async () => {
    mkdirSync(join(folder, 'parts'), { recursive: true })
    const graph = graphOf(
      [
        { id: 'in', type: 'input.String', data: { name: 'word' } },
        { id: 'up', type: 'text.Case', data: { to: 'upper' } },
        { id: 'out', type: 'output.Output', data: { name: 'loud' } },
      ],
      ['in.output>up.text', 'up.output>out.value'],
    )
    file('parts/shout.json', { name: 'Shout aloud', description: 'Says a word aloud.', graph })
    await using upstream = await calling('Shout_aloud', { word: 'hi' })
    const { code, outputs, stderr } = await run(file('files.json', agent(['./parts/shout.json'])), { upstream })
    assert.deepEqual([code, outputs], [0, { answer: 'It says: HI' }], stderr)
    assert.equal(toldOf(upstream)[0].description, 'Shout aloud: Says a word aloud.')
  })

  test('calls bundled examples, and files that --workflow names', async () => {
    const graph = graphOf(
      [
        { id: 'c', type: 'constant.String', data: { value: 'of the file' } },
        { id: 'out', type: 'output.Output', data: { name: 'x' } },
      ],
      ['c.output>out.value'],
    )
    const named = file('bare-graph.json', graph)
    await using upstream = await calling('bare_graph', {})
    const args = ['--workflow', `other=${named}`]
    const path = file('examples.json', agent(['workflow/greeting', 'workflow/other']))
    const { code, outputs, stderr } = await run(path, { upstream, args })
    assert.deepEqual([code, outputs], [0, { answer: 'It says: of the file' }], stderr)
    assert.deepEqual(
      toldOf(upstream).map(({ name }: { name: string }) => name),
      ['Greeting', 'bare_graph'],
    )
  })

  test('reports a missing tool before it calls a model', async () => {
    await using upstream = await startUpstream()
    const { code, stderr } = await run(file('none.json', agent(['workflow/nothing'])), { upstream })
    assert.equal(code, 1)
    assert.match(stderr, /There is no workflow "nothing" here\. .*--workflow nothing=FILE\. \(unknown_tool\)/)
    assert.equal(upstream.posts.length, 0)
  })

  test('spends no more than SVC_MAX_COST_PER_JOB', async () => {
    const pricing = { prompt: '0', completion: '0', request: '1' }
    const listing = () => ({ body: JSON.stringify({ data: [{ id: 'gpt-4o-mini', pricing }] }) })
    const answer = (): Script => ({ text: null, tool_calls: [{ id: 'x', name: 'math_Formula', arguments: '{}' }] })
    await using upstream = await startUpstream({ listing, answer })
    const far = { ...upstream, base_url: upstream.base_url.replace('127.0.0.1', '0.0.0.0') }
    const path = file('dear.json', agent([{ node_type: 'math.Formula', data: { formula: '1' } }]))
    const { code, stderr } = await run(path, { upstream: far, env: { SVC_MAX_COST_PER_JOB: '2' } })
    assert.equal(code, 1)
    assert.match(stderr, /This run has spent \$2\.00 on models, and may spend \$2\.00\. \(over_budget\)/)
    assert.equal(upstream.posts.length, 2)
  })
})

const INDEX = {
  index: 'colours',
  texts: ['red', 'blue'],
  vectors: [
    [1, 0],
    [0, 1],
  ],
}

const writing = graphOf(
  [
    { id: 'keep', type: 'vector.Index', data: INDEX },
    { id: 'out', type: 'output.Output', data: { name: 'count' } },
  ],
  ['keep.count>out.value'],
)

const reading = graphOf(
  [
    { id: 'find', type: 'vector.Search', data: { index: 'colours', vector: [0.9, 0.1], top_k: 1 } },
    { id: 'out', type: 'output.Output', data: { name: 'texts' } },
  ],
  ['find.texts>out.value'],
)

describe('vectors in svc run', () => {
  test('exist during the run, and are gone after it', async () => {
    const { nodes, edges } = writing
    const after = { source: 'keep', sourceHandle: 'count', target: 'find', targetHandle: '__control__' }
    const both = {
      nodes: [...nodes, reading.nodes[0]!, { ...reading.nodes[1]!, id: 'texts' }],
      edges: [
        ...edges,
        { ...after, edge_type: 'control' },
        { source: 'find', sourceHandle: 'texts', target: 'texts', targetHandle: 'value' },
      ],
    }
    const env = { SVC_DATA_DIR: join(folder, 'untouched') }
    assert.deepEqual((await run(file('both.json', both), { env })).outputs, { count: 2, texts: ['red'] })
    const { code, stderr } = await run(file('read.json', reading), { env })
    assert.equal(code, 1)
    assert.match(stderr, /There is no vector index "colours"\. \(index_not_found\)/)
    assert.equal(existsSync(env.SVC_DATA_DIR), false)
  })

  test('are kept in the folder that --data names, and a server has them', async () => {
    const data = join(folder, 'kept')
    const args = ['--data', data]
    assert.deepEqual((await run(file('write.json', writing), { args })).outputs, { count: 2 })
    assert.deepEqual((await run(file('read.json', reading), { args })).outputs, { texts: ['red'] })
    await using server = await serve(data)
    const body = JSON.stringify({ name: 'Read', graph: reading })
    const headers = { 'content-type': 'application/json' }
    const made = await fetch(`${server.url}/api/workflows`, { method: 'POST', headers, body })
    const { id } = (await made.json()) as { id: string }
    const ran = await fetch(`${server.url}/api/workflows/${id}/run`, { method: 'POST', headers, body: '{"params":{}}' })
    assert.deepEqual(((await ran.json()) as { outputs: unknown }).outputs, { texts: ['red'] })
  })

  test('stay unchanged in a folder that a server uses, and nothing runs', async () => {
    const data = join(folder, 'taken')
    using _server = openDataFolder(data, 'process 17, 127.0.0.1:7777')
    const { code, stderr } = await run(file('write.json', writing), { args: ['--data', data] })
    assert.equal(code, 1)
    assert.match(stderr, /belongs to a running server \(process 17, .*\); stop it, or choose another with --data$/m)
    assert.equal((await run(file('write.json', writing), { args: ['--data', ''] })).code, 2)
  })
})

describe('a missing secret in the terminal', () => {
  test('is named once as a variable of the environment', async () => {
    const upstream = await startUpstream({ keys: ['good'] })
    await using _upstream = upstream
    const env = { SVC_MODEL_SERVERS: `acme=${upstream.base_url}`, ACME_API_KEY: '', OPENAI_API_KEY: '' }
    for (const [model, name] of [
      ['openai/gpt-4o', 'OPENAI_API_KEY'],
      [MODEL, 'ACME_API_KEY'],
    ]) {
      const { code, stderr } = await svc(['run', 'sort-messages', '--param', `model=${model}`], env)
      assert.equal(code, 1)
      assert.match(stderr, new RegExp(`needs the secret "${name}"\\. Set ${name} in the environment\\. `))
      assert.ok(!stderr.includes('PUT'), stderr)
      assert.equal(stderr.split('needs the secret').length, 2, stderr)
    }
  })

  test('is named the same way for secrets of requests', async () => {
    const graph = graphOf(
      [
        { id: 'ask', type: 'http.Request', data: { url: 'http://127.0.0.1/', headers: { 'x-key': '{{secret:KEY}}' } } },
        { id: 'out', type: 'output.Output', data: { name: 'body' } },
      ],
      ['ask.body>out.value'],
    )
    const { code, stderr } = await run(file('secret.json', graph))
    assert.equal(code, 1)
    assert.match(
      stderr,
      /no secret "KEY"\. Set SVC_SECRET_KEY in the environment, or correct the name\. \(unknown_secret\)/,
    )
  })
})

describe('files', () => {
  function loading(asset: string, max_bytes = 10_000) {
    return graphOf(
      [
        { id: 'load', type: 'asset.Load', data: { asset, max_bytes } },
        { id: 'out', type: 'output.Output', data: { name: 'text' } },
      ],
      ['load.text>out.value'],
    )
  }

  test('that are assets are reported as available only on a server', async () => {
    const { code, stderr } = await run(file('asset.json', loading('asset://a1')))
    assert.equal(code, 1)
    assert.match(
      stderr,
      /"asset:\/\/a1" cannot be read: svc run has no assets\. Run the workflow on a server: svc serve\./,
    )
  })

  test('are read only where they come with the service', async () => {
    const packages = '/api/assets/packages/'
    const sales = await run(file('sales.json', loading(`${packages}tables/sales.csv?v=any`)))
    assert.match(sales.outputs.text, /^date,shop,kind,sold,revenue\n/)
    for (const [reference, message] of [
      [`${packages}tables/none.csv`, /There is no asset at .*none\.csv\. \(asset_not_found\)/],
      [`${packages}../../package.json`, /svc run has no assets/],
    ] as const) {
      const { code, stderr } = await run(file('missing.json', loading(reference)))
      assert.equal(code, 1)
      assert.match(stderr, message)
    }
    const large = await run(file('large.json', loading(`${packages}tables/sales.csv`, 100)))
    assert.match(large.stderr, /more than the 100 that may be loaded\. \(too_large\)/)
  })
})
