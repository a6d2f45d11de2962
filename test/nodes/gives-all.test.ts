// Checks node types that claim that each firing gives all of their outputs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { createUnbilledContext } from '../../src/models/billing/billing-context.ts'
import { ModelService } from '../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../src/models/catalogue/model-list-cache.ts'
import { createBuiltinRegistry } from '../../src/models/providers/registry.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node, outputs, sink } from '../engine/kit.ts'

const marked = builtinRegistry.all().filter(({ gives_all }) => gives_all)

/** Values of types that need some. The second set has empty values, which could make an output missing. */
const DATA: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  'text.Template': [{ template: 'x' }, { template: '' }],
  'text.Replace': [{ text: 'x', find: 'x' }, { text: '' }],
  'text.Join': [{ list: ['x'] }, { list: [] }],
  'json.Parse': [{ text: '1' }, { text: 'null' }],
  'json.Stringify': [{ value: {} }, { value: null }],
  'math.Formula': [{ formula: '1' }],
  'control.ForEach': [{ list: [1, 2] }, { list: [] }],
  'control.Delay': [{ seconds: 0, value: 'x' }, { seconds: 0 }],
  'agent.Run': [{ model: 'builtin/echo', prompt: 'x y' }],
  'chat.Complete': [
    { model: 'builtin/echo', prompt: 'x y' },
    { model: 'builtin/echo', messages: [{ role: 'assistant', content: '' }] },
  ],
  'chat.Classify': [{ model: 'builtin/echo', text: 'a', labels: ['a', 'b'] }],
  'chat.Summarize': [{ model: 'builtin/echo', text: 'x y' }],
  'prompt.Template': [{ template: 'x' }, { template: ' ' }],
  'asset.Save': [{ data: 'x' }, { data: '' }],
  'vector.Remove': [{ index: 'i', all: true }, { index: 'i' }],
}
const INPUTS = ['x', 1, 2.5, true, [], {}, null]

const models = new ModelService({
  providers: createBuiltinRegistry(),
  model_lists: new ModelListCache({ now: () => 0 }),
}).accessFor(createUnbilledContext(() => null))

/** An empty store of vectors. */
const vectors = { ...noServices.vectors, list: async () => [], remove: async () => 0 }

/** A store of assets that keeps nothing. */
const assets = {
  ...noServices.assets,
  save: async () => ({ type: 'file', uri: '', asset_id: '', content_type: '', size: 0, sha256: '', name: '' }),
  list: async () => [],
}

/** The value of each output; a stream is gathered first. */
async function given(node_type: string, data: Record<string, unknown>): Promise<Record<string, unknown>> {
  const type = builtinRegistry.get(node_type)!
  const takesStream = type.properties.some(({ aggregate }) => aggregate)
  const nodes = [node('n', node_type, { name: 'n', ...data }), node('each', 'control.ForEach', { list: [] })]
  const edges = takesStream ? ['each.item->n.item'] : []
  for (const { name, stream } of type.outputs) {
    nodes.push(sink(name))
    if (stream) nodes.push(node(`all ${name}`, 'control.Collect'))
    edges.push(
      ...(stream ? [`n.${name}->all ${name}.item`, `all ${name}.list->${name}.value`] : [`n.${name}->${name}.value`]),
    )
  }
  return await outputs(graph(nodes, edges), builtinRegistry, { services: { ...noServices, assets, models, vectors } })
}

describe('gives all of its outputs, also for empty values:', () => {
  for (const { node_type, role, outputs: declared } of marked) {
    const sets = role === 'input' ? INPUTS.map((value) => ({ value })) : (DATA[node_type] ?? [{}])
    test(node_type, async () => {
      let tried = 0
      for (const data of sets) {
        const got = await given(node_type, data).catch(() => null)
        if (!got) continue
        tried++
        for (const { name } of declared) assert.equal((got[name] as unknown[]).length, 1, `${name} of ${node_type}`)
      }
      assert.ok(tried > 0 && (role === 'input' || tried === sets.length), `${tried} of ${sets.length} values fit`)
    })
  }
})
