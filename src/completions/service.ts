// Answers conversations and requests in OpenAI's format: resolves the model's name and calls the model for the caller.
// For servers that speak OpenAI's protocol, requests and answers pass through as bytes.
import type { ChatCompletionRequest, CreateEmbeddingRequest } from '../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import { errorBodies, ServiceError, toServiceError } from '../errors.ts'
import { type Log, logFailure } from '../log.ts'
import { type BillingContext, resolveBillingContext } from '../models/billing/billing-context.ts'
import { estimateCompletionCost } from '../models/billing/cost-estimate.ts'
import type { ModelCallOptions, ModelService } from '../models/calls/model-service.ts'
import { type ResolvedModel, truncateModelName } from '../models/catalogue/resolved-model.ts'
import type { PassthroughResponse } from '../models/provider.ts'
import type { Platform } from '../platform.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { stringifyInSlices } from '../shared/incremental-json.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import { type ActiveCall, ActiveCalls } from './active-calls.ts'
import { AnswerEncoder } from './answers/event-encoder.ts'
import type { AnswerGenerator, AnswerPart } from './answers/generator.ts'
import { assembleCompletion, createCompletionId } from './answers/openai-format.ts'
import { AnswerStream, type AnswerStreamSource } from './answers/stream.ts'
import type { CallMeasurement, CallMetrics } from './call-metrics.ts'
import { createEmbeddings } from './embeddings.ts'
import { convertErrors, convertToRedactedError, withErrorHeaders } from './error-conversion.ts'
import { type PartRedaction, redactAnswerParts } from './redaction/answer-parts.ts'
import { encodeRedactedSteps, redactCompletionText } from './redaction/completion-json.ts'
import { RedactedEvents } from './redaction/redacted-events.ts'
import { refuseContradictions } from './requests/contradictions.ts'
import { type InlineMediaParts, inlineMedia } from './requests/inline-media.ts'
import { encodeEvent, type ReportedUsage } from './upstream/chunk-scan.ts'
import { type OpenAiResponse, type RoutedRequest, sendUpstream } from './upstream/exchange.ts'
import { openEventStream, readCompletion } from './upstream/stream-conversion.ts'
import { toModelUse } from './upstream/usage-estimate.ts'
import { WORKFLOW_MODEL_PREFIX, type WorkflowModelService } from './workflow-models/service.ts'

export interface CompletionServiceParts extends Omit<InlineMediaParts, 'http' | 'signal' | 'model'> {
  /** The guarded HTTP client of this owner. */
  httpOf(owner: OwnerScope): InlineMediaParts['http']
  readonly models: ModelService
  readonly workflows: Pick<WorkflowModelService, 'answer'>
  /** Redacts the secrets of this owner. */
  redactorOf(owner: OwnerScope): Redactor
  /** Says which credentials are used and who pays. */
  billingOf(owner: OwnerScope): BillingContext
  readonly platform: Platform
  readonly log: Log
  readonly measuring: CallMetrics
  readonly slices: Pick<TimeSliceScheduler, 'run' | 'begin' | 'turnsOf'>
  /** Aborts when open calls must end. */
  readonly stopping: AbortSignal
}

export interface ClientRequest<Body> {
  readonly owner: OwnerScope
  readonly body: Body
  /** The body as UTF-8 text; null if the client sent another encoding. */
  readonly raw: Uint8Array | null
  readonly request_id: string
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal
  /** Aborts when the credential becomes invalid. Used for answers that last. */
  revoked(): AbortSignal
}

interface ResolvedRequest {
  readonly found: ResolvedModel
  readonly billing: BillingContext
  readonly body: ChatCompletionRequest
}

interface AnswerInParts {
  readonly asked: ClientRequest<ChatCompletionRequest>
  readonly parts: AnswerParts
  /** The id of the model that answers, even if the client used another name for it. */
  readonly model: string
}

export class CompletionService implements AnswerGenerator {
  readonly #parts: CompletionServiceParts
  readonly #active_calls: ActiveCalls

  constructor(parts: CompletionServiceParts) {
    this.#parts = parts
    this.#active_calls = new ActiveCalls(parts.stopping)
  }

