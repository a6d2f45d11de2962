// The provider for any server that speaks OpenAI's protocol: hosted services, Ollama, vLLM, llama.cpp, LM Studio.
import { isLoopbackHost } from '../../../config/access.ts'
import type { UpstreamClient } from '../../../net/upstream/client.ts'
import type { UpstreamResponse } from '../../../net/upstream/exchange.ts'
import { UpstreamFailure } from '../../../net/upstream/failure.ts'
import { readWholeBody } from '../../../net/upstream/response-body.ts'
import type {
  CompletionPart,
  CompletionRequest,
  EmbeddingRequest,
  Embeddings,
  Model,
  PassthroughRequest,
  PassthroughResponse,
  Provider,
  ProviderContext,
} from '../../provider.ts'
import { parseBoundedJson } from '../shared/json-parsing.ts'
import { MAX_MODELS } from '../shared/provider-data-validation.ts'
import { OpenAiAnswerReader } from './answer-reader.ts'
import { countInputs, parseEmbeddings } from './embeddings.ts'
import {
  createConnectionError,
  createMalformedAnswerError,
  readErrorResponse,
  type ServerCredentials,
} from './errors.ts'
import { createHostedModel, hasPrices, type ModelHost, parseModelList } from './model-list.ts'
import { PassthroughBody } from './passthrough-body.ts'
import { createRequestHeaders } from './request-headers.ts'
import { StreamOptionsFallback } from './stream-options-fallback.ts'
import { readStreamParts } from './stream-reader.ts'
import { estimateTokensByScript } from './token-estimate.ts'

export interface OpenAiProviderOptions {
  readonly name: string
  readonly title: string
  /** With the version, without a slash at the end. */
  readonly base_url: string
  /** The name of the secret with the key. */
  readonly credential: string | null
  readonly keyless: boolean
  readonly client: UpstreamClient
  /** The most bytes of an answer that is not streamed. */
  readonly most_bytes?: number
}

/** Enough for 2,048 vectors of 3,072 numbers in JSON. */
const MAX_BYTES = 134_217_728
/** For a whole answer: more than any model writes. */
const MAX_ANSWER_BYTES = 33_554_432
/** A list is parsed in one go and blocks the event loop. */
const MAX_LIST_BYTES = 4_194_304

type CallContext = Pick<ProviderContext, 'credential' | 'signal' | 'read'>

