// What a scripted server of models says: the bodies of OpenAI's API, whole and as events of a stream.

export interface ScriptedCall {
  id?: string
  name: string
  /** JSON text; the pieces of it are sent one by one. */
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

/** What the model says. */
export interface Said {
  /** Its pieces come one by one where it is streamed. By default "Hello from upstream"; null: none. */
  text?: string | readonly string[] | null
  /** The texts of further choices, one for each; where there are none, the text is said `n` times. */
  others?: readonly string[]
  /** As `reasoning_content`, before the text. */
  thinking?: readonly string[]
  refusal?: string
  /** More than one are called in parallel: their pieces come in turn. */
  tool_calls?: readonly ScriptedCall[]
  /** The old form of a call. */
  function_call?: ScriptedCall
  finish_reason?: string
  /** By default words are counted. `none`: it counts nothing, asked or not. `zeros`: it says that nothing was used. */
  usage?: ScriptedUsage | 'none' | 'zeros'
  /** Without the id and the index that calls of tools have. */
  careless_calls?: boolean
  /** The last of a stream is missing. */
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

/** A value that a schema allows. */
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

/** The data of each event of a stream. */
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

/** The first piece of each call, then those of their arguments in turn. */
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

/** Numbers that a float of 32 bits can hold. */
function vectorOf(text: string, at: number, length: number): number[] {
  return Array.from({ length }, (_, index) => (((text.length + at) * (index + 1)) % 16) / 16)
}
