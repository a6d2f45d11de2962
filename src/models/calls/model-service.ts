// Calls models: finds the provider, gives it the owner's credential, redacts that credential in the answer, and reports what the call used.
// Errors of providers only reach the log, except ProviderErrors, whose texts this service writes.
import type {
  EmbedRequest,
  ModelAccess,
  ModelPart,
  ModelUsage,
  ReserveCost,
} from '../../engine/node-api/services/models.ts'
import { stringifyInSlices } from '../../shared/incremental-json.ts'
import { TimeSliceScheduler, yieldToEventLoop } from '../../shared/time-slices.ts'
import { type BillingContext, resolveBillingContext } from '../billing/billing-context.ts'
import { estimateCompletionCost, estimateEmbeddingCost } from '../billing/cost-estimate.ts'
import { measureEmbeddingUse, UsageMeter } from '../billing/usage-meter.ts'
import type { ModelListCache } from '../catalogue/model-list-cache.ts'
import { resolveModel } from '../catalogue/model-resolver.ts'
import { supportsTask } from '../catalogue/model-tasks.ts'
import type { ResolvedModel } from '../catalogue/resolved-model.ts'
import type { CompletionPart, CompletionRequest } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'
import type { ProviderRegistry } from '../providers/registry.ts'
import { createJsonParser } from '../providers/shared/json-parsing.ts'
import { validateVectors } from '../providers/shared/provider-data-validation.ts'
import { chunkPart, isShortPart } from './answer-part-chunks.ts'
import { AnswerPartRedactor } from './answer-redaction.ts'
import { withIdleTimeout } from './idle-timeout.ts'
import { idleTimeoutFor, ModelAnswer, toModelCallError } from './model-answer.ts'
import { convertToNodeErrors, toNodeError } from './node-errors.ts'
import { limitOutputTokens } from './output-token-limit.ts'

/** How long a provider may be silent, before its first part and between two parts. */
const IDLE_TIMEOUT_MS = 120_000

/** In characters, of one answer: the limit for a text of a node. */
const MAX_ANSWER_LENGTH = 10_000_000

export interface ModelServiceParts {
  readonly providers: ProviderRegistry
  readonly model_lists: ModelListCache
  readonly idle_timeout_ms?: number
  /** The time slices in which long requests are written. */
  readonly slices?: Pick<TimeSliceScheduler, 'run'>
  /** Replaces secrets in messages of model servers to nodes of this owner; null: no owner. */
  redactMessage?(owner: string | null, message: string): string
}

export interface ModelCallOptions {
  readonly signal: AbortSignal
  /** Called once with what the call used: before its last part, or when it breaks off after its answer had begun. */
  used?(use: ModelUsage): void
  /** A reservation besides that of the billing context. */
  readonly hold?: ReserveCost | undefined
  /** The most tokens of the answer, unless the request or the model sets fewer; null: no limit. */
  readonly left?: number | null
}

export class ModelService {
  readonly #providers: ProviderRegistry
  readonly #model_lists: ModelListCache
  readonly #idle_timeout_ms: number
  readonly #slices: Pick<TimeSliceScheduler, 'run'>
  readonly #redactMessage: NonNullable<ModelServiceParts['redactMessage']>

  constructor({
    providers,
    model_lists,
    idle_timeout_ms = IDLE_TIMEOUT_MS,
    slices = new TimeSliceScheduler(),
    redactMessage = (_owner, message) => message,
  }: ModelServiceParts) {
    this.#providers = providers
    this.#model_lists = model_lists
    this.#idle_timeout_ms = idle_timeout_ms
    this.#slices = slices
    this.#redactMessage = redactMessage
  }

