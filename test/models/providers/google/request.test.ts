// The conversion of OpenAI's requests for the Gemini API, and the refusal of unsupported fields.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createGoogleRequest, type GoogleCallState } from '../../../../src/models/providers/google/request.ts'
import { ToolCallStateCache } from '../../../../src/models/providers/shared/tool-call-state-cache.ts'
import type { Loose } from '../../../helpers/vendor-upstream.ts'
import { type Asked, blames, requestOf } from '../../vendor-kit.ts'

const NEW = 'gemini-3.8-flash'
const OLD = 'gemini-2.5-flash'

function body(
  asked: Asked,
  model = NEW,
  thinks: boolean | null = true,
  memory = new ToolCallStateCache<GoogleCallState>().forOwner('me'),
): Loose {
  return createGoogleRequest(requestOf(model, asked), thinks, 'google', memory).body
}

const config = (asked: Asked, model?: string, thinks?: boolean | null) => body(asked, model, thinks).generationConfig
const refuses = (asked: Asked, param: string, model?: string, thinks?: boolean | null) =>
  assert.throws(() => body(asked, model, thinks), blames('unsupported', param))

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const tool = (name: string, more: object = {}) => ({ type: 'function' as const, function: { name, ...more } })

const call = (id: string, name: string, args = '{}') => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
})
const CALLED: Asked['messages'] = [
  { role: 'user', content: 'weather?' },
  { role: 'assistant', content: 'wait', tool_calls: [call('a', 'now'), call('b', 'look', '{"city":"Ulm"}')] },
  { role: 'tool', tool_call_id: 'a', content: 'noon' },
  { role: 'tool', tool_call_id: 'b', content: '' },
  { role: 'user', content: 'and now?' },
]

describe('a conversation', () => {
  test('gets separate instructions, and turns that alternate', () => {
    const { systemInstruction, contents } = body({
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'one' },
        { role: 'developer', content: 'be kind' },
        { role: 'user', content: 'two' },
        { role: 'assistant', content: 'three' },
      ],
    })
    assert.deepEqual(systemInstruction, { parts: [{ text: 'be brief' }, { text: 'be kind' }] })
    assert.deepEqual(contents, [
      { role: 'user', parts: [{ text: 'one' }, { text: 'two' }] },
      { role: 'model', parts: [{ text: 'three' }] },
    ])
  })

  test('keeps tool calls with their results', () => {
    const first = { functionCall: { name: 'now', args: {} }, thoughtSignature: 'skip_thought_signature_validator' }
    const second = { functionCall: { name: 'look', args: { city: 'Ulm' } } }
    const [, called, answered] = body({ messages: CALLED }).contents
    assert.deepEqual(called, { role: 'model', parts: [{ text: 'wait' }, first, second] })
    const result = (name: string, output: string) => ({ functionResponse: { name, response: { output } } })
    assert.deepEqual(answered, {
      role: 'user',
      parts: [result('now', 'noon'), result('look', ''), { text: 'and now?' }],
    })
    // Older models have no signatures.
    assert.deepEqual(body({ messages: CALLED }, OLD).contents[1].parts[1], { functionCall: first.functionCall })
  })

  test("gives tool calls Google's ids and signatures back", () => {
    const memory = new ToolCallStateCache<GoogleCallState>().forOwner('me')
    memory.keep('a', { id: 'g1', signature: 'sealed' })
    memory.keep('b', { id: null, signature: 'also' })
    const [, called, answered] = body({ messages: CALLED }, OLD, true, memory).contents
    assert.deepEqual(called.parts.slice(1), [
      { functionCall: { id: 'g1', name: 'now', args: {} }, thoughtSignature: 'sealed' },
      { functionCall: { name: 'look', args: { city: 'Ulm' } }, thoughtSignature: 'also' },
    ])
    assert.deepEqual(
      answered.parts.slice(0, 2).map((part: Loose) => part.functionResponse.id),
      ['g1', undefined],
    )
  })

  test('contains images, audio and documents', () => {
    const [{ parts }] = body({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/webp;base64,AAAA' } },
            { type: 'input_audio', input_audio: { data: 'BBBB', format: 'wav' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' } },
          ],
        },
      ],
    }).contents
    assert.deepEqual(
      parts.map(({ inlineData }: Loose) => [inlineData.mimeType, inlineData.data]),
      [
        ['image/webp', 'AAAA'],
        ['audio/wav', 'BBBB'],
        ['application/pdf', 'CCCC'],
      ],
    )
  })

  test('is refused where a part of it is unsupported', () => {
    const image = { type: 'image_url' as const, image_url: { url: 'https://example.org/a.png' } }
    refuses({ messages: [{ role: 'user', content: [image] }] }, 'messages[0].content[0].image_url.url')
    refuses({ messages: [{ role: 'assistant', content: '' }] }, 'messages')
    refuses({ messages: [{ role: 'assistant', content: 'x', name: 'y' }] }, 'messages[0].name')
  })
})

