// The Anthropic provider against a server that behaves like the real one: its models, its answers in arbitrary pieces, and its errors.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { CompletionPart, Provider } from '../../../../src/models/provider.ts'
import { createClaudeModel } from '../../../../src/models/providers/anthropic/model-traits.ts'
import { createAnthropicProvider } from '../../../../src/models/providers/anthropic/provider.ts'
import { type ClaudeScript, claudeEvents, event, startAnthropic } from '../../../helpers/anthropic-upstream.ts'
import type { VendorUpstream } from '../../../helpers/vendor-upstream.ts'
import { type Asked, blames, joined, KEY, partsOf, quickClient, requestOf } from '../../vendor-kit.ts'

const client = quickClient()
after(() => client[Symbol.asyncDispose]())

const MODEL = 'claude-opus-5-5'
const AT_ONCE = 50
const to = ({ base_url }: VendorUpstream) => createAnthropicProvider({ client, base_url })
const END = { type: 'end', usage: { input_tokens: 16, output_tokens: 7, cost: null }, finish_reason: 'stop' }

async function answer(script: ClaudeScript, asked: Asked = {}): Promise<CompletionPart[]> {
  await using upstream = await startAnthropic({ answer: () => script })
  return joined(await partsOf(to(upstream), requestOf(MODEL, asked), KEY))
}

const fails = (script: ClaudeScript, ...blamed: Parameters<typeof blames>) =>
  assert.rejects(answer(script), blames(...blamed))

describe('the models', () => {
  test('are those of all pages of the list, with their features and prices', async () => {
    await using upstream = await startAnthropic()
    const models = await to(upstream).models({ credential: KEY, signal: new AbortController().signal })
    assert.equal(upstream.requests.length, 2)
    assert.deepEqual(models[0], {
      id: 'anthropic/claude-opus-5-5',
      name: 'claude-opus-5-5',
      title: 'Claude Opus 5.5',
      tasks: ['chat'],
      price: {
        currency: 'USD',
        per_request: 0,
        per_million_input_tokens: 4,
        per_million_output_tokens: 20,
        as_of: '2026-11-10',
      },
      max_output_tokens: 128_000,
      context_length: 1_000_000,
      modalities: ['text', 'image', 'file'],
      capabilities: ['streaming', 'tools', 'parallel_tools', 'structured_output', 'reasoning'],
      created: Date.UTC(2026, 8, 22) / 1_000,
    })
    const rest = models.slice(1).map(({ name, max_output_tokens, created }) => [name, max_output_tokens, created])
    assert.deepEqual(rest, [
      ['claude-haiku-4-5-20251001', null, Date.UTC(2025, 9, 15) / 1_000],
      ['claude-3-5-haiku-20241022', null, undefined],
    ])
    assert.deepEqual(
      models.map(({ price }) => price?.per_million_input_tokens),
      [4, 1, undefined],
    )
  })

  test('have the price of their version on any date, and unknown versions have none', () => {
    const cost = (id: string) => createClaudeModel('anthropic', { id })!.price?.per_million_input_tokens
    const known = ['claude-sonnet-4-20250514', 'claude-opus-4-1-20250805', 'claude-opus-4-5', 'claude-haiku-5-5-latest']
    assert.deepEqual(known.map(cost), [3, 15, 5, 0.1])
    for (const id of ['claude-opus-4-99', 'claude-opus-5-5-fast', 'claude-opus', 'claude'])
      assert.equal(createClaudeModel('anthropic', { id })!.price, null, id)
  })

  test('have traits that decide which requests are accepted', async () => {
    await using upstream = await startAnthropic()
    const provider = to(upstream)
    await provider.models({ credential: KEY, signal: new AbortController().signal })
    await assert.rejects(
      partsOf(provider, requestOf(MODEL, { reasoning_effort: 'xhigh' }), KEY),
      blames('unsupported', 'reasoning_effort', /none, low, medium, high, max/),
    )
    assert.equal(upstream.posted.length, 0)
    await partsOf(provider, requestOf(MODEL), KEY)
    assert.equal(upstream.posted[0].max_tokens, 128_000)
  })
})

