// OpenAI's own client with this service in front of models of Anthropic and Google: streams, tool calls with results, schemas, vectors and refusals.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import { createAnthropicProvider } from '../../src/models/providers/anthropic/provider.ts'
import { createGoogleProvider } from '../../src/models/providers/google/provider.ts'
import { type ClaudeScript, startAnthropic } from '../helpers/anthropic-upstream.ts'
import { type GeminiScript, startGoogle } from '../helpers/google-upstream.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import type { Loose, VendorUpstream } from '../helpers/vendor-upstream.ts'
import { GOOGLE_KEY, KEY, quickClient } from './vendor-kit.ts'

type Message = OpenAI.ChatCompletionMessageParam

const TOOLS: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'city.weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const ASKED: Message[] = [
  { role: 'system', content: 'be brief' },
  { role: 'user', content: 'weather in Ulm?' },
]

/** Whether the last turn has a tool result. */
const claudeAnswered = ({ messages }: Loose) => messages.at(-1).content[0].type === 'tool_result'
const geminiAnswered = ({ contents }: Loose) => 'functionResponse' in contents.at(-1).parts[0]

function claude(json: Loose): ClaudeScript {
  if (json.output_config?.format) return { says: [{ text: ['{"city":', '"Ulm"}'] }] }
  if (!json.tools || claudeAnswered(json)) return {}
  const { name } = json.tools[0]
  return {
    says: [
      { thinking: ['hm'], signature: 'sig' },
      { tool: name, id: 'toolu_1', input: ['{"city":', '"Ulm"}'] },
      { tool: name, id: 'toolu_2', input: ['{"city":"Bonn"}'] },
    ],
    stop_reason: 'tool_use',
  }
}

function gemini(json: Loose): GeminiScript {
  if (json.generationConfig?.responseJsonSchema) return { says: [{ text: '{"city":' }, { text: '"Ulm"}' }] }
  if (!json.tools || geminiAnswered(json)) return {}
  const { name } = json.tools[0].functionDeclarations[0]
  const calls = ['Ulm', 'Bonn'].map((city) => ({ functionCall: { name, args: { city } } }))
  return { says: [{ ...calls[0]!, thoughtSignature: 'sealed' }, calls[1]!] }
}

describe("OpenAI's client", () => {
  const upstreams = quickClient()
  let server: TestServer
  let openai: OpenAI
  const vendors: Record<string, VendorUpstream> = {}

  before(async () => {
    vendors.anthropic = await startAnthropic({ answer: ({ json }) => claude(json) })
    vendors.google = await startGoogle({ answer: ({ json }) => (json.contents ? gemini(json) : {}) })
    const providers = [
      createAnthropicProvider({ client: upstreams, base_url: `${vendors.anthropic.base_url}/v1/` }),
      createGoogleProvider({ client: upstreams, base_url: `${vendors.google.base_url}/v1beta` }),
    ]
    server = await startServer({ providers })
    await call(server, 'PUT', '/api/secrets/ANTHROPIC_API_KEY', { body: { value: KEY } })
    await call(server, 'PUT', '/api/secrets/GEMINI_API_KEY', { body: { value: GOOGLE_KEY } })
    openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    for (const upstream of Object.values(vendors)) await upstream[Symbol.asyncDispose]()
    await upstreams[Symbol.asyncDispose]()
  })

  const models = { anthropic: 'anthropic/claude-opus-5-5', google: 'google/gemini-3.8-flash' } as const
  const used = { anthropic: [16, 7, 23], google: [9, 11, 20] } as const
  for (const name of ['anthropic', 'google'] as const) {
    const model = models[name]

    test(`gets streams of ${name} with usage`, async () => {
      const stream = await openai.chat.completions.create({
        model,
        messages: ASKED,
        stream: true,
        stream_options: { include_usage: true },
      })
      let text = ''
      const finishes: unknown[] = []
      let usage: OpenAI.CompletionUsage | null = null
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason)
        usage = chunk.usage ?? usage
      }
      assert.deepEqual([text, finishes], ['Hello there', ['stop']])
      assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens], used[name])
    })

    test(`calls tools for ${name} and gives it their results`, async () => {
      const first = await openai.chat.completions.create({ model, messages: ASKED, tools: TOOLS })
      const [{ message, finish_reason }] = first.choices as [OpenAI.ChatCompletion.Choice]
      assert.equal(finish_reason, 'tool_calls')
      const calls = (message.tool_calls ?? []).filter((one) => one.type === 'function')
      assert.deepEqual(
        calls.map((one) => [one.function.name, one.function.arguments]),
        [
          ['city.weather', '{"city":"Ulm"}'],
          ['city.weather', '{"city":"Bonn"}'],
        ],
      )
      const results: Message[] = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `sun for ${id}` }))
      const second = await openai.chat.completions.create({
        model,
        messages: [...ASKED, message, ...results],
        tools: TOOLS,
      })
      assert.deepEqual([second.choices[0]!.message.content, second.choices[0]!.finish_reason], ['Hello there', 'stop'])
      const sent = JSON.stringify(vendors[name]!.posted.at(-1))
      // The state of the calls was sent back with them.
      assert.match(sent, name === 'anthropic' ? /"signature":"sig"/ : /"thoughtSignature":"sealed"/)
    })

    test(`gets answers of ${name} that match a schema`, async () => {
      const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
      const { choices } = await openai.chat.completions.create({
        model,
        messages: ASKED,
        response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
      })
      assert.deepEqual(JSON.parse(choices[0]!.message.content!), { city: 'Ulm' })
    })

    test(`gets an error for fields that ${name} does not support`, async () => {
      const asked = vendors[name]!.posted.length
      const refused = openai.chat.completions.create({ model, messages: ASKED, logit_bias: { 1: 1 } })
      await assert.rejects(refused, { status: 400, param: 'logit_bias' })
      assert.equal(vendors[name]!.posted.length, asked)
      const missing = openai.chat.completions.create({ model: `${name}/nothing`, messages: ASKED })
      await assert.rejects(missing, { status: 404, type: 'model_not_found' })
    })
  }

  test('gets vectors of google', async () => {
    const { data, usage } = await openai.embeddings.create({
      model: 'google/gemini-embedding-001',
      input: ['abc', 'abcd'],
      encoding_format: 'float',
    })
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      [
        [3, 4, 5, 6],
        [5, 6, 7, 8],
      ],
    )
    assert.deepEqual(usage, { prompt_tokens: 2, total_tokens: 2 })
  })
})