  answer(
    owner: OwnerScope,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void> {
    return convertErrors(this.#answer(owner, body, calling), (error) => this.#convertError(owner, error))
  }

  /** The same answer, redacted, for callers that pass the parts on directly. */
  redactedAnswer(
    owner: OwnerScope,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void> {
    return redactAnswerParts(this.answer(owner, body, calling), this.#redactionFor(owner))
  }

  #convertError(owner: OwnerScope, error: unknown): unknown {
    return convertToRedactedError(error, this.#parts.redactorOf(owner))
  }

  #redactionFor(owner: OwnerScope): PartRedaction {
    return { redactor: this.#parts.redactorOf(owner), slices: this.#parts.slices, user: userShareKey(owner) }
  }

  /** Answers in OpenAI's format, buffered or streamed. @throws ServiceError; the reason of `gone` */
  complete(asked: ClientRequest<ChatCompletionRequest>): Promise<OpenAiResponse> {
    return this.#runCall(asked, async (call, measured) => {
      const { owner, body } = asked
      if (body.stream) call.endWith(asked.revoked())
      if (body.model.startsWith(WORKFLOW_MODEL_PREFIX)) {
        measured.provider = 'workflow'
        const parts = this.redactedAnswer(owner, body, { signal: call.signal })
        return await this.#encodeAnswer({ asked, parts, model: body.model }, call, measured)
      }
      const known = await this.#resolve(owner, body, call.signal)
      const { found, billing } = known
      measured.provider = found.provider.name
      const { upstream } = found.provider
      const raw = known.body === body ? asked.raw : null
      const { slices } = this.#parts
      const way = { asked: { ...asked, body: known.body, raw }, found, billing, signal: call.signal, slices }
      if (upstream) return await this.#passUpstream({ ...way, upstream }, call, measured)
      const answer_parts = convertErrors(
        this.#parts.models.streamCompletion(found, known.body, billing, { signal: call.signal }),
      )
      const parts = redactAnswerParts(answer_parts, this.#redactionFor(owner))
      return await this.#encodeAnswer({ asked, parts, model: found.model.id }, call, measured)
    })
  }

  /** @throws ServiceError; the reason of `gone` */
  embed(asked: ClientRequest<CreateEmbeddingRequest>): Promise<OpenAiResponse> {
    return this.#runCall(asked, async ({ signal }, measured) => {
      const { owner, body } = asked
      if (body.model.startsWith(WORKFLOW_MODEL_PREFIX)) throw createNoEmbeddingsError(body.model)
      const billing = this.#parts.billingOf(owner)
      const found = await this.#parts.models.find(body.model, billing, signal)
      measured.provider = found.provider.name
      const redactor = this.#parts.redactorOf(owner)
      const { models, slices } = this.#parts
      return await createEmbeddings(models, { asked, found, billing, signal, redactor, slices })
    })
  }

  async *#answer(
    owner: OwnerScope,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void> {
    calling.signal.throwIfAborted()
    if (body.model.startsWith(WORKFLOW_MODEL_PREFIX)) {
      refuseContradictions(body)
      yield* this.#parts.workflows.answer(owner, body.model.slice(WORKFLOW_MODEL_PREFIX.length), body, calling)
      return
    }
    const known = await this.#resolve(owner, body, calling.signal)
    yield* this.#parts.models.streamCompletion(known.found, known.body, known.billing, calling)
  }

  /** Finds the model and prepares the request for it. */
  async #resolve(owner: OwnerScope, body: ChatCompletionRequest, signal: AbortSignal): Promise<ResolvedRequest> {
    refuseContradictions(body)
    const billing = this.#parts.billingOf(owner)
    const found = await this.#parts.models.find(body.model, billing, signal)
    const { httpOf, assetsOf, slices } = this.#parts
    const tools = { http: httpOf(owner), assetsOf, signal, slices, model: found.model }
    return { found, billing, body: await inlineMedia(body, owner, tools) }
  }

