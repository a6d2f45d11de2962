// The answers of a scripted model server: the bodies of OpenAI's API, whole and as stream events.

export interface ScriptedCall {
  id?: string
  name: string
  /** JSON text. Its pieces are sent one by one. */
  arguments: string | readonly string[]
}

export interface ScriptedUsage {
  prompt_tokens: number
  completion_tokens: number
}

export interface ScriptedError {
  message: string
  type?: string
  param?: string | null
  code?: string | number | null
}

/** The answer of the model. */
export interface Said {
  /** Its pieces are sent one by one in a stream. Absent: "Hello from upstream". Null: no text. */
  text?: string | readonly string[] | null
  /** The texts of further choices. Absent: the text is repeated `n` times. */
  others?: readonly string[]
  /** Sent as `reasoning_content` before the text. */
  thinking?: readonly string[]
  refusal?: string
  /** Several calls are parallel: their pieces alternate. */
  tool_calls?: readonly ScriptedCall[]
  /** The deprecated form of a call. */
  function_call?: ScriptedCall
  finish_reason?: string
  /** Absent: words are counted. `none`: no usage is reported, even on request. `zeros`: the usage is zero. */
  usage?: ScriptedUsage | 'none' | 'zeros'
  /** The call has no id and no index, unlike tool calls. */
  careless_calls?: boolean
  /** The last chunk of a stream is missing. */
  no_done?: boolean
  vectors?: readonly (readonly number[])[]
}

interface Asked {
  readonly [field: string]: unknown
}

const ID = 'chatcmpl-9sT0XkqLr4'
const CREATED = 1_763_800_000

export function errorBody({
  message,
  type = 'invalid_request_error',
  param = null,
  code = null,
}: ScriptedError): string {
  return JSON.stringify({ error: { message, type, param, code } }, null, 2)
}

export function modelList(names: readonly string[]): object {
  return { object: 'list', data: names.map((id) => ({ id, object: 'model', created: CREATED, owned_by: 'upstream' })) }
}

const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length
const joined = (pieces: string | readonly string[]): string => (typeof pieces === 'string' ? pieces : pieces.join(''))
const listed = (pieces: string | readonly string[]): readonly string[] =>
  typeof pieces === 'string' ? [pieces] : pieces

function saidText(said: Said, asked: Asked): readonly string[] {
  if (said.text !== undefined) return said.text === null ? [] : listed(said.text)
  if (said.tool_calls || said.function_call || said.refusal !== undefined) return []
  const format = asked.response_format as
    | { type?: string; json_schema?: { schema?: Record<string, unknown> } }
    | null
    | undefined
  if (format?.type === 'json_object') return ['{"ok"', ':true}']
  if (format?.type === 'json_schema') return [JSON.stringify(sample(format.json_schema?.schema ?? {}))]
  return ['Hello', ' from', ' upstream']
}

/** Returns a value that a schema allows. */
function sample(schema: Record<string, unknown>): unknown {
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'array') return schema.items ? [sample(schema.items as Record<string, unknown>)] : []
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return 7
  if (type === 'boolean') return true
  if (type === 'null') return null
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>)
  return Object.fromEntries(properties.map(([name, one]) => [name, sample(one)]))
}

function usageOf(said: Said, asked: Asked): object | null {
  if (said.usage === 'none') return null
  const texts = [
    ...saidText(said, asked),
    ...(said.others ?? []),
    ...(said.tool_calls ?? []).map((one) => joined(one.arguments)),
  ]
  const counted = {
    prompt_tokens: words(JSON.stringify(asked.messages ?? '')),
    completion_tokens: words(texts.join(' ')),
  }
  const used = said.usage === 'zeros' ? { prompt_tokens: 0, completion_tokens: 0 } : (said.usage ?? counted)
  return {
    prompt_tokens: used.prompt_tokens,
    completion_tokens: used.completion_tokens,
    total_tokens: used.prompt_tokens + used.completion_tokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  }
}

function callId(call: ScriptedCall, index: number): string {
  return call.id ?? `call_${index}aBcDeF`
}

function finishOf(said: Said): string {
  return said.finish_reason ?? (said.tool_calls ? 'tool_calls' : said.function_call ? 'function_call' : 'stop')
}

function textsOf(said: Said, asked: Asked): string[] {
  const first = joined(saidText(said, asked))
  const more = said.others ?? Array.from({ length: Number(asked.n ?? 1) - 1 }, () => first)
  return [first, ...more]
}