  /** Access to models for the nodes of one owner's workflows. */
  accessFor(billing: BillingContext): ModelAccess {
    const redact = (message: string) => this.#redactMessage(billing.owner, message)
    return {
      complete: ({ body, ...calling }) => convertToNodeErrors(this.#complete(body, billing, calling), redact),
      embed: async (request) => {
        try {
          return await this.embed(request, billing)
        } catch (error) {
          throw toNodeError(error, redact)
        }
      },
      capabilities: async (id, signal) => {
        try {
          return (await this.find(id, billing, signal)).model.capabilities ?? []
        } catch (error) {
          throw toNodeError(error, redact)
        }
      },
    }
  }

  /** Resolves an id to a model with the caller's key. @throws ProviderError `not_found`, `no_key`, `failed`; the signal's reason */
  find(id: string, billing: BillingContext, signal: AbortSignal): Promise<ResolvedModel> {
    return this.#find(id, billing, signal, false)
  }

  /** Like `find`, but only listed models count wherever a list is available: for callers that only describe a model. @throws as `find` */
  findListed(id: string, billing: BillingContext, signal: AbortSignal): Promise<ResolvedModel> {
    return this.#find(id, billing, signal, true)
  }

  #find(id: string, billing: BillingContext, signal: AbortSignal, listed: boolean): Promise<ResolvedModel> {
    const sources = { providers: this.#providers, model_lists: this.#model_lists }
    return resolveModel(sources, { id, secret: (name) => billing.key(name), signal, listed })
  }

  /** Calls a resolved model. The caller reads to the end, or calls `return`, which ends the call. @throws ProviderError; the signal's reason */
  async *streamCompletion(
    found: ResolvedModel,
    body: CompletionRequest,
    callerBilling: BillingContext,
    { signal, used, hold, left = null }: ModelCallOptions,
  ): AsyncGenerator<ModelPart, void, void> {
    signal.throwIfAborted()
    const billing = resolveBillingContext(callerBilling, found)
    billing.admit()
    const asked = limitOutputTokens(found, body, left)
    const estimateCost = () => estimateCompletionCost(found, body)
    using callReservation = hold?.(estimateCost) ?? null
    using limitReservation = billing.hold?.(estimateCost) ?? null
    const meter = new UsageMeter(found, body.messages)
    const redactor = new AnswerPartRedactor(found.credential)
    const answer = new ModelAnswer(
      found,
      { ...asked, model: found.model.name },
      {
        signal,
        idle_timeout_ms: this.#idle_timeout_ms,
        owner: billing.owner,
        heard: (counted) => meter.recordCounts(counted),
        written: this.#createStringify(billing),
        read: createJsonParser(billing.owner ?? '', this.#slices),
      },
    )
    const reportUse = (use: ModelUsage) => {
      callReservation?.[Symbol.dispose]()
      limitReservation?.[Symbol.dispose]()
      billing.charge(use)
      used?.(use)
    }
    try {
      for (let part = await answer.next(); ; part = await answer.next()) {
        if (part === null || part.type === 'end') {
          yield* redactor.flush()
          const use = meter.completedUse(part?.usage ?? null)
          reportUse(use)
          yield { type: 'end', use, finish_reason: part?.finish_reason ?? 'stop' }
          return
        }
        if (part.type !== 'tool_call' && part.text === '') continue
        meter.addText(part.type === 'tool_call' ? `${part.name ?? ''}${part.arguments}` : part.text)
        if (meter.length > MAX_ANSWER_LENGTH) throw answerTooLongError(found)
        if (isShortPart(part)) {
          const redacted = redactor.redact(part)
          if (redacted) yield redacted
        } else yield* redactInTurns(part, redactor)
      }
    } catch (error) {
      yield* redactor.flush()
      throw error
    } finally {
      answer.close()
      const use = meter.interruptedUse()
      if (use) reportUse(use)
    }
  }

  #createStringify({ owner }: BillingContext): (request: object) => string | Promise<string> {
    return (request) => stringifyInSlices(this.#slices, owner ?? '', request)
  }

  async *#complete(
    body: CompletionRequest,
    billing: BillingContext,
    calling: ModelCallOptions,
  ): AsyncGenerator<ModelPart, void, void> {
    calling.signal.throwIfAborted()
    yield* this.streamCompletion(await this.find(body.model, billing, calling.signal), body, billing, calling)
  }

  /** Gives one vector for each text, in order. @throws ProviderError; the signal's reason */
  async embed(
    { body, signal, used, hold }: EmbedRequest,
    callerBilling: BillingContext,
  ): Promise<readonly (readonly number[])[]> {
    const found = await this.find(body.model, callerBilling, signal)
    const { provider, model, credential } = found
    if (!provider.embed || !supportsTask(model, 'embedding')) throw noEmbeddingsError(found)
    const billing = resolveBillingContext(callerBilling, found)
    billing.admit()
    const estimateCost = () => estimateEmbeddingCost(found, body.input)
    using _own = hold?.(estimateCost) ?? null
    using _held = billing.hold?.(estimateCost) ?? null
    const asked = { ...body, model: model.name, input: [...body.input] }
    const idleTimeout = idleTimeoutFor(provider, this.#idle_timeout_ms)
    try {
      const embeddings = await withIdleTimeout(
        provider.embed(asked, {
          credential,
          signal,
          written: this.#createStringify(billing),
          read: createJsonParser(billing.owner ?? '', this.#slices),
        }),
        idleTimeout,
        signal,
      )
      const vectors = validateVectors(embeddings, body.input.length)
      const use = measureEmbeddingUse(found, body.input, embeddings.input_tokens)
      billing.charge(use)
      used?.(use)
      return vectors
    } catch (cause) {
      signal.throwIfAborted()
      throw toModelCallError(provider.name, cause)
    }
  }
}

/** Redacts a long part in pieces and yields to the event loop between them. */
async function* redactInTurns(
  part: Exclude<CompletionPart, { type: 'end' }>,
  redactor: AnswerPartRedactor,
): AsyncGenerator<ModelPart, void, void> {
  for (const piece of chunkPart(part)) {
    const redacted = redactor.redact(piece)
    if (redacted) yield redacted
    await yieldToEventLoop()
  }
}

function noEmbeddingsError({ provider, model }: ResolvedModel): ProviderError {
  const text = `The model "${provider.name}/${model.name}" makes no vectors.`
  return new ProviderError('unsupported', text, { param: 'model' })
}

function answerTooLongError({ provider, model }: ResolvedModel): ProviderError {
  const most = MAX_ANSWER_LENGTH.toLocaleString('en')
  return new ProviderError('too_large', `The model "${provider.name}/${model.name}" gave more than ${most} characters.`)
}
