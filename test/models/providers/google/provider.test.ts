// The Google provider against a server that behaves like the real one: its models, its answers in arbitrary pieces, its vectors and its errors.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { CompletionPart, EmbeddingRequest } from '../../../../src/models/provider.ts'
import { createGeminiModel } from '../../../../src/models/providers/google/model-list.ts'
import { createGoogleProvider } from '../../../../src/models/providers/google/provider.ts'
import { chunk, type GeminiScript, geminiEvents, startGoogle, USAGE } from '../../../helpers/google-upstream.ts'
import type { VendorUpstream } from '../../../helpers/vendor-upstream.ts'
import { type Asked, blames, GOOGLE_KEY, joined, partsOf, quickClient, requestOf } from '../../vendor-kit.ts'

const client = quickClient()
after(() => client[Symbol.asyncDispose]())

const MODEL = 'gemini-3.8-flash'
const AT_ONCE = 50
const END = { type: 'end', usage: { input_tokens: 9, output_tokens: 11, cost: null }, finish_reason: 'stop' }
const HELLO = [{ type: 'text', text: 'Hello there' }, END]

function to({ base_url }: Pick<VendorUpstream, 'base_url'>) {
  let ids = 0
  return createGoogleProvider({ client, base_url, newId: () => `call_${++ids}` })
}

const context = () => ({ credential: GOOGLE_KEY, signal: new AbortController().signal })

async function answer(script: GeminiScript, asked: Asked = {}): Promise<CompletionPart[]> {
  await using upstream = await startGoogle({ answer: () => script })
  return joined(await partsOf(to(upstream), requestOf(MODEL, asked), GOOGLE_KEY))
}

const fails = (script: GeminiScript, ...blamed: Parameters<typeof blames>) =>
  assert.rejects(answer(script), blames(...blamed))

describe('the models', () => {
  test('are those of all pages of the list for chat or vectors', async () => {
    await using upstream = await startGoogle()
    const models = await to(upstream).models(context())
    assert.equal(upstream.requests.length, 2)
    assert.deepEqual(models[0], {
      id: 'google/gemini-3.8-flash',
      name: 'gemini-3.8-flash',
      title: 'Gemini 3.8 Flash',
      tasks: ['chat'],
      price: {
        currency: 'USD',
        per_request: 0,
        per_million_input_tokens: 1.5,
        per_million_output_tokens: 7.5,
        as_of: '2026-10-07',
      },
      max_output_tokens: 65_536,
      context_length: 1_048_576,
      modalities: ['text', 'image', 'audio', 'video', 'file'],
      capabilities: ['streaming', 'tools', 'parallel_tools', 'structured_output', 'json_mode', 'seed', 'reasoning'],
    })
    const rest = models
      .slice(1)
      .map(({ name, title, tasks, max_output_tokens }) => [name, title, tasks, max_output_tokens])
    assert.deepEqual(rest, [
      ['gemini-2.5-flash', 'Gemini 2.5 Flash', ['chat'], 65_536],
      ['gemini-2.0-flash', 'gemini-2.0-flash', ['chat'], 8_192],
      ['gemini-embedding-001', 'Gemini Embedding 001', ['embedding'], null],
    ])
  })
})

test('models have the price of their version in any release, and unknown versions have none', () => {
  const methods = { supportedGenerationMethods: ['generateContent'] }
  const priceOf = (name: string) => createGeminiModel('google', { name, ...methods })?.price?.per_million_input_tokens
  const known = ['gemini-2.5-flash-preview-09-2025', 'gemini-2.0-flash-001', 'gemini-3.1-pro-preview', 'gemini-2.5-pro']
  assert.deepEqual(known.map(priceOf), [0.3, 0.1, 2, 1.25])
  for (const name of ['gemini-2.5-flash-ultra', 'gemini-2.5-flash-image', 'gemini-9-pro', 'gemini-2.5'])
    assert.equal(priceOf(name), undefined, name)
})

