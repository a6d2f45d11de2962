// Tests requests and graphs of every kind, good and bad: each gets an answer of the contract, soon, and none causes a server error.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { PreflightSummary } from '../../generated/types.ts'
import { type Schema, valuesAround } from '../contract/schema-values.ts'
import { graph, node } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { takesLess } from '../helpers/patience.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { type Client, connect } from '../helpers/socket.ts'
import { stored } from '../sockets/kit.ts'
import { calling, PREFLIGHT, preflight, preflightOf, requirement } from './preflight-kit.ts'

const RUNS = 150 * Number(process.env.SVC_TEST_SCALE ?? 1)
const SEED = Number(process.env.SVC_TEST_SEED ?? Date.now() % 2 ** 31)

let server: TestServer
let client: Client
let ids: string[]
before(async () => {
  server = await startServer({ providers: [pricedProvider()], config: { ws_rate_limit_disabled: true } })
  client = await connect(server, { mode: 'text' })
  ids = [await stored(server, mixed), await stored(server, graph([node('a', 'no.Such')], [])), 'wf_none']
})
after(async () => {
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const mixed = graph(
  [
    node('any', 'input.Any', { name: 'any', value: 1 }),
    node('model', 'input.String', { name: 'model', value: 'priced/small' }),
    node('count', 'input.Integer', { name: 'count', min: 0, max: 9, value: 1 }),
    node('items', 'input.Any', { name: 'items', stream: true }),
    node('ask', 'chat.Complete', { prompt: 'x' }),
    node('load', 'asset.Load'),
    node('call', 'workflow.Call', { workflow_id: 'wf_none' }),
    node('out', 'output.Output', { name: 'out' }),
  ],
  [
    'model.output->ask.model',
    'any.output->load.asset',
    'count.output->ask.max_output_tokens',
    'items.output->out.value',
  ],
)

const document = JSON.parse(readFileSync('generated/openapi.json', 'utf8')) as {
  components: { schemas: Record<string, Schema> }
}
const resolve = (schema: Schema): Schema =>
  schema.$ref ? resolve(document.components.schemas[schema.$ref.split('/').at(-1)!]!) : schema

/** Texts that look like references and secrets, and end where they are cut off. */
const odd = fc.constantFrom<unknown>(
  'asset://',
  'asset:// ',
  'asset://%00',
  '/api/storage/',
  '/api/storage/%2e%2e/%zz',
  '/api/storage/temp/../x',
  '/api/storage/a?b#c',
  { asset_id: '' },
  { asset_id: null },
  { asset_id: { asset_id: 'x' } },
  { __proto__: null, asset_id: 'asset://' },
  JSON.parse('{"__proto__": {"asset_id": "x"}}'),
  'priced/',
  '/',
  'priced/small/',
  `${'/'.repeat(1_000)}`,
  '{{secret:X}}',
  -0,
  1e308,
  [],
  [[[[]]]],
)

const inputs = fc.dictionary(
  fc.oneof(fc.constantFrom('any', 'model', 'count', 'items', '__proto__', 'a/b~', ''), fc.string()),
  fc.oneof(odd, fc.jsonValue({ maxDepth: 3 })),
)

const request = fc.oneof(
  valuesAround({ $ref: '#/components/schemas/PreflightRequest' }, resolve),
  fc
    .record({
      workflow_id: fc.nat(2),
      level: fc.constantFrom('static', 'availability', 'execution'),
      inputs,
    })
    .map((one) => ({ ...one, workflow_id: ids[one.workflow_id] })),
)

describe('any request', () => {
  test('gets one of the answers of preflightWorkflow, and none is a server error', async () => {
    const seen = new Set<number>()
    await fc.assert(
      fc.asyncProperty(request, async (body) => {
        // The answer is checked against the contract: another status or body fails there.
        const answer = await call<PreflightSummary>(server, 'POST', PREFLIGHT, { body })
        seen.add(answer.status)
        assert.ok([200, 400, 404].includes(answer.status), answer.text)
        if (answer.status === 200) sound(answer.body)
      }),
      { numRuns: RUNS, seed: SEED },
    )
    assert.deepEqual([...seen].sort(), [200, 400, 404])
  })

  test('gets one reply of preflight_workflow, and none is a server error', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (data) => {
        const { error, result } = await client.ask('preflight_workflow', data)
        if (result) return sound(result as PreflightSummary)
        const { code } = error as { code: string }
        assert.ok(['INVALID_REQUEST', 'WORKFLOW_NOT_FOUND'].includes(code), code)
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })
})

/** Checks what holds for every summary. */
function sound({ level, runnable, issues, requirements, cost }: PreflightSummary): void {
  const clean = issues.every(({ severity }) => severity !== 'error')
  const met = requirements.every(({ blocking, status }) => !blocking || status === 'available')
  assert.equal(runnable, clean && met)
  if (level === 'static') assert.deepEqual([requirements, cost], [[], null])
  const keys = requirements.map(({ kind, id }) => `${kind}\n${id}`)
  assert.deepEqual(keys, [...new Set(keys)].sort())
}

describe('large requests', () => {
  test('a megabyte of small values is walked at once', async () => {
    const body = { workflow_id: ids[0], level: 'availability', inputs: { any: new Array(500_000).fill(0) } }
    await takesLess(5_000, () => preflight(server, body))
  })

  test('a long text with very many references is scanned in linear time', async () => {
    const text = Array.from({ length: 50_000 }, (_, at) => `/api/storage/1/${at % 20_000}`).join(' ')
    const summary = await preflightOf(server, mixed, { inputs: { any: text } })
    assert.equal(requirement(summary, 'asset', 'others').status, 'unknown')
    const slashes = `asset://${'asset:/'.repeat(100_000)} /api/storage/${'/'.repeat(100_000)}`
    await takesLess(5_000, () => preflightOf(server, mixed, { inputs: { any: [slashes, `x${slashes}`] } }))
  })

  test('a prompt of megabytes is counted at most as often as allowed', async () => {
    const data = { model: 'priced/small' }
    const nodes = Array.from({ length: 50 }, (_, at) => node(`n${at}`, 'chat.Complete', { ...data, system: `${at}` }))
    const of = graph(
      [node('in', 'input.String', { name: 'text' }), ...nodes],
      nodes.map(({ id }) => `in.output->${id}.prompt`),
    )
    const workflow_id = await stored(server, of)
    const body = { workflow_id, level: 'availability', inputs: { text: 'word '.repeat(500_000) } }
    await takesLess(10_000, async () => {
      const { cost } = await preflight(server, body)
      assert.equal(cost?.confidence, 'partial')
      assert.equal(cost?.unknown_cost_nodes.length, 43)
    })
  })

  test('a workflow that calls very many others is explored up to a limit', async () => {
    const callees = await Promise.all(Array.from({ length: 230 }, () => stored(server, graph([], []))))
    const of = graph(
      callees.map((id) => ({ ...calling(id).nodes[0]!, id })),
      [],
    )
    const summary = await preflightOf(server, of)
    assert.deepEqual([summary.runnable, summary.issues.map(({ code }) => code)], [true, ['called_workflows_unchecked']])
  })
})
