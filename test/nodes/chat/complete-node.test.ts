// chat.*: requests, streamed output, needs, and invalid inputs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../../src/engine/compile/compiler.ts'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import { createNodeMetadata, isRetrySafe } from '../../../src/engine/node-api/node-metadata.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import type { RunOutcome } from '../../../src/engine/runtime/execution.ts'
import { createUnbilledContext } from '../../../src/models/billing/billing-context.ts'
import { ModelService } from '../../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../../src/models/catalogue/model-list-cache.ts'
import type { Provider } from '../../../src/models/provider.ts'
import { builtinProvider } from '../../../src/models/providers/builtin-echo.ts'
import { createBuiltinRegistry } from '../../../src/models/providers/registry.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { graph, node, outputs, type Recorder, sink, source, start } from '../../engine/kit.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'

const chat = builtinRegistry.get('chat.Complete')!

function services(...providers: Provider[]) {
  const models = new ModelService({
    providers: createBuiltinRegistry(providers),
    model_lists: new ModelListCache({ now: () => 0 }),
  })
  return { ...noServices, models: models.accessFor(createUnbilledContext(() => null)) }
}

/** One node, with these values of its own. */
const one = (data: Record<string, unknown>): Graph => graph([node('chat', 'chat.Complete', data)], [])

async function fired(of: Graph, ...providers: Provider[]): Promise<{ outcome: RunOutcome; observer: Recorder }> {
  const { execution, observer } = start(of, builtinRegistry, { services: services(...providers) })
  return { outcome: await execution.done, observer }
}

/** The failure of a firing that gets these values along edges. Validation checks the node's own values before. */
async function failure({ model = 'builtin/echo', ...data }: Record<string, unknown>): Promise<string> {
  const given = Object.entries({ prompt: '', ...data })
  const nodes = [node('chat', 'chat.Complete', { model }), ...given.map(([name, value]) => source(name, value))]
  const { outcome } = await fired(
    graph(
      nodes,
      given.map(([name]) => `${name}.output->chat.${name}`),
    ),
  )
  assert.equal(outcome.status, 'failed', JSON.stringify(outcome))
  return outcome.status === 'failed' ? `${outcome.error.type}: ${outcome.error.message}` : ''
}