  /** Keeps the call open until it fails, until its answer is complete, or until its stream is closed. */
  async #runCall(
    { gone, owner }: Pick<ClientRequest<unknown>, 'gone' | 'owner'>,
    work: (call: ActiveCall, measured: CallMeasurement) => Promise<OpenAiResponse>,
  ): Promise<OpenAiResponse> {
    const call = this.#active_calls.open(gone)
    const measured = this.#parts.measuring.begin()
    try {
      const given = await work(call, measured)
      if (given.body instanceof AnswerStream) return given
      call.close()
      measured.end(null)
      return given
    } catch (thrown) {
      call.close()
      const error = this.#convertError(owner, call.signal.aborted ? call.signal.reason : thrown)
      measured.end(error)
      throw withErrorHeaders(error, call.headers)
    }
  }

  async #passUpstream(
    way: RoutedRequest<ChatCompletionRequest> & { readonly asked: ClientRequest<ChatCompletionRequest> },
    call: ActiveCall,
    measured: CallMeasurement,
  ): Promise<OpenAiResponse> {
    const { asked, found } = way
    const { body } = asked
    const billing = resolveBillingContext(way.billing, found)
    billing.admit()
    const held = billing.hold?.(() => estimateCompletionCost(found, body)) ?? null
    const used = (counted: ReportedUsage | null) => {
      held?.[Symbol.dispose]()
      if (counted) billing.charge(toModelUse(found, counted))
    }
    let answer: PassthroughResponse
    try {
      answer = await sendUpstream(way, '/chat/completions', body.stream === true)
    } catch (error) {
      held?.[Symbol.dispose]()
      throw error
    }
    const { platform, slices } = this.#parts
    const owner = userShareKey(asked.owner)
    const parts = { found, body, answer, platform, owner, slices, used }
    const redactor = this.#parts.redactorOf(asked.owner)
    if (!body.stream) {
      const given = await readCompletion(parts)
      const isRead = !(given instanceof Uint8Array)
      const text = isRead
        ? await slices.run(owner, encodeRedactedSteps(given, redactor))
        : redactCompletionText(given, redactor)
      return { headers: {}, body: text }
    }
    const failed = this.#createFailureEncoder(asked, call, measured)
    const events = new RedactedEvents(openEventStream({ ...parts, failed }), { redactor, owner, slices })
    return await this.#openStream(events, call, measured)
  }

  async #encodeAnswer(
    { asked, parts, model }: AnswerInParts,
    call: ActiveCall,
    measured: CallMeasurement,
  ): Promise<OpenAiResponse> {
    const { platform } = this.#parts
    const { body } = asked
    const head = { id: createCompletionId(platform), created: Math.floor(platform.now() / 1_000), model }
    const { headers, rest } = await startAnswer(parts)
    call.headers = headers
    if (!body.stream) {
      const completion = await assembleCompletion(rest, head)
      return { headers, body: await stringifyInSlices(this.#parts.slices, userShareKey(asked.owner), completion) }
    }
    const include_usage = body.stream_options?.include_usage === true
    const failed = this.#createFailureEncoder(asked, call, measured)
    const given = await this.#openStream(
      new AnswerEncoder({ parts: rest, head, include_usage, failed }),
      call,
      measured,
    )
    return { ...given, headers }
  }

  /** Waits for the first piece before the response starts: an earlier failure becomes an HTTP error. */
  async #openStream(pieces: AnswerStreamSource, call: ActiveCall, measured: CallMeasurement): Promise<OpenAiResponse> {
    const close = () => {
      pieces.close()
      call.close()
      measured.end(call.signal.aborted ? call.signal.reason : null)
    }
    try {
      const first = await pieces.next()
      measured.recordFirstByte()
      return { headers: {}, body: new AnswerStream(first, { next: () => pieces.next(), close }) }
    } catch (error) {
      pieces.close()
      throw error
    }
  }

  /** Encodes an error for a client that already has a part of its answer, and logs the cause. */
  #createFailureEncoder(
    { gone, owner, request_id }: ClientRequest<unknown>,
    call: ActiveCall,
    measured: CallMeasurement,
  ): (error: unknown) => string {
    return (thrown) => {
      const error = toServiceError(this.#convertError(owner, call.signal.aborted ? call.signal.reason : thrown))
      if (!gone.aborted) {
        logFailure(this.#parts.log, error, { request_id }, 'a model answer broke off')
        measured.end(error)
      }
      return encodeEvent(errorBodies.openai(error))
    }
  }
}

function createNoEmbeddingsError(model: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: `The model "${truncateModelName(model)}" makes no vectors.`,
    param: 'model',
  })
}

type AnswerParts = AsyncGenerator<AnswerPart, void, void>

/** Reads the first part: the first part of a workflow names its job. */
async function startAnswer(parts: AnswerParts): Promise<{ headers: Record<string, string>; rest: AnswerParts }> {
  const first = await parts.next()
  const headers = !first.done && first.value.type === 'job' ? { 'X-Svc-Job-Id': first.value.job_id } : {}
  return { headers: headers as Record<string, string>, rest: resumeAnswer(first, parts) }
}

async function* resumeAnswer(first: IteratorResult<AnswerPart, void>, parts: AnswerParts): AnswerParts {
  if (first.done) return
  yield first.value
  yield* parts
}