describe('an answer', () => {
  const script: GeminiScript = {
    says: [
      { text: 'let me see ☕', thought: true },
      { text: 'Grüße aus' },
      { text: ' 東京 🗼' },
      { functionCall: { id: 'g1', name: 'look', args: { city: 'Ulm' } }, thoughtSignature: 'sealed' },
      { functionCall: { name: 'now' } },
    ],
  }
  const parts = (first = 1) => [
    { type: 'thinking', text: 'let me see ☕' },
    { type: 'text', text: 'Grüße aus 東京 🗼' },
    { type: 'tool_call', index: 0, id: `call_${first}`, name: 'look', arguments: '{"city":"Ulm"}' },
    { type: 'tool_call', index: 1, id: `call_${first + 1}`, name: 'now', arguments: '{}' },
    { ...END, finish_reason: 'tool_calls' },
  ]

  test('comes as parts, with the tokens of its thoughts', async () => {
    assert.deepEqual(await answer({}), HELLO)
    assert.deepEqual(await answer(script), parts())
  })

  test('is the same wherever its bytes are split', async () => {
    const short: GeminiScript = { says: script.says!.slice(2, 4) }
    const length = Buffer.byteLength(geminiEvents(short).join(''))
    await using upstream = await startGoogle({ answer: (_request, n) => ({ ...short, split: [n + 1] }) })
    const read = async () => joined(await partsOf(to(upstream), requestOf(MODEL), GOOGLE_KEY))
    const expected = [
      { type: 'text', text: ' 東京 🗼' },
      { type: 'tool_call', index: 0, id: 'call_1', name: 'look', arguments: '{"city":"Ulm"}' },
      { ...END, finish_reason: 'tool_calls' },
    ]
    for (let offset = 1; offset < length; offset += AT_ONCE)
      for (const one of await Promise.all(Array.from({ length: AT_ONCE }, read)))
        assert.deepEqual(one, expected, `parted near ${offset}`)
    assert.deepEqual(await answer({ ...script, split: 'every' }), parts())
    assert.ok(upstream.connections <= 2 * AT_ONCE, `${upstream.connections} connections`)
  })

  test('is read in spite of unknown content', async () => {
    const strange = [
      chunk({}),
      chunk({ candidates: [] }),
      chunk({ candidates: [{ content: { parts: [{ executableCode: { code: 'x' } }, { text: '' }, { new: 1 }] } }] }),
      chunk({ candidates: [{ content: {} }], new: true }),
      ': comment\r\n\r\n',
    ]
    assert.deepEqual(await answer({ events: geminiEvents({}).flatMap((one) => [...strange, one]) }), HELLO)
  })

  test('has the reason of its end', async () => {
    const reasons = {
      STOP: 'stop',
      MAX_TOKENS: 'length',
      SAFETY: 'content_filter',
      SPII: 'content_filter',
      NEW: 'stop',
    }
    for (const [finishReason, finish_reason] of Object.entries(reasons))
      assert.deepEqual((await answer({ finishReason })).at(-1), { ...END, finish_reason }, finishReason)
    const blocked = chunk({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } })
    const usage = { input_tokens: 3, output_tokens: 0, cost: null }
    assert.deepEqual(await answer({ events: [blocked] }), [{ type: 'end', usage, finish_reason: 'content_filter' }])
    await fails({ finishReason: 'MALFORMED_FUNCTION_CALL' }, 'failed', null)
  })

  test('may lack token counts, or have more of them', async () => {
    const usage = { input_tokens: 0, output_tokens: 0, cost: null }
    assert.deepEqual((await answer({ usage: null })).at(-1), { ...END, usage })
    const more = (await answer({ usage: { ...USAGE, toolUsePromptTokenCount: 100 } })).at(-1)
    assert.deepEqual(more, { ...END, usage: { input_tokens: 109, output_tokens: 11, cost: null } })
  })

  test('gets its ids, tool names and signatures back with the result of a call', async () => {
    const says = [{ functionCall: { id: 'g7', name: '_1st', args: {} }, thoughtSignature: 'sealed' }]
    await using upstream = await startGoogle({ answer: (_request, n) => (n === 0 ? { says } : {}) })
    const provider = to(upstream)
    const tools: Asked['tools'] = [{ type: 'function', function: { name: '1st' } }]
    const messages: Asked['messages'] = [{ role: 'user', content: 'go' }]
    const [called] = await partsOf(provider, requestOf(MODEL, { tools, messages }), GOOGLE_KEY)
    assert.deepEqual(called, { type: 'tool_call', index: 0, id: 'call_1', name: '1st', arguments: '{}' })
    const call = { id: 'call_1', type: 'function' as const, function: { name: '1st', arguments: '{}' } }
    const went: Asked['messages'] = [
      ...messages,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    ]
    await partsOf(provider, requestOf(MODEL, { tools, messages: went }), GOOGLE_KEY)
    const [, model, user] = upstream.posted[1].contents
    assert.deepEqual(model.parts, [{ functionCall: { id: 'g7', name: '_1st', args: {} }, thoughtSignature: 'sealed' }])
    const functionResponse = { id: 'g7', name: '_1st', response: { output: 'done' } }
    assert.deepEqual(user.parts, [{ functionResponse }])
  })
})