describe('an answer', () => {
  const script: ClaudeScript = {
    says: [
      { thinking: ['let me', ' see ☕'], signature: 'sig' },
      { redacted: 'xyz' },
      { text: ['Grüße', ' aus 東京 🗼'] },
      { tool: 'look', id: 'toolu_1', input: ['{"city":', '"Ulm"}'] },
      { tool: 'now', id: 'toolu_2', input: [] },
    ],
    stop_reason: 'tool_use',
  }
  const parts = [
    { type: 'thinking', text: 'let me see ☕' },
    { type: 'text', text: 'Grüße aus 東京 🗼' },
    { type: 'tool_call', index: 0, id: 'toolu_1', name: 'look', arguments: '{"city":"Ulm"}' },
    { type: 'tool_call', index: 1, id: 'toolu_2', name: 'now', arguments: '{}' },
    { ...END, finish_reason: 'tool_calls' },
  ]

  test('comes as parts, with all input tokens', async () => {
    assert.deepEqual(await answer({}), [{ type: 'text', text: 'Hello there' }, END])
    assert.deepEqual(await answer(script), parts)
  })

  test('is the same wherever its bytes are split', async () => {
    const short: ClaudeScript = { says: script.says!.slice(2, 4), stop_reason: 'tool_use', usage: null }
    const length = Buffer.byteLength(claudeEvents(short).join(''))
    await using upstream = await startAnthropic({ answer: (_request, n) => ({ ...short, split: [n + 1] }) })
    const provider = to(upstream)
    const usage = { input_tokens: 0, output_tokens: 0, cost: null }
    const expected = [...parts.slice(1, 3), { type: 'end', usage, finish_reason: 'tool_calls' }]
    for (let offset = 1; offset < length; offset += AT_ONCE) {
      const asked = Array.from({ length: AT_ONCE }, () => partsOf(provider, requestOf(MODEL), KEY))
      for (const read of await Promise.all(asked)) assert.deepEqual(joined(read), expected, `parted near ${offset}`)
    }
    assert.deepEqual(await answer({ ...script, split: 'every' }), parts)
    assert.ok(upstream.connections <= 2 * AT_ONCE, `${upstream.connections} connections`)
  })

  test('is read in spite of unknown events', async () => {
    const strange = ['ping', 'new_event', 'content_block_stop'].map((type) => event({ type, index: 77 }))
    const blocks = [
      event({ type: 'content_block_start', index: 5, content_block: { type: 'new_block', text: 'no' } }),
      event({ type: 'content_block_delta', index: 5, delta: { type: 'new_delta', text: 'no' } }),
      event({ type: 'content_block_delta', index: 5, delta: { type: 'input_json_delta', partial_json: 'no' } }),
      event({ type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: {} } }),
      ': a comment\n\n',
    ]
    const events = claudeEvents({}).flatMap((one) => [...strange, ...blocks, one])
    assert.deepEqual(await answer({ events }), [{ type: 'text', text: 'Hello there' }, END])
  })

  test('may have its whole content at the start of its blocks', async () => {
    const block = (index: number, content_block: object) => event({ type: 'content_block_start', index, content_block })
    const [start, , ...rest] = claudeEvents({ says: [] })
    const events = [
      start!,
      block(0, { type: 'thinking', thinking: 'hm', signature: 's' }),
      block(1, { type: 'text', text: 'Hi' }),
      block(2, { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }),
      event({ type: 'content_block_stop', index: 2 }),
      ...rest,
    ]
    assert.deepEqual((await answer({ events })).slice(0, -1), [
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'Hi' },
      { type: 'tool_call', index: 0, id: 't', name: 'f', arguments: '{"a":1}' },
    ])
  })

  test('has the reason of its end', async () => {
    const reasons = {
      end_turn: 'stop',
      stop_sequence: 'stop',
      pause_turn: 'stop',
      something_new: 'stop',
      max_tokens: 'length',
      model_context_window_exceeded: 'length',
      tool_use: 'tool_calls',
      refusal: 'content_filter',
    }
    for (const [stop_reason, finish_reason] of Object.entries(reasons))
      assert.deepEqual((await answer({ stop_reason })).at(-1), { ...END, finish_reason }, stop_reason)
    const stop_details = { type: 'refusal', category: 'bio', explanation: 'Not that.' }
    const refused = await answer({ says: [], stop_reason: 'refusal', stop_details })
    assert.deepEqual(refused[0], { type: 'refusal', text: 'Not that.' })
  })

  test('may lack token counts', async () => {
    const end = (await answer({ usage: null })).at(-1)
    assert.deepEqual(end, { ...END, usage: { input_tokens: 0, output_tokens: 0, cost: null } })
  })

  test('gets its tool names and thinking back with the result of a call', async () => {
    await using upstream = await startAnthropic({
      answer: (_request, n) =>
        n === 0
          ? { ...script, says: [script.says![0]!, script.says![1]!, { tool: 'a_b', id: 'toolu_9', input: ['{}'] }] }
          : {},
    })
    const provider = to(upstream)
    const tools: Asked['tools'] = [{ type: 'function', function: { name: 'a.b' } }]
    const messages: Asked['messages'] = [{ role: 'user', content: 'go' }]
    const called = joined(await partsOf(provider, requestOf(MODEL, { tools, messages }), KEY))
    assert.deepEqual(called.at(-2), { type: 'tool_call', index: 0, id: 'toolu_9', name: 'a.b', arguments: '{}' })
    const call = { id: 'toolu_9', type: 'function' as const, function: { name: 'a.b', arguments: '{}' } }
    const went = [...messages, { role: 'assistant' as const, tool_calls: [call] }]
    const said = { role: 'tool' as const, tool_call_id: 'toolu_9', content: 'done' }
    await partsOf(provider, requestOf(MODEL, { tools, messages: [...went, said] }), KEY)
    assert.deepEqual(upstream.posted[1].messages[1].content, [
      { type: 'thinking', thinking: 'let me see ☕', signature: 'sig' },
      { type: 'redacted_thinking', data: 'xyz' },
      { type: 'tool_use', id: 'toolu_9', name: 'a_b', input: {} },
    ])
  })
})

