// A provider of models that a test writes: what it answers, how long it takes, where it fails, what it costs and what it reports.
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

/** One answer. Without `usage` the provider does not count, and without `cost` in it it does not say what it took. */
export interface Script {
  pieces?: readonly string[]
  /** What comes before its pieces, besides text. */
  before?: readonly CompletionPart[]
  usage?: { input_tokens: number; output_tokens: number; cost?: number } | null
  finish_reason?: FinishReason
  /** It waits for this before the piece of that number, counted from 0; with the number of pieces, before its end. */
  waits?: { before: number; for: (signal: AbortSignal) => Promise<unknown> }
  /** It throws this before the piece of that number, counted from 0; with the number of pieces, before its end. */
  fails?: { before: number; with: unknown }
  /** It ends without saying so. */
  endless?: boolean
}

export interface PricedOptions {
  name?: string
  credential?: string | null
  /** By the model's name. */
  models?: Readonly<Record<string, ModelPrice | null>>
  max_output_tokens?: number | null
  /** Of all of its models. */
  capabilities?: readonly Capability[]
  /** The vector of a text. With it, all of its models are for embedding as well. `call` counts texts, over all calls. */
  embed?: (text: string, call: number) => readonly number[] | Promise<readonly number[]>
  /** Answers what is asked; by default "one two three", unreported. */
  answer?: (request: CompletionRequest, call: number) => Script
  /** Called where its models are listed; may throw. */
  listing?: (context: ProviderContext) => unknown
}

export interface Call {
  readonly request: CompletionRequest
  readonly credential: string | null
  readonly signal: AbortSignal
  /** Whether its generator has ended, in whatever way. */
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

/** `priced/small` costs 1 and 2 dollars for a million tokens in and out, `priced/free` has no price; tokens are words. */
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
