// A provider for any server that speaks OpenAI's protocol: hosted ones, Ollama, vLLM, llama.cpp, LM Studio.
import { isLoopbackHost } from '../config/access.ts'
import type { UpstreamClient } from '../net/upstream.ts'
import { wholeBody } from '../net/upstream-body.ts'
import type { UpstreamReply } from '../net/upstream-exchange.ts'
import { UpstreamFailure } from '../net/upstream-failure.ts'
import { MOST_MODELS } from './checked.ts'
import { jsonIn } from './json-text.ts'
import { OpenAiAnswer } from './openai-answer.ts'
import { embeddingsOf, inputsIn } from './openai-embeddings.ts'
import { type Asked, refusalOf, senseless, unanswered } from './openai-errors.ts'
import { headersOf } from './openai-headers.ts'
import { listedModels, modelOf, type Owner, saysPrices } from './openai-models.ts'
import { PassedPieces } from './openai-passing.ts'
import { streamedParts } from './openai-stream.ts'
import { estimatedTokens } from './openai-tokens.ts'
import type {
  CompletionPart,
  CompletionRequest,
  EmbeddingRequest,
  Embeddings,
  Model,
  Provider,
  ProviderContext,
  UpstreamAnswer,
  UpstreamRequest,
} from './provider.ts'
import { UsageWish } from './usage-wish.ts'

export interface OpenAiOptions {
  readonly name: string
  readonly title: string
  /** With its version, without a slash at its end. */
  readonly base_url: string
  /** The name of the secret that it is asked with. */
  readonly credential: string | null
  readonly keyless: boolean
  readonly client: UpstreamClient
  /** Bytes of an answer that is not streamed. */
  readonly most_bytes?: number
}

/** 2,048 vectors of 3,072 numbers in JSON, and some more. */
const MOST_BYTES = 134_217_728
/** Of a whole answer: more than any model writes. */
const MOST_ANSWER_BYTES = 33_554_432
/** A list is read in one go, while everybody else waits. */
const MOST_LIST_BYTES = 4_194_304

type Call = Pick<ProviderContext, 'credential' | 'signal' | 'read'>