describe('an error', () => {
  test('before an answer has the right fault, in a message without the key', async () => {
    const error = (type: string, status: number, message = `${KEY} is bad`, headers = {}): ClaudeScript => ({
      error: { type, message },
      status,
      headers,
    })
    await fails(error('invalid_request_error', 400), 'rejected', null, /refused the request: \*\*\* is bad$/)
    const deprecated = '`temperature` is deprecated for this model.'
    await fails(error('invalid_request_error', 400, deprecated), 'rejected', 'temperature', /is deprecated/)
    await fails(error('request_too_large', 413), 'rejected', null)
    await fails(error('authentication_error', 401), 'no_key', null, /refused its key/)
    await fails(error('permission_error', 403), 'no_key', null)
    await fails(error('not_found_error', 404), 'not_found', null)
    await fails(error('api_error', 500), 'failed', null, /^The provider "anthropic" failed to answer\.$/)
    await fails(error('something_new', 418), 'rejected', null)
    await fails(error('timeout_error', 504), 'timed_out', null)
    await fails({ status: 529, body: 'not JSON' }, 'failed', null)
    await fails({ status: 302, body: '' }, 'failed', null)
    await assert.rejects(answer(error('rate_limit_error', 429, 'slow', { 'retry-after': '7' })), {
      fault: 'rate_limited',
      retry_after_seconds: 7,
    })
  })

  test('in the middle of an answer ends the answer', async () => {
    const [start, ...rest] = claudeEvents({})
    const middle = (type: string) => ({
      events: [start!, rest[1]!, rest[2]!, event({ type: 'error', error: { type, message: `about ${KEY}` } }), ...rest],
    })
    await fails(middle('overloaded_error'), 'failed', null, /failed to answer/)
    await fails(middle('rate_limit_error'), 'rate_limited', null)
    await fails(middle('something_new'), 'failed', null)
    await fails({ cuts: 4 }, 'failed', null, /closed the connection/)
    await fails({ events: claudeEvents({}).slice(0, -2) }, 'failed', null, /broke off/)
    await fails({ events: [start!, 'data: {"type":\n\n', ...rest] }, 'failed', null, /not understood/)
    await fails({ body: { type: 'message' } }, 'failed', null, /not understood/)
  })

  test('after the end of an answer does not undo it', async () => {
    const events = claudeEvents({}).slice(0, -1)
    assert.deepEqual(await answer({ events }), [{ type: 'text', text: 'Hello there' }, END])
    assert.deepEqual(await answer({ hangs: claudeEvents({}).length }), [{ type: 'text', text: 'Hello there' }, END])
  })

  test('of a list is reported', async () => {
    await using upstream = await startAnthropic({ key: 'another' })
    const context = { credential: KEY, signal: new AbortController().signal }
    await assert.rejects(to(upstream).models(context), blames('no_key', null))
  })

  test('is not reported where the caller has aborted', async () => {
    await using upstream = await startAnthropic({ answer: () => ({ hangs: 4 }) })
    const gone = new AbortController()
    const reason = new Error('enough')
    const parts = to(upstream).complete(requestOf(MODEL), { credential: KEY, signal: gone.signal })
    const reading = parts[Symbol.asyncIterator]()
    assert.deepEqual((await reading.next()).value, { type: 'text', text: 'Hello' })
    gone.abort(reason)
    await assert.rejects(reading.next(), reason)
    await upstream.requests[0]!.gone

    const another = to(upstream).complete(requestOf(MODEL), { credential: KEY, signal: new AbortController().signal })
    for await (const _ of another) break
    await upstream.requests[1]!.gone
  })
})

test('an answer can have a schema with bounds, although the vendor would refuse them', async () => {
  await using upstream = await startAnthropic()
  const properties = {
    age: { type: 'integer', minimum: 0 },
    names: { type: 'array', items: { type: 'string', maxLength: 9 } },
  }
  const schema = { type: 'object', properties, required: ['age', 'names'], additionalProperties: false }
  const ask = (provider: Provider, given: object) =>
    partsOf(
      provider,
      requestOf(MODEL, {
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { ...given }, strict: true } },
      }),
      KEY,
    )
  assert.ok((await ask(to(upstream), schema)).length > 1)
  const config = upstream.posted[0].output_config
  const bounded = { ...config.format, schema }
  const { status } = await fetch(`${upstream.base_url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...upstream.posted[0], output_config: { ...config, format: bounded } }),
  })
  assert.equal(status, 400)
})
