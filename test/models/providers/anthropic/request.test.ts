// The conversion of OpenAI's requests for Anthropic's Messages API, and the refusal of unsupported fields.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ClaudeTraits, guessClaudeTraits } from '../../../../src/models/providers/anthropic/model-traits.ts'
import { createAnthropicRequest, type ThinkingBlocks } from '../../../../src/models/providers/anthropic/request.ts'
import {
  type OwnerToolCallStates,
  ToolCallStateCache,
} from '../../../../src/models/providers/shared/tool-call-state-cache.ts'
import type { Loose } from '../../../helpers/vendor-upstream.ts'
import { type Asked, blames, requestOf } from '../../vendor-kit.ts'

const ADAPTIVE: ClaudeTraits = {
  max_output_tokens: 64_000,
  thinking: 'adaptive',
  efforts: ['low', 'high'],
  structured_output: true,
}
const BUDGET: ClaudeTraits = { max_output_tokens: 64_000, thinking: 'budget', efforts: [], structured_output: true }
const PLAIN: ClaudeTraits = { max_output_tokens: null, thinking: 'none', efforts: [], structured_output: false }

function body(
  asked: Asked,
  traits = ADAPTIVE,
  memory = new ToolCallStateCache<ThinkingBlocks>().forOwner('me'),
): Loose {
  return createAnthropicRequest(requestOf('claude', asked), traits, 'anthropic', memory).body
}

const refuses = (asked: Asked, param: string, traits = ADAPTIVE) =>
  assert.throws(() => body(asked, traits), blames('unsupported', param))

const tool = (name: string, more: object = {}) => ({ type: 'function' as const, function: { name, ...more } })
const schema = { type: 'object', properties: { city: { type: 'string' } } }

describe('a conversation', () => {
  test('gets separate instructions, and turns that alternate', () => {
    const { system, messages } = body({
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'developer', content: [{ type: 'text', text: 'be kind' }] },
        { role: 'user', content: 'one' },
        { role: 'user', content: [{ type: 'text', text: 'two' }] },
        { role: 'assistant', content: 'three', refusal: 'four' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'five' }] },
        { role: 'user', content: '' },
      ],
    })
    const texts = (...all: string[]) => all.map((text) => ({ type: 'text', text }))
    assert.deepEqual(system, texts('be brief', 'be kind'))
    assert.deepEqual(messages, [
      { role: 'user', content: texts('one', 'two') },
      { role: 'assistant', content: texts('three', 'four', 'five') },
    ])
  })

  test('keeps tool calls with their results, and other texts after them', () => {
    const { messages, tools, tool_choice } = body({
      messages: [
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'now', arguments: '' } },
            { id: 'b', type: 'function', function: { name: 'look', arguments: '{"city":"Ulm"}' } },
            { id: 'c', type: 'function', function: { name: 'look', arguments: '{"city":' } },
          ],
        },
        { role: 'tool', tool_call_id: 'b', content: 'sun' },
        { role: 'tool', tool_call_id: 'a', content: '' },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'bad' }], name: 'look' },
        { role: 'user', content: 'and now?' },
      ],
    })
    const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
    const result = (tool_use_id: string, content?: string) => ({
      type: 'tool_result',
      tool_use_id,
      ...(content ? { content } : {}),
    })
    assert.deepEqual(messages.slice(1), [
      {
        role: 'assistant',
        content: [
          use('a', 'now', {}),
          use('b', 'look', { city: 'Ulm' }),
          use('c', 'look', { INVALID_JSON: '{"city":' }),
        ],
      },
      {
        role: 'user',
        content: [result('b', 'sun'), result('a'), result('c', 'bad'), { type: 'text', text: 'and now?' }],
      },
    ])
    // Called tools must be declared, but none may be called now.
    assert.deepEqual(
      tools.map(({ name }: Loose) => name),
      ['now', 'look'],
    )
    assert.deepEqual(tool_choice, { type: 'none' })
  })

  test('contains images and documents', () => {
    const url = (media: string, data = 'AAAA') => `data:${media};base64,${data}`
    const [{ content }] = body({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: url('image/PNG'), detail: 'auto' } },
            { type: 'file', file: { file_data: url('application/pdf'), filename: 'a.pdf' } },
            { type: 'file', file: { file_data: 'data:text/plain;charset=utf-8,caf%C3%A9' } },
          ],
        },
      ],
    }).messages
    assert.deepEqual(content, [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'café' } },
    ])
  })

  const said = (part: Loose) => ({ messages: [{ role: 'user', content: [part] }] }) as Asked
  const image = (url: string, more = {}) => said({ type: 'image_url', image_url: { url, ...more } })
  test('is refused where a part of it is unsupported', () => {
    refuses(image('https://example.org/a.png'), 'messages[0].content[0].image_url.url')
    refuses(image('data:image/png;base64,AAAA', { detail: 'high' }), 'messages[0].content[0].image_url.detail')
    refuses(image('data:image/tiff;base64,AAAA'), 'messages[0].content[0]')
    refuses(said({ type: 'file', file: { file_id: 'file-1' } }), 'messages[0].content[0].file.file_id')
    refuses(
      said({ type: 'file', file: { file_data: 'data:text/plain,%E0%A4%A' } }),
      'messages[0].content[0].file.file_data',
    )
    refuses(said({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }), 'messages[0].content[0]')
    refuses({ messages: [{ role: 'user', content: 'hi', name: 'Ann' }] }, 'messages[0].name')
    refuses({ messages: [{ role: 'system', content: 'alone' }] }, 'messages')
    refuses({ messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages[0].role')
    refuses({ messages: [{ role: 'assistant', audio: { id: 'a' } }] }, 'messages[0].audio')
    refuses({ messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] }, 'messages[0].tool_call_id')
    const custom = { id: 'a', type: 'custom' as const, custom: { name: 'x', input: 'y' } }
    refuses({ messages: [{ role: 'assistant', tool_calls: [custom] }] }, 'messages[0].tool_calls[0]')
  })
})

