// A loaded model in its own process. It answers one request after the other.
import { availableParallelism } from 'node:os'
import type { CompletionPart } from '../../provider.ts'
import type {
  Llama,
  LlamaChat,
  LlamaContext,
  LlamaContextOptions,
  LlamaEmbeddingContext,
  LlamaModel,
  LlamaPackage,
  LlamaSequence,
  LlamaTurn,
} from './llama-cpp-types.ts'
import type { LocalConversationTurn, LocalRequest } from './process-messages.ts'

/** The smallest context that the runtime takes. */
const MIN_CONTEXT_TOKENS = 1_024
/** Tokens of a context that stay free: with fewer, the runtime would drop the oldest messages. */
const RESERVED_TOKENS = 64
/** The default of llama.cpp. */
const TOP_K = 40
const ANY_OBJECT_SCHEMA = { type: 'object', additionalProperties: true }

/** The request exceeds the model's context. `what` is a text after the name of the model. */
export class ContextExceededError extends Error {
  readonly what: string
  constructor(what: string) {
    super(what)
    this.what = what
  }
}

/** The runtime could make no grammar of the schema. */
export class SchemaGrammarError extends Error {}

export interface LoadOptions {
  readonly path: string
  readonly most_context: number
  /** Receives the runtime's errors. */
  log(text: string): void
}

export class LocalModelSession {
  readonly #runtime: LlamaPackage
  readonly #llama: Llama
  readonly #model: LlamaModel
  readonly #contextOptions: LlamaContextOptions
  #openChat: { readonly chat: LlamaChat; readonly context: LlamaContext; readonly sequence: LlamaSequence } | null =
    null
  #embeddingContext: LlamaEmbeddingContext | null = null

  private constructor(runtime: LlamaPackage, llama: Llama, model: LlamaModel, most_context: number) {
    this.#runtime = runtime
    this.#llama = llama
    this.#model = model
    const max = Math.max(MIN_CONTEXT_TOKENS, Math.min(model.trainContextSize, most_context))
    // One core is left to the server: threads that share a core and wait for each other are very slow.
    const threads = Math.max(1, Math.min(llama.cpuMathCores, availableParallelism() - 1))
    this.#contextOptions = { contextSize: { min: MIN_CONTEXT_TOKENS, max }, threads }
  }

  /** @throws what the runtime throws */
  static async load(runtime: LlamaPackage, { path, most_context, log }: LoadOptions): Promise<LocalModelSession> {
    const llama = await runtime.getLlama({
      gpu: 'auto',
      build: 'never',
      progressLogs: false,
      logLevel: 'error',
      logger: (_level, text) => log(text),
    })
    return new LocalModelSession(runtime, llama, await llama.loadModel({ modelPath: path }), most_context)
  }

  /** Emits the parts of an answer, the end part last, and nothing after the signal aborts. @throws ContextExceededError; what the runtime throws */
  async complete(request: LocalRequest, emit: (part: CompletionPart) => void, signal: AbortSignal): Promise<void> {
    const { chat, context, sequence } = await this.#ensureChat()
    const history = createHistory(request.turns)
    const { contextText } = chat.chatWrapper.generateContextState({ chatHistory: history })
    const input_tokens = contextText.tokenize(this.#model.tokenizer).length
    const room = context.contextSize - RESERVED_TOKENS - input_tokens
    if (room < 1)
      throw new ContextExceededError(`takes ${context.contextSize} tokens, and not ${input_tokens} with an answer`)
    // A seed needs a fresh history: values that were computed for an earlier request in other batches may differ in their last digits.
    if (request.seed !== null) await sequence.clearHistory()
    const before = sequence.tokenMeter.usedOutputTokens
    let shownTokens = 0
    const { metadata } = await chat.generateResponse(history, {
      ...(await this.#createSamplingOptions(request)),
      maxTokens: Math.min(request.max_tokens ?? room, room),
      signal,
      stopOnAbortSignal: true,
      onResponseChunk: ({ type, text, tokens }) => {
        shownTokens += tokens.length
        if (text !== '' && !signal.aborted) emit({ type: type === 'segment' ? 'thinking' : 'text', text })
      },
    })
    const finish_reason = metadata.stopReason === 'maxTokens' ? 'length' : 'stop'
    // The meter also counts tokens that are held back for a stop; only the shown tokens include the last one, which is not processed further.
    const output_tokens = Math.max(1, shownTokens, sequence.tokenMeter.usedOutputTokens - before)
    const usage = { input_tokens, output_tokens, cost: 0 }
    if (!signal.aborted) emit({ type: 'end', usage, finish_reason })
  }

  /** Emits the vector of each text, and resolves with the total of tokens. @throws ContextExceededError; what the runtime throws; the signal's reason */
  async embed(
    inputs: readonly string[],
    emit: (vector: readonly number[]) => void,
    signal: AbortSignal,
  ): Promise<number> {
    this.#embeddingContext ??= await this.#model.createEmbeddingContext(this.#contextOptions)
    const counts = inputs.map((text) => this.#model.tokenize(text).length)
    const longest = Math.max(...counts)
    if (longest > this.#contextOptions.contextSize.max)
      throw new ContextExceededError(`takes ${this.#contextOptions.contextSize.max} tokens, and not ${longest}`)
    for (const text of inputs) {
      signal.throwIfAborted()
      emit([...(await this.#embeddingContext.getEmbeddingFor(text)).vector])
    }
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async #ensureChat() {
    if (this.#openChat) return this.#openChat
    const context = await this.#model.createContext({ ...this.#contextOptions, sequences: 1 })
    const sequence = context.getSequence()
    const chat = new this.#runtime.LlamaChat({ contextSequence: sequence })
    this.#openChat = { chat, context, sequence }
    return this.#openChat
  }

  async #createSamplingOptions({ temperature, top_p, seed, stop, schema, ...request }: LocalRequest) {
    const { frequency_penalty: frequencyPenalty, presence_penalty: presencePenalty } = request
    const isFree = frequencyPenalty === 0 && presencePenalty === 0
    return {
      temperature,
      topP: top_p,
      topK: TOP_K,
      repeatPenalty: isFree ? (false as const) : { penalty: 1, frequencyPenalty, presencePenalty },
      contextShift: { size: 1 },
      ...(seed === null ? {} : { seed: Number(BigInt.asUintN(32, BigInt(seed))) }),
      ...(stop.length === 0 ? {} : { customStopTriggers: stop }),
      ...(schema === null ? {} : { grammar: await this.#createGrammar(schema === 'any' ? ANY_OBJECT_SCHEMA : schema) }),
    }
  }

  async #createGrammar(schema: object) {
    try {
      return await this.#llama.createGrammarForJsonSchema(schema)
    } catch (cause) {
      throw new SchemaGrammarError((cause as Error).message, { cause })
    }
  }
}

/** Templates of models require one system text, at the start. A last message of the assistant is continued. */
function createHistory(turns: readonly LocalConversationTurn[]): LlamaTurn[] {
  const system = turns.filter(({ role }) => role === 'system').map(({ text }) => text)
  const others = turns.filter(({ role }) => role !== 'system')
  const history: LlamaTurn[] = others.map(({ role, text }) =>
    role === 'user' ? { type: 'user', text } : { type: 'model', response: [text] },
  )
  if (system.length > 0) history.unshift({ type: 'system', text: system.join('\n\n') })
  if (others.at(-1)?.role !== 'assistant') history.push({ type: 'model', response: [] })
  return history
}
