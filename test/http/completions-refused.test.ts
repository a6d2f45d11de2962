// createChatCompletion and createEmbedding refuse requests: in OpenAI's format, with the field that is to blame.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, MODEL, post, startGateway } from '../completions/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
const TOOL = { type: 'function', function: { name: 'weather', parameters: {} } }
const user = { role: 'user', content: 'hi' }
const tool = { role: 'tool', content: 'sunny', tool_call_id: 'call_1' }

/** Refused requests, by field. */
const CONTRADICTIONS: readonly (readonly [param: string, fields: object])[] = [
  ['max_tokens', { max_tokens: 1, max_completion_tokens: 2 }],
  ['stream_options', { stream_options: { include_usage: true } }],
  ['stream_options', { stream: false, stream_options: {} }],
  ['top_logprobs', { top_logprobs: 2 }],
  ['top_logprobs', { logprobs: false, top_logprobs: 2 }],
  ['tool_choice', { tool_choice: 'auto' }],
  ['tool_choice', { tool_choice: 'required', tools: [] }],
  ['tool_choice', { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'other' } } }],
  ['function_call', { function_call: 'auto' }],
  ['functions', { tools: [TOOL], functions: [{ name: 'weather' }] }],
  ['messages[0].tool_call_id', { messages: [tool] }],
  ['messages[1].tool_call_id', { messages: [user, tool, { role: 'assistant', tool_calls: [CALL] }] }],
  ['response_format.json_schema.schema', { response_format: { type: 'json_schema', json_schema: { name: 'a' } } }],
  ['audio', { modalities: ['text', 'audio'] }],
  ['audio', { audio: { voice: 'alloy', format: 'wav' } }],
  ['messages', { messages: [] }],
  ['messages[0].role', { messages: [{ role: 'wizard', content: 'hi' }] }],
  ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'smell' }] }] }],
  ['messages[0].content[0].image_url', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }],
  ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
  ['messages[0].content', { messages: [{ role: 'user' }] }],
  ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'a' }] }],
  [
    'messages[0].tool_calls[0].id',
    { messages: [{ role: 'assistant', content: null, tool_calls: [{ ...CALL, id: '' }] }] },
  ],
  ['messages[0].name', { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }], name: '' }] }],
  ['tools[0].type', { tools: [{ type: 'hammer' }] }],
  ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'a b' } }] }],
  ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
  ['response_format.type', { response_format: { type: 'yaml' } }],
  ['temperature', { temperature: 3 }],
  ['n', { n: 0 }],
  ['model', { model: '' }],
  ['model', { model: null }],
]

/** Options that the echo model does not support. */
const UNSUPPORTED: readonly (readonly [param: string, fields: object])[] = [
  ['n', { n: 2 }],
  ['tools', { tools: [TOOL] }],
  ['functions', { functions: [{ name: 'weather' }] }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['logprobs', { logprobs: true }],
  ['modalities', { modalities: ['audio'], audio: { voice: 'alloy' } }],
  ['presence_penalty', { presence_penalty: 0.5 }],
  ['logit_bias', { logit_bias: { 7: 1 } }],
  ['reasoning_effort', { reasoning_effort: 'high' }],
  ['web_search_options', { web_search_options: {} }],
  ['x_unknown', { x_unknown: 1 }],
  [
    'messages[0].content[1]',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          ],
        },
      ],
    },
  ],
]

/** Options that request only what the echo model does anyway. */
const NEUTRAL = {
  n: 1,
  tools: [],
  tool_choice: 'none',
  response_format: { type: 'text' },
  logprobs: false,
  modalities: ['text'],
  presence_penalty: 0,
  logit_bias: {},
  x_unknown: null,
  temperature: 0.7,
  top_p: 1,
  seed: 3,
  user: 'someone',
  metadata: { a: 'b' },
  store: false,
  service_tier: 'auto',
}

interface Refusal {
  error: { message: string; type: string; param: string | null; code: number }
}