describe('chat.Complete', () => {
  const data = { model: 'builtin/echo', prompt: 'over and out' }

  test('streams the pieces of one text, and gives its usage', async () => {
    const nodes = [node('chat', 'chat.Complete', data), sink('text'), sink('usage')]
    const of = graph(nodes, ['chat.text->text.value', 'chat.usage->usage.value'])
    const usage = { model: 'builtin/echo', input_tokens: 3, output_tokens: 3, total_tokens: 6 }
    assert.deepEqual(await outputs(of, builtinRegistry, { services: services() }), {
      text: ['over', ' and', ' out'],
      usage: [{ ...usage, cost: 0, currency: 'USD', finish_reason: 'stop' }],
    })
    const { plan } = compileGraph(of, builtinRegistry)
    const [text, used] = plan!.outputs
    assert.deepEqual([text!.stream, text!.stream_kind, text!.type.type], [true, 'text', 'str'])
    assert.deepEqual([used!.stream, used!.stream_kind], [false, undefined])
  })

  test('publishes each piece live, and then the end', async () => {
    const { observer } = await fired(one(data))
    const chunk = (content: string, done: boolean) => ({ content, content_type: 'text', done, thinking: false })
    assert.deepEqual(
      observer.named('chunk').map((call) => call.slice(1)),
      [
        ['chat', chunk('over', false)],
        ['chat', chunk(' and', false)],
        ['chat', chunk(' out', false)],
        ['chat', chunk('', true)],
      ],
    )
  })

  test('gives one text to a Join behind a Collect', async () => {
    const nodes = [
      node('chat', 'chat.Complete', data),
      node('all', 'control.Collect'),
      node('join', 'text.Join'),
      sink('out'),
    ]
    const of = graph(nodes, ['chat.text->all.item', 'all.list->join.list', 'join.output->out.value'])
    assert.deepEqual(await outputs(of, builtinRegistry, { services: services() }), { out: ['over and out'] })
  })

  test('sends the system text, the messages and the prompt in this order, and its limits', async () => {
    const priced = pricedProvider()
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'second' },
    ]
    const sent = { system: 'be kind', messages, prompt: 'third', max_output_tokens: 9, seed: 4 }
    const { outcome } = await fired(one({ model: 'priced/small', ...sent }), priced)
    assert.equal(outcome.status, 'completed')
    assert.deepEqual(priced.calls[0]!.request, {
      model: 'small',
      messages: [{ role: 'system', content: 'be kind' }, ...messages, { role: 'user', content: 'third' }],
      max_completion_tokens: 9,
      seed: 4,
    })
  })

  test('takes its prompt along an edge, for each item of a stream', async () => {
    const nodes = [
      source('in', ['a b', 'c']),
      node('each', 'control.ForEach'),
      node('chat', 'chat.Complete', { model: 'builtin/echo' }),
      node('words', 'control.Count'),
      sink('out'),
    ]
    const edges = ['in.output->each.list', 'each.item->chat.prompt', 'chat.text->words.item', 'words.count->out.value']
    assert.deepEqual(await outputs(graph(nodes, edges), builtinRegistry, { services: services() }), { out: [2, 1] })
  })

  test('stops at its limit, and reports that in its usage', async () => {
    const nodes = [node('chat', 'chat.Complete', { ...data, max_output_tokens: 2 }), sink('out')]
    const of = graph(nodes, ['chat.usage->out.value'])
    const { out } = await outputs(of, builtinRegistry, { services: services() })
    const [usage] = out as Record<string, unknown>[]
    assert.deepEqual([usage!.output_tokens, usage!.finish_reason], [2, 'length'])
  })

  test('refuses invalid conversations', async () => {
    const message = (more: object) => failure({ messages: [{ role: 'user', content: 'x' }, more] })
    assert.match(await failure({}), /^bad_input: There is nothing to answer. Set a prompt or messages\.$/)
    assert.match(await failure({ system: 'be kind' }), /^bad_input: There is nothing to answer/)
    assert.match(await failure({ messages: [] }), /^bad_input: There is nothing to answer/)
    assert.match(
      await message({ role: 'tool', content: 'x' }),
      /^bad_input: Message 2 must have one of the roles system, user, assistant/,
    )
    assert.match(await message({ content: 'x' }), /^bad_input: Message 2 must have one of the roles/)
    assert.match(
      await message({ role: 'user', content: ['x'] }),
      /^bad_input: Part 1 of message 2 must be a text part, or an image_url part with its url\.$/,
    )
    const picture = { type: 'image_url', image_url: { url: 'https://x' } }
    for (const part of [{ type: 'text' }, { type: 'image_url', image_url: 'https://x' }, { type: 'audio' }, null])
      assert.match(await message({ role: 'user', content: [part] }), /^bad_input: Part 1 of message 2 must be a text/)
    assert.match(
      await message({ role: 'assistant', content: [{ type: 'text', text: 'x' }, picture] }),
      /^bad_input: Part 2 of message 2 must be a text part\.$/,
    )
    for (const more of [{}, { content: [] }, { content: 7 }])
      assert.match(
        await message({ role: 'user', ...more }),
        /^bad_input: Message 2 must have a text, or a list of parts, as its content\.$/,
      )
    assert.match(
      await message({ role: 'user', content: 'x', name: 'n' }),
      /^bad_input: Message 2 has 1 keys besides role and content/,
    )
    const many = Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' }))
    assert.match(await failure({ messages: many }), /^too_large: There are more than 10,000 messages\./)
    const parts = { role: 'user', content: Array(2_000).fill({ type: 'text', text: '' }) }
    assert.match(await failure({ messages: Array(51).fill(parts) }), /^too_large: .* more than 100,000 parts\./)
    const half = { role: 'user', content: 'x'.repeat(2_000_001) }
    assert.match(
      await failure({ messages: [half, half] }),
      /^too_large: All messages together have more than 4,000,000/,
    )
    assert.match(await failure({ model: '', prompt: 'x' }), /^model_not_found: No provider has a model ""/)
    assert.match(await failure({ model: 'gpt', prompt: 'x' }), /^model_not_found: /)
  })

  test('is checked before it runs: messages are objects, limits are positive, and a model is named', () => {
    const codes = (data: Record<string, unknown>) =>
      compileGraph(one(data), builtinRegistry)
        .issues.filter(({ severity }) => severity === 'error')
        .map(({ code, pin_name }) => `${code} ${pin_name}`)
    assert.deepEqual(codes({ prompt: 'x' }), ['missing_property model'])
    assert.deepEqual(codes({}), ['missing_property model'])
    assert.deepEqual(codes({ model: 'm', messages: ['hello'] }), ['type_mismatch messages'])
    assert.deepEqual(codes({ model: 'm', prompt: 'x', max_output_tokens: 0 }), ['out_of_range max_output_tokens'])
  })

  test('is refused before it runs if its own values are an invalid conversation, whatever the edges bring', () => {
    const codes = (data: Record<string, unknown>, fed: string[] = []) => {
      const nodes = [node('chat', 'chat.Complete', { model: 'm', ...data }), ...fed.map((name) => source(name, 'x'))]
      const edges = fed.map((name) => `${name}.output->chat.${name}`)
      return compileGraph(graph(nodes, edges), builtinRegistry)
        .issues.filter(({ severity }) => severity === 'error')
        .map(({ code, node_id, pin_name }) => `${code} ${node_id} ${pin_name}`)
    }
    assert.deepEqual(codes({}), ['missing_property chat prompt'])
    assert.deepEqual(codes({ system: 'be kind' }), ['missing_property chat prompt'])
    assert.deepEqual(codes({}, ['system']), ['missing_property chat prompt'])
    assert.deepEqual(codes({}, ['prompt']), [])
    assert.deepEqual(codes({}, ['messages']), [])
    const tool = [{ role: 'tool', content: 'x' }]
    assert.deepEqual(codes({ messages: tool }), ['type_mismatch chat messages'])
    assert.deepEqual(codes({ messages: tool }, ['prompt']), ['type_mismatch chat messages'])
    assert.deepEqual(codes({ messages: tool, prompt: 'x' }, ['messages']), [])
    const long = 'x'.repeat(4_000_001)
    assert.deepEqual(codes({ prompt: long }), ['out_of_range chat prompt'])
    assert.deepEqual(codes({ system: long }, ['prompt']), ['out_of_range chat prompt'])
    assert.deepEqual(codes({ prompt: long }, ['prompt']), [])
    assert.deepEqual(codes({ prompt: 'x'.repeat(4_000_000) }), [])
    const many = Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' }))
    assert.deepEqual(codes({ messages: many }), ['out_of_range chat messages'])
    const [issue] = compileGraph(one({ model: 'm' }), builtinRegistry).issues
    assert.equal(issue!.message, 'Node "chat": There is nothing to answer. Set a prompt or messages.')
  })

  test('fails as its provider does, which a Catch holds, and keeps the cause for the log', async () => {
    const cause = new Error('upstream said no')
    const priced = pricedProvider({ answer: () => ({ fails: { before: 1, with: cause } }) })
    const { outcome, observer } = await fired(one({ model: 'priced/small', prompt: 'x' }), priced)
    assert.deepEqual(outcome, {
      status: 'failed',
      error: { node_id: 'chat', type: 'provider_failed', message: 'The provider "priced" failed to answer.' },
    })
    assert.deepEqual(observer.faults, [cause])
    const nodes = [node('chat', 'chat.Complete', { model: 'priced/small', prompt: 'x' }), node('c', 'control.Catch')]
    const held = graph([...nodes, sink('error')], ['chat.usage->c.value', 'c.error->error.value'])
    const { error } = await outputs(held, builtinRegistry, { services: services(priced) })
    assert.equal((error as { type: string }[])[0]!.type, 'provider_failed')
  })

  test('needs a host with models', async () => {
    const { execution } = start(one(data), builtinRegistry, {})
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'unavailable')
  })

  test('is safe to retry only with the echo, so that no user pays twice', async () => {
    assert.equal(isRetrySafe(chat, { model: 'builtin/echo' }), true)
    for (const model of ['priced/small', 'echo', '', null]) assert.equal(isRetrySafe(chat, { model }), false)
    assert.equal(createNodeMetadata(chat).retry_safe, false)
    const [echo] = await builtinProvider.models({ credential: null, signal: new AbortController().signal })
    assert.equal(isRetrySafe(chat, { model: echo!.id }), true)
  })
})