describe('tools', () => {
  test('are declared, with names that Anthropic accepts', () => {
    const asked: Asked = { tools: [tool('a.b', { parameters: schema, strict: true, description: 'A' }), tool('a_b')] }
    const { body: sent, names } = createAnthropicRequest(
      requestOf('claude', asked),
      ADAPTIVE,
      'anthropic',
      new ToolCallStateCache<ThinkingBlocks>().forOwner(null),
    )
    assert.deepEqual((sent as Loose).tools, [
      { name: 'a_b_2', description: 'A', input_schema: schema, strict: true },
      { name: 'a_b', input_schema: { type: 'object' } },
    ])
    assert.deepEqual(
      ['a_b_2', 'a_b', 'other'].map((name) => names.fromVendorName(name)),
      ['a.b', 'a_b', 'other'],
    )
  })

  const tools = [tool('one'), tool('two')]
  const choice = (asked: Asked) => {
    const { tool_choice = null, tools: sent } = body({ tools, ...asked })
    return [tool_choice, sent.map(({ name }: Loose) => name).join()]
  }
  test('are chosen by the tool choice', () => {
    const single = { disable_parallel_tool_use: true }
    assert.deepEqual(choice({}), [null, 'one,two'])
    assert.deepEqual(choice({ parallel_tool_calls: false }), [{ type: 'auto', ...single }, 'one,two'])
    assert.deepEqual(choice({ tool_choice: 'none', parallel_tool_calls: false }), [{ type: 'none' }, 'one,two'])
    assert.deepEqual(choice({ tool_choice: 'required' }), [{ type: 'any' }, 'one,two'])
    const named = { type: 'function', function: { name: 'two' } } as const
    assert.deepEqual(choice({ tool_choice: named, parallel_tool_calls: false }), [
      { type: 'tool', name: 'two', ...single },
      'one,two',
    ])
    const allowed = { mode: 'required' as const, tools: [{ type: 'function', function: { name: 'two' } }] }
    assert.deepEqual(choice({ tool_choice: { type: 'allowed_tools', allowed_tools: allowed } }), [
      { type: 'any' },
      'two',
    ])
  })

  test('that are no functions, or missing, are refused', () => {
    refuses({ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0]')
    refuses({ tools, tool_choice: { type: 'custom', custom: { name: 'one' } } }, 'tool_choice')
    const missing = { type: 'function', function: { name: 'three' } } as const
    assert.throws(() => body({ tools, tool_choice: missing }), blames('rejected', 'tool_choice', /"three"/))
  })
})

describe('the options of an answer', () => {
  test('are sent in the form of Anthropic', () => {
    const { max_tokens, stop_sequences, temperature, top_p, metadata, stream } = body({
      max_completion_tokens: 99,
      stop: 'END',
      temperature: 0.5,
      top_p: 0.9,
      user: 'u1',
      stream: false,
    })
    assert.deepEqual([max_tokens, stop_sequences, temperature, top_p], [99, ['END'], 0.5, 0.9])
    assert.deepEqual([metadata, stream], [{ user_id: 'u1' }, true])
    assert.deepEqual(body({ max_tokens: 5, stop: ['a', 'b'] }).stop_sequences, ['a', 'b'])
    assert.equal(body({}).max_tokens, 64_000)
    assert.equal(body({}, PLAIN).max_tokens, 8_192)
    const words = ['temperature', 'top_p', 'stop_sequences', 'metadata', 'system', 'thinking', 'output_config', 'tools']
    assert.deepEqual(
      words.filter((word) => word in body({})),
      [],
    )
  })

  test('are refused where they are unsupported', () => {
    refuses({ temperature: 1.1 }, 'temperature')
    for (const [name, value] of Object.entries({
      seed: 1,
      n: 2,
      logprobs: true,
      logit_bias: { 1: 1 },
      frequency_penalty: 1,
    }))
      refuses({ [name]: value }, name)
    refuses({ some_new_field: 1 } as Asked, 'some_new_field')
    refuses({ response_format: { type: 'json_object' } }, 'response_format')
    const format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } }
    refuses({ response_format: format }, 'response_format', PLAIN)
    refuses({ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, 'response_format')
  })

  test('include a JSON schema', () => {
    const format = (given: object, strict: boolean | null = null) =>
      body({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema: given as Loose, strict } } })
        .output_config.format.schema
    const given = {
      type: 'object',
      properties: { age: { type: 'integer', minimum: 0, description: 'years' }, all: { type: 'array', items: schema } },
    }
    const closed = { ...schema, additionalProperties: false }
    for (const strict of [null, false, true])
      assert.deepEqual(format(given, strict), {
        type: 'object',
        properties: {
          age: { type: 'integer', description: 'years (minimum: 0)' },
          all: { type: 'array', items: closed },
        },
        additionalProperties: false,
      })
    // A property may have the name of a keyword.
    const odd = { anyOf: [{ type: 'object', properties: { maximum: { type: 'string' } }, additionalProperties: true }] }
    assert.deepEqual(format(odd), odd)
  })
})