describe('tools', () => {
  test('are declared, with names that Google accepts', () => {
    const long = 'x'.repeat(70)
    const asked: Asked = {
      tools: [
        tool('a.b', { parameters: schema, description: 'A' }),
        tool('1st', { parameters: { type: 'object' } }),
        tool(long),
      ],
    }
    const { body: sent, names } = createGoogleRequest(
      requestOf(NEW, asked),
      null,
      'google',
      new ToolCallStateCache<GoogleCallState>().forOwner(null),
    )
    assert.deepEqual((sent as Loose).tools, [
      {
        functionDeclarations: [
          { name: 'a.b', description: 'A', parametersJsonSchema: schema },
          { name: '_1st' },
          { name: 'x'.repeat(57) },
        ],
      },
    ])
    assert.deepEqual([names.fromVendorName('_1st'), names.fromVendorName('x'.repeat(57))], ['1st', long])
  })

  test('are chosen by the tool choice', () => {
    const choice = (asked: Asked) =>
      body({ tools: [tool('one'), tool('two')], ...asked }).toolConfig.functionCallingConfig
    assert.deepEqual(choice({}), { mode: 'AUTO' })
    assert.deepEqual(choice({ tools: [tool('one', { strict: true })] }), { mode: 'VALIDATED' })
    assert.deepEqual(choice({ tool_choice: 'none' }), { mode: 'NONE' })
    assert.deepEqual(choice({ tool_choice: 'required' }), { mode: 'ANY' })
    const named = { type: 'function', function: { name: 'two' } } as const
    assert.deepEqual(choice({ tool_choice: named }), { mode: 'ANY', allowedFunctionNames: ['two'] })
    refuses({ tools: [tool('one')], parallel_tool_calls: false }, 'parallel_tool_calls')
    assert.deepEqual(choice({ parallel_tool_calls: true }), { mode: 'AUTO' })
    assert.equal(body({ parallel_tool_calls: false }).toolConfig, undefined)
  })
})

describe('the options of an answer', () => {
  test('are sent in the form of Google', () => {
    const asked: Asked = {
      max_tokens: 99,
      temperature: 2,
      top_p: 0.9,
      stop: 'END',
      seed: -7,
      frequency_penalty: 0.5,
      presence_penalty: -0.5,
    }
    assert.deepEqual(config(asked), {
      maxOutputTokens: 99,
      temperature: 2,
      topP: 0.9,
      stopSequences: ['END'],
      seed: -7,
      frequencyPenalty: 0.5,
      presencePenalty: -0.5,
    })
    assert.deepEqual(body({}), {
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
      generationConfig: {},
    })
    assert.deepEqual(config({ response_format: { type: 'json_object' } }), { responseMimeType: 'application/json' })
    assert.deepEqual(config({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }), {
      responseMimeType: 'application/json',
      responseJsonSchema: schema,
    })
    assert.deepEqual(config({ response_format: { type: 'text' } }), {})
  })

  test('are refused where they are unsupported', () => {
    refuses({ stop: ['1', '2', '3', '4', '5', '6'] }, 'stop')
    refuses({ seed: 2 ** 31 }, 'seed')
    for (const [name, value] of Object.entries({ n: 2, logprobs: true, logit_bias: { 1: 1 }, verbosity: 'low' }))
      refuses({ [name]: value }, name)
  })

  test('include a thinking level or budget', () => {
    const thinking = (effort: string, model?: string, thinks?: boolean | null) =>
      config({ reasoning_effort: effort }, model, thinks).thinkingConfig
    assert.deepEqual(thinking('minimal'), { includeThoughts: true, thinkingLevel: 'MINIMAL' })
    assert.deepEqual(thinking('high', NEW, null), { includeThoughts: true, thinkingLevel: 'HIGH' })
    assert.deepEqual(thinking('none', OLD), { thinkingBudget: 0 })
    assert.deepEqual(thinking('low', OLD), { includeThoughts: true, thinkingBudget: 1_024 })
    assert.equal(thinking('none', 'gemini-2.0-flash', null), undefined)
    refuses({ reasoning_effort: 'none' }, 'reasoning_effort')
    refuses({ reasoning_effort: 'xhigh' }, 'reasoning_effort', OLD)
    refuses({ reasoning_effort: 'low' }, 'reasoning_effort', 'gemini-2.0-flash', null)
    refuses({ reasoning_effort: 'low' }, 'reasoning_effort', NEW, false)
  })
})