describe('what chat.Complete will need', () => {
  const needs = (data: Record<string, unknown>, connected: string[] = []) =>
    chat.needs!({
      node_id: 'chat',
      data: { system: '', prompt: '', messages: [], max_output_tokens: null, seed: null, model: null, ...data },
      isConnected: (name) => connected.includes(name),
    })
  const need = { kind: 'model', model: 'm/n', task: 'chat', prompt: ['x'], max_output_tokens: null }

  test('is its model, with the complete prompt', () => {
    assert.deepEqual(needs({ model: 'm/n', prompt: 'x' }), [need])
    const messages = [{ role: 'user', content: 'b' }]
    const data = { model: 'm/n', system: 'a', messages, prompt: 'c', max_output_tokens: 5 }
    assert.deepEqual(needs(data), [{ ...need, prompt: ['a', 'b', 'c'], max_output_tokens: 5 }])
  })

  test('is unknown if the values come along an edge or are invalid', () => {
    for (const name of ['system', 'prompt', 'messages'])
      assert.deepEqual(needs({ model: 'm/n', prompt: 'x' }, [name]), [{ ...need, prompt: null }])
    const unknown = { ...need, model: null }
    assert.deepEqual(needs({ model: 'm/n', prompt: 'x' }, ['model']), [unknown])
    for (const model of ['', 3, null]) assert.deepEqual(needs({ model, prompt: 'x' }), [unknown])
    const limited = needs({ model: 'm/n', prompt: 'x', max_output_tokens: 5 }, ['max_output_tokens'])
    assert.deepEqual(limited, [need])
    for (const messages of [7, [null], ['x'], [{ role: 'x' }]])
      assert.deepEqual(needs({ model: 'm/n', messages }), [{ ...need, prompt: null }])
  })
})