describe('createChatCompletion', () => {
  test('refuses contradictions, and names the field', async () => {
    await using gateway = await startGateway()
    for (const [param, fields] of CONTRADICTIONS) {
      const body = JSON.parse(asking(fields))
      const {
        status,
        body: refusal,
        text,
      } = await call<Refusal>(gateway.server, 'POST', '/v1/chat/completions', { body })
      assert.equal(status, 400, text)
      const { type, param: named, code } = refusal.error
      assert.deepEqual([type, code], ['invalid_request', 400])
      assert.equal(named, param, text)
    }
    assert.deepEqual(gateway.upstream.posts, [])
  })

  test('lists the possible types for an unknown type, for any names', async () => {
    await using server = await startServer()
    const ask = async (fields: object | string) => {
      const body = typeof fields === 'string' ? fields : asking({ model: 'builtin/echo', ...fields })
      const { status, text } = await post(server, body)
      assert.equal(status, 400, text)
      return JSON.parse(text).error.problems as { path: string; message: string }[]
    }
    const shows = (role: string, type: string) => ask({ messages: [{ role, content: [{ type, text: 'a' }] }] })
    for (const [role, kinds] of [
      ['user', '"text", "image_url", "input_audio", "file"'],
      ['assistant', '"text", "refusal"'],
      ['system', '"text"'],
    ] as const)
      assert.deepEqual(
        (await shows(role, 'function')).map(({ message }) => message),
        [`must be one of ${kinds}`],
      )
    assert.match(
      (await ask({ tool_choice: { type: 'text' } }))[0]!.message,
      /must be one of "function", "custom", "allowed_tools"$/,
    )
    for (const name of ['constructor', '__proto__', 'toString', 'role', 'type', 'name']) {
      const fields = `"model":"builtin/echo","messages":[{"role":"user","content":"a"}]`
      for (const map of ['metadata', 'logit_bias']) {
        const [problem] = await ask(`{${fields},"${map}":{"${name}":{}}}`)
        assert.equal(problem!.path, `/body/${map}/${name}`)
      }
      assert.match((await ask({ messages: [{ role: name, content: 'a' }] }))[0]!.message, /must be one of/)
      assert.match((await shows('user', name))[0]!.message, /must be one of/)
    }
  })

  test('accepts requests without contradictions', async () => {
    await using gateway = await startGateway()
    for (const fields of [
      { max_tokens: 2, max_completion_tokens: 2 },
      { stream_options: null, tool_choice: 'none', function_call: 'none', top_logprobs: null, tools: null },
      { messages: [user, { role: 'assistant', tool_calls: [CALL] }, tool], tools: [TOOL], tool_choice: 'auto' },
      { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'weather' } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } } },
    ]) {
      const { status, text } = await post(gateway.server, asking(fields))
      assert.equal(status, 200, text)
    }
  })

  test('refuses options that the provider does not support, unless they have no effect', async () => {
    await using server = await startServer()
    for (const [param, fields] of UNSUPPORTED) {
      const { status, text } = await post(server, asking({ model: 'builtin/echo', ...fields }))
      assert.equal(status, 400, text)
      assert.equal((JSON.parse(text) as Refusal).error.param, param)
    }
    const { status, text } = await post(server, asking({ model: 'builtin/echo', ...NEUTRAL }))
    assert.equal(status, 200, text)
  })

  test('names an unknown model', async () => {
    await using gateway = await startGateway()
    for (const model of ['up/other', 'nobody/other', 'other', 'workflow/none']) {
      const { status, text } = await post(gateway.server, asking({ model, stream: true }))
      const { type, code, message } = (JSON.parse(text) as Refusal).error
      assert.deepEqual([status, type, code], [404, 'model_not_found', 404], text)
      assert.match(message, /other|none|nobody/)
    }
  })

  test('names the provider whose key is missing or wrong, and not the key', async () => {
    await using gateway = await startGateway({ keys: ['sk-right'] })
    const { url } = gateway.server
    const wrong = async (path: string, model: string) => {
      const { status, text } = await post({ url }, asking({ model }), { path })
      assert.equal(status, 401, text)
      assert.equal((JSON.parse(text) as Refusal).error.type, 'authentication_required')
      return text
    }
    assert.match(await wrong('/v1/chat/completions', 'openai/gpt-4o'), /openai/)
    const put = { value: 'sk-wrong-and-long' }
    assert.equal((await call(gateway.server, 'PUT', '/api/secrets/UP_API_KEY', { body: put })).status, 200)
    const text = await wrong('/v1/chat/completions', MODEL)
    assert.match(text, /up/)
    assert.doesNotMatch(text, /sk-wrong/)
  })

  test('passes on refusals of the server with field and waiting time, but nothing of its failures', async () => {
    const refusals = [
      { error: { message: 'Invalid temperature', param: 'temperature' }, status: 400 },
      { error: { message: 'Rate limit reached' }, status: 429, retry_after: '30' },
      { error: { message: 'a stack trace' }, status: 500, retry_after: '60' },
    ]
    await using gateway = await startGateway({ answer: (_, n) => refusals[n]! })
    const rejected = await post(gateway.server, asking())
    assert.equal(rejected.status, 400)
    const { param, message } = (JSON.parse(rejected.text) as Refusal).error
    assert.equal(param, 'temperature')
    assert.match(message, /Invalid temperature/)
    const limited = await post(gateway.server, asking({ stream: true }))
    assert.deepEqual([limited.status, limited.headers['retry-after']], [429, '30'])
    const failed = await post(gateway.server, asking({ stream: true }))
    assert.deepEqual([failed.status, failed.text.includes('stack')], [502, false])
  })

  test('refuses invalid bodies in the same format', async () => {
    await using server = await startServer({ config: { max_body_bytes: 6_000_000 } })
    const long = asking({ model: 'builtin/echo', messages: [{ role: 'user', content: 'x'.repeat(7_000_000) }] })
    for (const [status, body, headers] of [
      [400, '{', {}],
      [400, '', {}],
      [400, '[]', {}],
      [400, `{"model":"builtin/echo","messages":[{"role":"user","content":"\\ud800"}]}`, {}],
      [413, long, {}],
      [415, asking(), { 'Content-Type': 'text/plain' }],
    ] as const) {
      const answer = await post(server, body, { headers })
      assert.equal(answer.status, status, answer.text)
      assert.deepEqual(Object.keys((JSON.parse(answer.text) as Refusal).error).slice(0, 4), [
        'message',
        'type',
        'param',
        'code',
      ])
    }
  })

  test('accepts a prompt of 5 MB', async () => {
    await using gateway = await startGateway()
    const body = asking({ messages: [{ role: 'user', content: 'long "words" \\ '.repeat(350_000) }] })
    assert.ok(body.length > 5_000_000)
    assert.equal((await post(gateway.server, body)).status, 200)
    assert.equal(gateway.upstream.posts[0]!.raw.toString(), body.replace(MODEL, 'gpt-4o-mini'))
  })
})