describe('vectors', () => {
  const embed = (upstream: VendorUpstream, request: Partial<EmbeddingRequest>) =>
    to(upstream).embed!({ model: 'gemini-embedding-001', input: 'x', ...request }, context())

  test('come in order, one for each text, in the largest batches that Google takes', async () => {
    await using upstream = await startGoogle()
    const input = Array.from({ length: 101 }, (_, at) => 'x'.repeat(at + 1))
    const { vectors, input_tokens } = await embed(upstream, { input })
    assert.deepEqual(
      upstream.posted.map(({ requests }) => requests.length),
      [100, 1],
    )
    assert.deepEqual([vectors.length, input_tokens], [101, 101])
    // The server makes them from the length of the text and its position in the call.
    assert.deepEqual([vectors[0]![0], vectors[99]![0], vectors[100]![0]], [1, 199, 101])
    assert.deepEqual(upstream.posted[1].requests[0], {
      model: 'models/gemini-embedding-001',
      content: { parts: [{ text: 'x'.repeat(101) }] },
    })
  })

  test('that were shortened have the length 1', async () => {
    await using upstream = await startGoogle()
    const { vectors } = await embed(upstream, { input: 'abc', dimensions: 2 })
    assert.equal(upstream.posted[0].requests[0].outputDimensionality, 2)
    assert.deepEqual(vectors, [[3 / 5, 4 / 5]])
  })

  test('with too many numbers together are refused, as with every provider', async () => {
    const values = Array.from({ length: 100_000 }, () => 1)
    const body = { embeddings: Array.from({ length: 84 }, () => ({ values })) }
    await using upstream = await startGoogle({ answer: () => ({ body }) })
    await assert.rejects(embed(upstream, { input: Array.from({ length: 84 }, () => 'x') }), /more than 8388608 numbers/)
  })

  test('are refused where one has more numbers than are read in one go', async () => {
    const body = { embeddings: [{ values: Array.from({ length: 262_145 }, () => 1) }] }
    await using upstream = await startGoogle({ answer: () => ({ body }) })
    await assert.rejects(embed(upstream, { input: 'x' }), /a vector of more than 262144 numbers/)
  })

  test('for token ids are refused, and invalid answers as well', async () => {
    await using upstream = await startGoogle({ answer: () => ({ body: { embeddings: [] } }) })
    await assert.rejects(embed(upstream, { input: [1, 2] }), blames('unsupported', 'input'))
    await assert.rejects(embed(upstream, { new_field: 1 }), blames('unsupported', 'new_field'))
    assert.equal(upstream.posted.length, 0)
    await assert.rejects(embed(upstream, {}), blames('failed', null))
  })
})

describe('an error', () => {
  test('before an answer has the right fault, in a message without the key', async () => {
    const error = (code: number, status: string, message = `${GOOGLE_KEY} is bad`): GeminiScript => ({
      error: { code, status, message },
    })
    await fails(error(400, 'INVALID_ARGUMENT'), 'rejected', null, /refused the request: \*\*\* is bad$/)
    await fails(error(403, 'PERMISSION_DENIED'), 'no_key', null)
    await fails(error(404, 'NOT_FOUND'), 'not_found', null)
    await fails(error(429, 'RESOURCE_EXHAUSTED'), 'rate_limited', null)
    await fails(error(500, 'INTERNAL'), 'failed', null, /^The provider "google" failed to answer\.$/)
    await fails(error(503, 'UNAVAILABLE'), 'failed', null)
    await fails(error(504, 'DEADLINE_EXCEEDED'), 'timed_out', null)
    await fails({ status: 400, body: [{ error: { status: 'NOT_FOUND', message: 'x' } }] }, 'not_found', null)
    await fails({ status: 500, body: 'not JSON' }, 'failed', null)
    await using upstream = await startGoogle({ key: 'another' })
    await assert.rejects(to(upstream).models(context()), blames('no_key', null))
  })

  test('in the middle of an answer ends the answer', async () => {
    const [first, last] = geminiEvents({})
    const error = chunk({ error: { code: 503, status: 'UNAVAILABLE', message: `about ${GOOGLE_KEY}` } })
    await fails({ events: [first!, error, last!] }, 'failed', null)
    await fails({ events: [first!, chunk({ error: { status: 'RESOURCE_EXHAUSTED' } })] }, 'rate_limited', null)
    await fails({ events: [first!, chunk({ error: 'odd' })] }, 'failed', null)
    await fails({ events: [first!] }, 'failed', null, /broke off/)
    await fails({ cuts: 1 }, 'failed', null, /closed the connection/)
    await fails({ events: [first!, 'data: {"candidates"\r\n\r\n'] }, 'failed', null, /not understood/)
    await fails({ body: {} }, 'failed', null, /not understood/)
    assert.deepEqual(await answer({ events: [first!, last!.trimEnd()] }), HELLO)
  })

  test('is not reported where the caller has aborted', async () => {
    await using upstream = await startGoogle({ answer: () => ({ hangs: 1 }) })
    const gone = new AbortController()
    const reason = new Error('enough')
    const parts = to(upstream).complete(requestOf(MODEL), { credential: GOOGLE_KEY, signal: gone.signal })
    const reading = parts[Symbol.asyncIterator]()
    assert.deepEqual((await reading.next()).value, { type: 'text', text: 'Hello' })
    gone.abort(reason)
    await assert.rejects(reading.next(), reason)
    await upstream.requests[0]!.gone
  })
})
