// A provider of models that a test scripts: its answers, delays, failures, prices and reported usage.
import type {
  Capability,
  CompletionPart,
  CompletionRequest,
  EmbeddingRequest,
  FinishReason,
  Model,
  ModelPrice,
  Provider,
  ProviderContext,
} from '../../src/models/provider.ts'

/** One answer. Without `usage` the provider reports no tokens. Without `cost` in it, the provider reports no cost. */
export interface Script {
  pieces?: readonly string[]
  /** Parts before its pieces, besides text. */
  before?: readonly CompletionPart[]
  usage?: { input_tokens: number; output_tokens: number; cost?: number } | null
  finish_reason?: FinishReason
  /** The model awaits this before the piece of that number, from 0. With the number of pieces, it waits before its end. */
  waits?: { before: number; for: (signal: AbortSignal) => Promise<unknown> }
  /** The model throws this before the piece of that number, from 0. With the number of pieces, it throws before its end. */
  fails?: { before: number; with: unknown }
  /** The answer ends without a finish reason. */
  endless?: boolean
}

export interface PricedOptions {
  name?: string
  credential?: string | null
  /** By the model's name. */
  models?: Readonly<Record<string, ModelPrice | null>>
  max_output_tokens?: number | null
  /** The abilities of all its models. */
  capabilities?: readonly Capability[]
  /** Returns the vector of a text. With it, all models support embeddings. `call` counts texts over all calls. */
  embed?: (text: string, call: number) => readonly number[] | Promise<readonly number[]>
  /** Answers a request. By default the answer is "one two three" without usage. */
  answer?: (request: CompletionRequest, call: number) => Script
  /** Called when its models are listed. It may throw. */
  listing?: (context: ProviderContext) => unknown
}

export interface Call {
  readonly request: CompletionRequest
  readonly credential: string | null
  readonly signal: AbortSignal
  /** Whether its generator has ended in any way. */
  ended: boolean
}

export interface PricedProvider extends Provider {
  readonly calls: Call[]
  readonly embedded: EmbeddingRequest[]
  /** How often its models were listed. */
  listed: number
}

/** In US dollars. */
export function dollars(input: number, output: number, request = 0): ModelPrice {
  return {
    currency: 'USD',
    per_request: request,
    per_million_input_tokens: input,
    per_million_output_tokens: output,
  }
}

/** `priced/small` costs 1 and 2 dollars for a million input and output tokens. `priced/free` has no price. Tokens are words. */
export function pricedProvider(options: PricedOptions = {}): PricedProvider {
  const { name = 'priced', credential = null, answer = () => ({}) } = options
  const prices = options.models ?? { small: dollars(1, 2), free: null }
  const calls: Call[] = []
  const embedded: EmbeddingRequest[] = []
  const provider: PricedProvider = {
    name,
    title: `The provider ${name}`,
    kind: 'openai_compatible',
    credential,
    calls,
    embedded,
    listed: 0,
    async models(context) {
      provider.listed++
      await options.listing?.(context)
      return Object.entries(prices).map(([model, price]) => modelOf(name, model, price, options))
    },
    complete(request, context) {
      const call = { request, credential: context.credential, signal: context.signal, ended: false }
      calls.push(call)
      return played(answer(request, calls.length - 1), call)
    },
    countTokens: (text) => text.split(/\s+/).filter((word) => word !== '').length,
  }
  const { embed } = options
  if (!embed) return provider
  let texts = 0
  return Object.assign(provider, {
    async embed(request: EmbeddingRequest) {
      embedded.push(request)
      const vectors: (readonly number[])[] = []
      for (const text of request.input as string[]) vectors.push(await embed(text, texts++))
      return { vectors, input_tokens: 0 }
    },
  })
}

function modelOf(provider: string, name: string, price: ModelPrice | null, options: PricedOptions): Model {
  const { max_output_tokens = null, capabilities = [] } = options
  const tasks = options.embed ? ['chat', 'embedding'] : ['chat']
  return { id: `${provider}/${name}`, name, title: name, tasks, price, max_output_tokens, capabilities }
}

async function* played(script: Script, call: Call): AsyncGenerator<CompletionPart, void, void> {
  const { pieces = ['one', ' two', ' three'], usage = null, finish_reason = 'stop' } = script
  const at = async (place: number): Promise<void> => {
    if (script.waits?.before === place) await script.waits.for(call.signal)
    if (script.fails?.before === place) throw script.fails.with
    call.signal.throwIfAborted()
  }
  try {
    for (const part of script.before ?? []) yield part
    for (const [place, text] of pieces.entries()) {
      await at(place)
      yield { type: 'text', text }
    }
    await at(pieces.length)
    if (script.endless) return
    const counted = { input_tokens: 0, output_tokens: 0, cost: null, ...usage }
    yield { type: 'end', usage: counted, finish_reason }
  } finally {
    call.ended = true
  }
}
