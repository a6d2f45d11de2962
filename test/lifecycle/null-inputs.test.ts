// Tests inputs that are null: a value for inputs of type any, and absent for all others. A preflight, a run and a submission agree.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PreflightSummary, RunResult } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import type { GatedServer } from '../jobs/kit.ts'
import { refusedWith, startPreview, submissionOf, submitted, workflow } from './jobs-kit.ts'
import { issuesOf, preflight, requirementsOf } from './preflight-kit.ts'

let server: GatedServer
before(async () => {
  server = await startPreview({ providers: [pricedProvider()] })
})
after(() => server[Symbol.asyncDispose]())

const MISSING = 'asset://none'

/** A default by type of input, which refers to an asset if the type allows it. */
const OWN: Readonly<Record<string, unknown>> = {
  'input.String': MISSING,
  'input.Integer': 7,
  'input.Float': 7.5,
  'input.Boolean': true,
  'input.List': [MISSING],
  'input.Object': { asset_id: 'none' },
  'input.Any': MISSING,
}

const taking = (type: string, data: Record<string, unknown>): Graph =>
  graph([node('in', type, { name: 'x', ...data }), sink('out')], ['in.output->out.value'])

const NULL = { x: null }

async function run(workflow_id: string): Promise<{ status: number; out: unknown }> {
  const path = `/api/workflows/${workflow_id}/run`
  const { status, body } = await call<RunResult>(server, 'POST', path, { body: { params: NULL } })
  return { status, out: body.outputs?.out }
}

function look(workflow_id: string, inputs: object = NULL): Promise<PreflightSummary> {
  return preflight(server, { workflow_id, level: 'execution', inputs })
}

for (const [type, own] of Object.entries(OWN)) {
  const isValue = type === 'input.Any'
  describe(`null for ${type}`, () => {
    test(isValue ? 'counts in place of its own value' : 'leaves it its own value', async () => {
      const of = await workflow(server, taking(type, { value: own }))
      assert.deepEqual(await run(of.id), { status: 200, out: isValue ? null : own })
      const [summary, without] = [await look(of.id), await look(of.id, {})]
      const missing = JSON.stringify(own).includes('none') ? ['asset asset://none missing true'] : []
      assert.deepEqual(requirementsOf(without), missing)
      assert.deepEqual(requirementsOf(summary), isValue ? [] : missing)
      assert.deepEqual(issuesOf(summary), [])
      const submission = submissionOf(of, { inputs: NULL })
      if (summary.runnable) assert.equal((await submitted(server, submission)).duplicate, false)
      else await refusedWith(server, submission, 'PREFLIGHT_FAILED')
    })

    test(isValue ? 'is what it needs' : 'is missing where it has none', async () => {
      const of = await workflow(server, taking(type, {}))
      const { status, out } = await run(of.id)
      assert.deepEqual([status, out], isValue ? [200, null] : [422, undefined])
      assert.deepEqual(issuesOf(await look(of.id)), isValue ? [] : ['error missing_input in x'])
      const submission = submissionOf(of, { inputs: NULL })
      if (isValue) assert.equal((await submitted(server, submission)).duplicate, false)
      else await refusedWith(server, submission, 'PREFLIGHT_FAILED')
    })

    test('for a stream gives no items, and its default is not used', async () => {
      const of = await workflow(server, taking(type, { value: own, stream: true }))
      for (const inputs of [NULL, {}]) {
        const summary = await look(of.id, inputs)
        assert.deepEqual([requirementsOf(summary), summary.issues], [[], []])
      }
      assert.deepEqual(await run(of.id), { status: 200, out: [] })
    })
  })
}

test('null for an input that names a model names no model', async () => {
  const asking = graph(
    [node('in', 'input.Any', { name: 'x', value: 'priced/small' }), node('ask', 'chat.Complete', { prompt: 'Hi' })],
    ['in.output->ask.model'],
  )
  const of = await workflow(server, asking)
  const models = ({ requirements }: PreflightSummary) => requirements.map(({ kind, id }) => `${kind} ${id}`)
  assert.ok(models(await look(of.id, {})).includes('model priced/small'))
  assert.ok(!models(await look(of.id)).includes('model priced/small'))
})