class OpenAiCompatible implements Provider {
  readonly kind = 'openai_compatible'
  readonly watchful = true
  readonly name: string
  readonly title: string
  readonly base_url: string
  readonly credential: string | null
  readonly keyless: boolean
  readonly upstream = { send: (request: UpstreamRequest) => this.#passed(request) }
  readonly #client: UpstreamClient
  readonly #origin: string
  readonly #path: string
  readonly #most_bytes: number
  /** Whether it runs on this machine: then it costs nothing, unless it says so itself. */
  readonly #own: boolean
  /** As its last list has it. */
  #owner: Owner
  left_out = 0
  readonly #wish = new UsageWish()

  constructor({ name, title, base_url, credential, keyless, client, most_bytes = MOST_BYTES }: OpenAiOptions) {
    const { origin, pathname, hostname } = new URL(base_url)
    this.name = name
    this.title = title
    this.base_url = base_url
    this.credential = credential
    this.keyless = keyless
    this.#client = client
    this.#origin = origin
    this.#path = pathname.replace(/\/+$/, '')
    this.#most_bytes = most_bytes
    this.#own = isLoopbackHost(hostname.replace(/^\[|\]$/g, ''))
    this.#owner = { name, host: hostname, free: this.#own }
  }

  async models(context: ProviderContext): Promise<readonly Model[]> {
    const reply = await this.#send('GET', '/models', undefined, context)
    const list = listedModels(await this.#json(reply, context, MOST_LIST_BYTES))
    if (!list) throw senseless(this.#asked(context), 'no list of models')
    const { entries, left_out } = list
    if (entries.length > MOST_MODELS) throw senseless(this.#asked(context), `more than ${MOST_MODELS} models`)
    this.left_out = left_out
    this.#owner = { ...this.#owner, free: this.#own && !saysPrices(list) }
    return entries.map((entry) => modelOf(entry, this.#owner))
  }

  unlisted(name: string): Model {
    return modelOf({ id: name }, this.#owner)
  }

  async *complete(request: CompletionRequest, context: ProviderContext): AsyncGenerator<CompletionPart, void, void> {
    const { n: _n, stream_options: _own, ...asked } = request
    const most = this.#own ? oldLimit(request) : {}
    const plain = { ...asked, ...most, stream: true }
    const { written = JSON.stringify } = context
    const wishing = await written({ ...plain, stream_options: { include_usage: true } })
    const ways = { body: wishing, plain: () => written(plain) }
    const reply = await this.#wish.send(ways, (body) => this.#send('POST', '/chat/completions', body, context))
    const who = this.#asked(context)
    if (isStream(reply)) return yield* streamedParts(reply.body, who, context)
    // It does not stream, or it is something else.
    const answer = new OpenAiAnswer(who, context.heard)
    const most_bytes = Math.min(this.#most_bytes, MOST_ANSWER_BYTES)
    yield* answer.take(await this.#json(reply, context, most_bytes, 'answer'))
    if (!answer.finished) throw senseless(who, 'something that is no answer')
    yield answer.end()
  }

  async embed(request: EmbeddingRequest, context: ProviderContext): Promise<Embeddings> {
    const { written = JSON.stringify } = context
    const reply = await this.#send('POST', '/embeddings', await written(request), context)
    const given = await embeddingsOf(await this.#json(reply, context), inputsIn(request.input))
    if (!given) throw senseless(this.#asked(context), 'something that is no embedding')
    return given
  }

  countTokens(text: string): number {
    return estimatedTokens(text)
  }

  async #passed({ path, body, plain, ...context }: UpstreamRequest): Promise<UpstreamAnswer> {
    const reply = await this.#wish.send({ body, plain }, (given) => this.#send('POST', path, given, context))
    const content_type = reply.header('content-type') ?? ''
    const most = isStream(reply) ? Number.POSITIVE_INFINITY : this.#most_bytes
    const pieces = new PassedPieces(reply.body, most, this.#asked(context))
    return { status: reply.status, content_type, body: pieces }
  }

  /** An answer with status 200 to 299. @throws ProviderError, the signal's reason */
  async #send(
    method: 'GET' | 'POST',
    path: string,
    body: string | Uint8Array | undefined,
    { credential, signal }: Call,
  ): Promise<UpstreamReply> {
    const who = this.#asked({ credential })
    const headers = headersOf(who, body !== undefined)
    // Lists are asked for again anyway.
    const call = { method, origin: this.#origin, path: this.#path + path, headers, signal, patient: method === 'POST' }
    const reply = await this.#client
      .send(body === undefined ? call : { ...call, body })
      .catch((error) => this.#fail(error, who))
    if (reply.status >= 200 && reply.status < 300) return reply
    throw await refusalOf(who, reply)
  }

  #asked({ credential }: Pick<Call, 'credential'>): Asked {
    return { provider: this.name, secret: this.credential, credential }
  }

  #fail(error: unknown, who: Asked): never {
    throw error instanceof UpstreamFailure ? unanswered(who, error) : error
  }

  /** `what` it should be, for whoever reads that it is none. */
  async #json(reply: UpstreamReply, context: Call, most = this.#most_bytes, what = 'JSON'): Promise<unknown> {
    const { read = async (text) => jsonIn(text.toString()) } = context
    const who = this.#asked(context)
    const bytes = await wholeBody(reply.body, most).catch((error) => this.#fail(error, who))
    try {
      return await read(bytes)
    } catch (cause) {
      throw senseless(who, `something that is no ${what}`, cause)
    }
  }
}

/** Servers that people run themselves often know the old word alone, and take both. */
function oldLimit({ max_tokens, max_completion_tokens }: CompletionRequest): { max_tokens?: number } {
  const most = max_tokens ?? max_completion_tokens
  return most == null ? {} : { max_tokens: most }
}

function isStream({ header }: UpstreamReply): boolean {
  return /^text\/event-stream\b/i.test(header('content-type') ?? '')
}

export function openAiProvider(options: OpenAiOptions): Provider {
  return new OpenAiCompatible(options)
}