describe('the reasoning effort', () => {
  const thinking = (asked: Asked, traits: ClaudeTraits, memory?: OwnerToolCallStates<ThinkingBlocks>) => {
    const { thinking: told = null, output_config = null } = body(asked, traits, memory)
    return [told, output_config]
  }
  const adaptive = { type: 'adaptive', display: 'summarized' }
  test('is sent as effort, or as a budget', () => {
    assert.deepEqual(thinking({ reasoning_effort: 'high' }, ADAPTIVE), [adaptive, { effort: 'high' }])
    assert.deepEqual(thinking({ reasoning_effort: 'none' }, ADAPTIVE), [{ type: 'disabled' }, null])
    assert.deepEqual(thinking({ reasoning_effort: 'none' }, PLAIN), [null, null])
    assert.deepEqual(thinking({ reasoning_effort: 'medium' }, BUDGET), [
      { type: 'enabled', budget_tokens: 8_192 },
      null,
    ])
    const short = thinking({ reasoning_effort: 'high', max_tokens: 3_000 }, BUDGET)
    assert.deepEqual(short, [{ type: 'enabled', budget_tokens: 1_500 }, null])
    const both: ClaudeTraits = { ...BUDGET, efforts: ['low'] }
    assert.deepEqual(thinking({ reasoning_effort: 'low' }, both), [
      { type: 'enabled', budget_tokens: 1_024 },
      { effort: 'low' },
    ])
    const unknown: ClaudeTraits = { ...ADAPTIVE, efforts: null }
    assert.deepEqual(thinking({ reasoning_effort: 'max' }, unknown), [adaptive, { effort: 'max' }])
  })

  test('is refused where the model lacks this level', () => {
    refuses({ reasoning_effort: 'medium' }, 'reasoning_effort')
    refuses({ reasoning_effort: 'minimal' }, 'reasoning_effort', BUDGET)
    refuses({ reasoning_effort: 'low' }, 'reasoning_effort', PLAIN)
    refuses({ reasoning_effort: 'low', max_tokens: 1_024 }, 'reasoning_effort', BUDGET)
  })

  const called: Asked = {
    reasoning_effort: 'low',
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
    ],
  }
  test('is sent after tool calls with the thinking before them, or else without a budget', () => {
    const memory = new ToolCallStateCache<ThinkingBlocks>().forOwner('me')
    assert.deepEqual(thinking(called, BUDGET, memory), [null, null])
    assert.deepEqual(thinking(called, ADAPTIVE, memory), [adaptive, { effort: 'low' }])
    const thought = { type: 'thinking', thinking: 'hm', signature: 's' }
    memory.keep('a', [thought])
    assert.deepEqual(thinking(called, BUDGET, memory)[0], { type: 'enabled', budget_tokens: 1_024 })
    assert.deepEqual(body(called, BUDGET, memory).messages[1].content[0], thought)
  })

  test('is known from the name where the list does not tell', () => {
    const kinds = [
      'claude-3-5-haiku-20241022',
      'claude-3-7-sonnet-20250219',
      'claude-sonnet-4-20250514',
      'claude-opus-4-5',
    ]
    assert.deepEqual(
      kinds.map((name) => guessClaudeTraits(name).thinking),
      ['none', 'budget', 'budget', 'budget'],
    )
    assert.deepEqual(
      ['claude-opus-4-6', 'claude-opus-5', 'claude-next'].map((name) => guessClaudeTraits(name).thinking),
      ['adaptive', 'adaptive', 'adaptive'],
    )
  })
})

test('the stored state of tool calls is bounded', () => {
  const memory = new ToolCallStateCache<string>(20).forOwner('me')
  memory.keep('a', '123456')
  memory.keep('b', '123456')
  assert.deepEqual([memory.of('a'), memory.of('b')], ['123456', '123456'])
  memory.keep('b', '12345678')
  assert.deepEqual([memory.of('a'), memory.of('b')], ['123456', '12345678'])
  memory.keep('c', '1')
  assert.deepEqual([memory.of('a'), memory.of('b'), memory.of('c')], [null, '12345678', '1'])
  memory.keep('d', 'much too long to be kept')
  assert.equal(memory.of('d'), null)
})
