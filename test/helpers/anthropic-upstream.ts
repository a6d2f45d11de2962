// A server that behaves like Anthropic's Messages API: it refuses invalid requests and streams events as the API does.
import {
  type Loose,
  startVendor,
  type VendorRequest,
  type VendorScript,
  type VendorUpstream,
} from './vendor-upstream.ts'

type Json = { [key: string]: unknown }

/** A content block of an answer, in the pieces that are listed here. */
export type Said =
  | { readonly text: readonly string[] }
  | { readonly thinking: readonly string[]; readonly signature: string }
  | { readonly redacted: string }
  | { readonly tool: string; readonly id: string; readonly input: readonly string[] }

export interface ClaudeScript extends VendorScript {
  /** Replaces the events. */
  says?: readonly Said[]
  stop_reason?: string
  stop_details?: Json | null
  usage?: Json | null
  error?: { type: string; message: string }
}

export interface AnthropicOptions {
  answer?: (request: VendorRequest, n: number) => ClaudeScript
  models?: readonly Json[]
  key?: string
}

export const USAGE = { input_tokens: 11, cache_creation_input_tokens: 2, cache_read_input_tokens: 3, output_tokens: 7 }

export const CLAUDES: readonly Json[] = [
  {
    type: 'model',
    id: 'claude-opus-5-5',
    display_name: 'Claude Opus 5.5',
    created_at: '2026-09-22T00:00:00Z',
    max_input_tokens: 1_000_000,
    max_tokens: 128_000,
    capabilities: {
      image_input: { supported: true },
      pdf_input: { supported: true },
      structured_outputs: { supported: true },
      effort: {
        supported: true,
        low: { supported: true },
        medium: { supported: true },
        high: { supported: true },
        max: { supported: true },
        xhigh: { supported: false },
      },
      thinking: { supported: true, types: { adaptive: { supported: true }, enabled: { supported: false } } },
    },
  },
  {
    type: 'model',
    id: 'claude-haiku-4-5-20251001',
    display_name: 'Claude Haiku 4.5',
    created_at: '2025-10-15T00:00:00Z',
  },
  { type: 'model', id: 'claude-3-5-haiku-20241022', display_name: 'Claude Haiku 3.5', created_at: 'unknown' },
]

/** Its answer without a script. */
const PLAIN: ClaudeScript = {}

export function startAnthropic(options: AnthropicOptions = {}): Promise<VendorUpstream> {
  const { models = CLAUDES, key = 'sk-ant-test-0123456789', answer = () => PLAIN } = options
  let posts = 0
  return startVendor((request) => {
    if (request.headers['x-api-key'] !== key) return failure(401, 'authentication_error', 'invalid x-api-key')
    if (request.headers['anthropic-version'] !== '2023-06-01')
      return failure(400, 'invalid_request_error', 'anthropic-version: header is required')
    if (request.method === 'GET' && request.path === '/v1/models') return listing(request, models)
    if (request.method !== 'POST' || request.path !== '/v1/messages')
      return failure(404, 'not_found_error', 'Not found')
    const wrong = refused(request.json)
    if (wrong) return failure(400, 'invalid_request_error', wrong)
    if (!models.some(({ id }) => id === request.json.model))
      return failure(404, 'not_found_error', `model: ${request.json.model}`)
    const script = answer(request, posts++)
    if (script.error)
      return {
        ...failure(script.status ?? 400, script.error.type, script.error.message),
        headers: script.headers ?? {},
      }
    return script.events || script.body ? script : { ...script, events: claudeEvents(script) }
  })
}

function failure(status: number, type: string, message: string): VendorScript {
  return { status, body: { type: 'error', error: { type, message }, request_id: 'req_011C' } }
}

/** At most two at a time. */
function listing({ query }: VendorRequest, models: readonly Json[]): VendorScript {
  const after = models.findIndex(({ id }) => id === query.get('after_id'))
  const data = models.slice(after + 1, after + 3)
  const last = data.at(-1)
  return { body: { data, first_id: data[0]?.id ?? null, last_id: last?.id ?? null, has_more: last !== models.at(-1) } }
}

export const event = (data: Json): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** The events of the real API: a ping after the start, and token counts at both ends. */
export function claudeEvents(script: ClaudeScript): string[] {
  const {
    says = [{ text: ['Hello', ' there'] }],
    stop_reason = 'end_turn',
    stop_details = null,
    usage = USAGE,
  } = script
  const started = usage ? { usage: { ...usage, output_tokens: 1 } } : {}
  const blocks = says.flatMap((said, index) => blockEvents(said, index))
  return [
    { type: 'message_start', message: { id: 'msg_01', type: 'message', role: 'assistant', content: [], ...started } },
    { type: 'ping' },
    ...blocks,
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null, stop_details },
      ...(usage ? { usage: { ...usage, input_tokens: null } } : {}),
    },
    { type: 'message_stop' },
  ].map(event)
}