class OpenAiCompatibleProvider implements Provider {
  readonly kind = 'openai_compatible'
  readonly has_idle_timeout = true
  readonly name: string
  readonly title: string
  readonly base_url: string
  readonly credential: string | null
  readonly keyless: boolean
  readonly upstream = { send: (request: PassthroughRequest) => this.#passThrough(request) }
  readonly #client: UpstreamClient
  readonly #origin: string
  readonly #path: string
  readonly #max_bytes: number
  /** Whether the server runs on this machine: then its models are free, unless its list has prices. */
  readonly #isLoopback: boolean
  /** As of its last list. */
  #host: ModelHost
  left_out = 0
  readonly #streamOptions = new StreamOptionsFallback()

  constructor({ name, title, base_url, credential, keyless, client, most_bytes = MAX_BYTES }: OpenAiProviderOptions) {
    const { origin, pathname, hostname } = new URL(base_url)
    this.name = name
    this.title = title
    this.base_url = base_url
    this.credential = credential
    this.keyless = keyless
    this.#client = client
    this.#origin = origin
    this.#path = pathname.replace(/\/+$/, '')
    this.#max_bytes = most_bytes
    this.#isLoopback = isLoopbackHost(hostname.replace(/^\[|\]$/g, ''))
    this.#host = { name, host: hostname, free: this.#isLoopback }
  }

  async models(context: ProviderContext): Promise<readonly Model[]> {
    const reply = await this.#send('GET', '/models', undefined, context)
    const list = parseModelList(await this.#readJson(reply, context, MAX_LIST_BYTES))
    if (!list) throw createMalformedAnswerError(this.#credentialsOf(context), 'no list of models')
    const { entries, left_out } = list
    if (entries.length > MAX_MODELS)
      throw createMalformedAnswerError(this.#credentialsOf(context), `more than ${MAX_MODELS} models`)
    this.left_out = left_out
    this.#host = { ...this.#host, free: this.#isLoopback && !hasPrices(list) }
    return entries.map((entry) => createHostedModel(entry, this.#host))
  }

  unlisted(name: string): Model {
    return createHostedModel({ id: name }, this.#host)
  }

  async *complete(request: CompletionRequest, context: ProviderContext): AsyncGenerator<CompletionPart, void, void> {
    const { n: _n, stream_options: _own, ...asked } = request
    const most = this.#isLoopback ? createLegacyLimit(request) : {}
    const plain = { ...asked, ...most, stream: true }
    const { written = JSON.stringify } = context
    const bodyWithUsage = await written({ ...plain, stream_options: { include_usage: true } })
    const bodies = { body: bodyWithUsage, plain: () => written(plain) }
    const reply = await this.#streamOptions.send(bodies, (body) =>
      this.#send('POST', '/chat/completions', body, context),
    )
    const server = this.#credentialsOf(context)
    if (isEventStream(reply)) return yield* readStreamParts(reply.body, server, context)
    // A server that does not stream sends a whole answer.
    const answer = new OpenAiAnswerReader(server, context.heard)
    const most_bytes = Math.min(this.#max_bytes, MAX_ANSWER_BYTES)
    yield* answer.readChunk(await this.#readJson(reply, context, most_bytes, 'completion'))
    if (!answer.isFinished) throw createMalformedAnswerError(server, 'an invalid answer')
    yield answer.createEndPart()
  }

  async embed(request: EmbeddingRequest, context: ProviderContext): Promise<Embeddings> {
    const { written = JSON.stringify } = context
    const reply = await this.#send('POST', '/embeddings', await written(request), context)
    const given = await parseEmbeddings(await this.#readJson(reply, context), countInputs(request.input))
    if (!given) throw createMalformedAnswerError(this.#credentialsOf(context), 'invalid embeddings')
    return given
  }

  countTokens(text: string): number {
    return estimateTokensByScript(text)
  }

  async #passThrough({ path, body, plain, ...context }: PassthroughRequest): Promise<PassthroughResponse> {
    const reply = await this.#streamOptions.send({ body, plain }, (given) => this.#send('POST', path, given, context))
    const content_type = reply.header('content-type') ?? ''
    const most = isEventStream(reply) ? Number.POSITIVE_INFINITY : this.#max_bytes
    const pieces = new PassthroughBody(reply.body, most, this.#credentialsOf(context))
    return { status: reply.status, content_type, body: pieces }
  }

  /** Resolves with an answer of status 200 to 299. @throws ProviderError, the signal's reason */
  async #send(
    method: 'GET' | 'POST',
    path: string,
    body: string | Uint8Array | undefined,
    { credential, signal }: CallContext,
  ): Promise<UpstreamResponse> {
    const server = this.#credentialsOf({ credential })
    const headers = createRequestHeaders(server, body !== undefined)
    // The list cache repeats requests for lists itself.
    const call = {
      method,
      origin: this.#origin,
      path: this.#path + path,
      headers,
      signal,
      shouldRetry: method === 'POST',
    }
    const reply = await this.#client
      .send(body === undefined ? call : { ...call, body })
      .catch((error) => this.#rethrow(error, server))
    if (reply.status >= 200 && reply.status < 300) return reply
    throw await readErrorResponse(server, reply)
  }

  #credentialsOf({ credential }: Pick<CallContext, 'credential'>): ServerCredentials {
    return { provider: this.name, secret: this.credential, credential }
  }

  #rethrow(error: unknown, server: ServerCredentials): never {
    throw error instanceof UpstreamFailure ? createConnectionError(server, error) : error
  }

  /** `what`: the expected content, for the error message. */
  async #readJson(
    reply: UpstreamResponse,
    context: CallContext,
    most = this.#max_bytes,
    what = 'JSON',
  ): Promise<unknown> {
    const { read = async (text) => parseBoundedJson(text.toString()) } = context
    const server = this.#credentialsOf(context)
    const bytes = await readWholeBody(reply.body, most).catch((error) => this.#rethrow(error, server))
    try {
      return await read(bytes)
    } catch (cause) {
      throw createMalformedAnswerError(server, `an answer that is no valid ${what}`, cause)
    }
  }
}

/** Self-hosted servers often know only the old field `max_tokens`, and accept both. */
function createLegacyLimit({ max_tokens, max_completion_tokens }: CompletionRequest): { max_tokens?: number } {
  const most = max_tokens ?? max_completion_tokens
  return most == null ? {} : { max_tokens: most }
}

function isEventStream({ header }: UpstreamResponse): boolean {
  return /^text\/event-stream\b/i.test(header('content-type') ?? '')
}

export function createOpenAiProvider(options: OpenAiProviderOptions): Provider {
  return new OpenAiCompatibleProvider(options)
}