export function completion(said: Said, asked: Asked): object {
  const calls = said.tool_calls?.map((call, index) => ({
    ...(said.careless_calls ? {} : { id: callId(call, index) }),
    type: 'function',
    function: { name: call.name, arguments: joined(call.arguments) },
  }))
  const old = said.function_call
  const choices = textsOf(said, asked).map((text, index) => ({
    index,
    message: {
      role: 'assistant',
      content: text === '' ? null : text,
      refusal: said.refusal ?? null,
      ...(said.thinking ? { reasoning_content: joined(said.thinking) } : {}),
      ...(calls ? { tool_calls: calls } : {}),
      ...(old ? { function_call: { name: old.name, arguments: joined(old.arguments) } } : {}),
      annotations: [],
    },
    logprobs: null,
    finish_reason: finishOf(said),
  }))
  const usage = usageOf(said, asked)
  const known = { id: ID, object: 'chat.completion', created: CREATED, model: asked.model, choices }
  return { ...known, ...(usage ? { usage } : {}), service_tier: 'default', system_fingerprint: 'fp_50cad350e4' }
}

/** Returns the data of each stream event. */
export function events(said: Said, asked: Asked): string[] {
  const withUsage = (asked.stream_options as { include_usage?: boolean } | null | undefined)?.include_usage === true
  const counting = withUsage && said.usage !== 'none'
  const chunk = (choices: readonly object[], usage: object | null = null) =>
    JSON.stringify({
      id: ID,
      object: 'chat.completion.chunk',
      created: CREATED,
      model: asked.model,
      service_tier: 'default',
      system_fingerprint: 'fp_50cad350e4',
      choices,
      ...(counting ? { usage } : {}),
    })
  const delta = (index: number, given: object, finish_reason: string | null = null) =>
    chunk([{ index, delta: given, logprobs: null, finish_reason }])
  const texts = textsOf(said, asked)
  const roles = texts.map((_, index) =>
    delta(index, { role: 'assistant', content: index === 0 && said.tool_calls ? null : '', refusal: null }),
  )
  const thoughts = (said.thinking ?? []).map((text) => delta(0, { reasoning_content: text }))
  const pieces = saidText(said, asked).map((content) => delta(0, { content }))
  const others = texts.slice(1).map((content, index) => delta(index + 1, { content }))
  const refusal = said.refusal === undefined ? [] : [delta(0, { refusal: said.refusal })]
  const calls = callDeltas(said).map((tool_call) => delta(0, { tool_calls: [tool_call] }))
  const ends = texts.map((_, index) => delta(index, {}, finishOf(said)))
  const usage = counting ? [chunk([], usageOf(said, asked))] : []
  return [
    ...roles,
    ...thoughts,
    ...pieces,
    ...others,
    ...refusal,
    ...calls,
    ...oldCall(said, delta),
    ...ends,
    ...usage,
    ...(said.no_done ? [] : ['[DONE]']),
  ]
}

function oldCall({ function_call: call }: Said, delta: (index: number, given: object) => string): string[] {
  if (!call) return []
  const pieces = listed(call.arguments).map((text) => delta(0, { function_call: { arguments: text } }))
  return [delta(0, { function_call: { name: call.name, arguments: '' } }), ...pieces]
}

/** Returns the first piece of each call, and then the pieces of their arguments alternately. */
function callDeltas({ tool_calls = [], careless_calls = false }: Said): object[] {
  if (careless_calls)
    return tool_calls.map((call) => ({
      type: 'function',
      function: { name: call.name, arguments: joined(call.arguments) },
    }))
  const first = tool_calls.map((call, index) => ({
    index,
    id: callId(call, index),
    type: 'function',
    function: { name: call.name, arguments: '' },
  }))
  const pieces = tool_calls.flatMap((call, index) =>
    listed(call.arguments).map((text, at) => ({ at, index, function: { arguments: text } })),
  )
  const inTurn = pieces.sort((a, b) => a.at - b.at || a.index - b.index).map(({ at, ...piece }) => piece)
  return [...first, ...inTurn]
}

export function embeddings(said: Said, asked: Asked): object {
  const inputs = typeof asked.input === 'string' ? [asked.input] : ((asked.input ?? []) as unknown[])
  const length = Number(asked.dimensions ?? 4)
  const vectors = said.vectors ?? inputs.map((input, at) => vectorOf(String(input), at, length))
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding:
      asked.encoding_format === 'base64' ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector,
  }))
  const counted = said.usage === 'zeros' ? 0 : inputs.reduce<number>((sum, input) => sum + words(String(input)), 0)
  const usage = said.usage === 'none' ? {} : { usage: { prompt_tokens: counted, total_tokens: counted } }
  return { object: 'list', data, model: asked.model, ...usage }
}

/** Numbers that 32-bit floats represent exactly. */
function vectorOf(text: string, at: number, length: number): number[] {
  return Array.from({ length }, (_, index) => (((text.length + at) * (index + 1)) % 16) / 16)
}