function blockEvents(said: Said, index: number): Json[] {
  const [block, deltas] = blockOf(said)
  return [
    { type: 'content_block_start', index, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function blockOf(said: Said): [Json, Json[]] {
  if ('text' in said) return [{ type: 'text', text: '' }, said.text.map((text) => ({ type: 'text_delta', text }))]
  if ('redacted' in said) return [{ type: 'redacted_thinking', data: said.redacted }, []]
  if ('thinking' in said) {
    const pieces = said.thinking.map((thinking) => ({ type: 'thinking_delta', thinking }))
    return [
      { type: 'thinking', thinking: '', signature: '' },
      [...pieces, { type: 'signature_delta', signature: said.signature }],
    ]
  }
  const pieces = said.input.map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  return [
    { type: 'tool_use', id: said.id, name: said.tool, input: {} },
    [{ type: 'input_json_delta', partial_json: '' }, ...pieces],
  ]
}

/** Returns the error of the real API in a few words, or null. */
function refused({
  max_tokens,
  messages,
  stream,
  tools = [],
  temperature,
  thinking,
  stop_sequences = [],
  output_config,
}: Loose): string | null {
  if (!Number.isInteger(max_tokens) || max_tokens < 1) return 'max_tokens: Field required'
  if (stream !== true) return 'stream: this server streams alone'
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: at least one message is required'
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 1)) return 'temperature: range: 0..1'
  if (thinking?.type === 'enabled' && !(thinking.budget_tokens >= 1024 && thinking.budget_tokens < max_tokens))
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024 and less than max_tokens'
  if (stop_sequences.some((one: string) => one.trim() === '')) return 'stop_sequences: each must contain non-whitespace'
  const bad = tools.find(
    ({ name, input_schema }: Loose) => !/^[a-zA-Z0-9_-]{1,128}$/.test(name) || input_schema?.type !== 'object',
  )
  if (bad) return `tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
  const format = output_config?.format
  const wrong = format && wrongSchema(format.schema)
  return wrong ? `output_config.format.schema: ${wrong}` : wrongMessages(messages, tools.length)
}

const BOUNDS = /^(?:minimum|maximum|exclusive\w+|multipleOf|(?:min|max)(?:Length|Properties)|maxItems|uniqueItems)$/

/** Structured outputs do not support bounds, and support only closed objects. */
function wrongSchema(schema: Loose): string | null {
  if (typeof schema !== 'object' || schema === null) return null
  const bound = Object.keys(schema).find((key) => BOUNDS.test(key) || (key === 'minItems' && schema[key] > 1))
  if (bound) return `For '${schema.type}' type, property '${bound}' is not supported`
  if (schema.type === 'object' && schema.additionalProperties !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false"
  const { properties = {}, $defs = {}, anyOf = [], allOf = [], items } = schema
  const inner = [...Object.values(properties), ...Object.values($defs), ...anyOf, ...allOf, items]
  return inner.map(wrongSchema).find((one) => one !== null) ?? null
}

function wrongMessages(messages: Loose[], tools: number): string | null {
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== 'user' && role !== 'assistant') return `messages.${at}.role: Input should be 'user' or 'assistant'`
    if (!Array.isArray(content) || content.length === 0)
      return `messages.${at}: all messages must have non-empty content`
    const types: string[] = content.map(({ type }: Loose) => type)
    if (content.some(({ type, text }: Json) => type === 'text' && text === ''))
      return `messages.${at}: text content blocks must be non-empty`
    if (types.some((type) => type.startsWith('tool_')) && tools === 0)
      return 'Requests which include `tool_use` or `tool_result` blocks must define tools'
    const lastResult = types.lastIndexOf('tool_result')
    if (types.slice(0, Math.max(lastResult, 0)).some((type) => type !== 'tool_result'))
      return 'tool_result blocks must come first'
    const called = idsOf(messages[at - 1]?.content, 'tool_use', 'id')
    const answered = idsOf(content, 'tool_result', 'tool_use_id')
    if (role === 'user' && called.sort().join() !== answered.sort().join())
      return `messages.${at}: each tool_use block must have a corresponding tool_result block in the next message`
  }
  return null
}

function idsOf(content: unknown, type: string, name: string): string[] {
  return Array.isArray(content) ? content.filter((one: Loose) => one.type === type).map((one: Loose) => one[name]) : []
}
