// Answers conversations, and clients in OpenAI's form: finds out what a model's name means, and asks it for its caller. A server that speaks
// OpenAI's protocol itself is handed the client's bytes, and the client its own.
import type { ChatCompletionRequest, CreateEmbeddingRequest } from '../../generated/types.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { errorBodies, ServiceError, toServiceError } from '../errors.ts'
import { jsonInSlices } from '../json-steps.ts'
import { type Log, logFailure } from '../log.ts'
import { type Customer, customerCalling } from '../models/customer.ts'
import { completionEstimate } from '../models/estimate.ts'
import { type Found, shown } from '../models/finding.ts'
import type { Calling, Models } from '../models/models.ts'
import type { UpstreamAnswer } from '../models/provider.ts'
import type { Platform } from '../platform.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { TimeSlices } from '../time-slices.ts'
import { AnswerStream, type Pieces } from './answer-stream.ts'
import type { Answering, AnswerPart } from './answering.ts'
import { completionId, completionOf } from './assembling.ts'
import { type Call, Calls } from './calls.ts'
import { type Counted, eventOf } from './chunk-facts.ts'
import { refuseContradictions } from './contradictions.ts'
import { embeddings } from './embeddings.ts'
import { serviceErrorOf, withHeaders, withServiceErrors } from './errors.ts'
import { type InlineTools, inlined } from './images.ts'
import type { Measured, Measuring } from './measuring.ts'
import { piecesOf, wholeOf } from './other-kind.ts'
import { SafeEvents } from './secret-events.ts'
import { type Looking, withoutSecrets } from './secret-parts.ts'
import { safeTextSteps, withoutSecretsIn } from './secret-texts.ts'
import { Telling } from './telling.ts'
import { ask, type Given, type Upstreamed } from './upstreamed.ts'
import { useOf } from './usage.ts'
import { WORKFLOW, type WorkflowModels } from './workflow-models.ts'

export interface CompletionsParts extends Omit<InlineTools, 'http' | 'signal' | 'model'> {
  /** The guarded client, as this owner has it. */
  httpOf(owner: Scope): InlineTools['http']
  readonly models: Models
  readonly workflows: Pick<WorkflowModels, 'answer'>
  /** What an owner must not be shown. */
  redactorOf(owner: Scope): Redactor
  /** With whose keys, and at whose cost. */
  customerOf(owner: Scope): Customer
  readonly platform: Platform
  readonly log: Log
  readonly measuring: Measuring
  readonly slices: Pick<TimeSlices, 'run' | 'begin' | 'turnsOf'>
  /** Aborts when what is still open must come to its end. */
  readonly stopping: AbortSignal
}

/** A request as a client made it. */
export interface Asked<Body> {
  readonly owner: Scope
  readonly body: Body
  /** Its text in UTF-8; null where it came in another encoding. */
  readonly raw: Uint8Array | null
  readonly request_id: string
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal
  /** Aborts when its credential is no longer good. For answers that last. */
  revoked(): AbortSignal
}

interface Known {
  readonly found: Found
  readonly customer: Customer
  readonly body: ChatCompletionRequest
}

/** An answer that comes as parts. */
interface Told {
  readonly asked: Asked<ChatCompletionRequest>
  readonly parts: Parts
  /** The id of what answers, whichever name it was asked by. */
  readonly model: string
}

export class Completions implements Answering {
  readonly #parts: CompletionsParts
  readonly #calls: Calls

  constructor(parts: CompletionsParts) {
    this.#parts = parts
    this.#calls = new Calls(parts.stopping)
  }

  answer(owner: Scope, body: ChatCompletionRequest, calling: Calling): AsyncGenerator<AnswerPart, void, void> {
    return withServiceErrors(this.#answer(owner, body, calling))
  }

  /** The same without secrets, for callers that hand the parts on as they come. */
  safeAnswer(owner: Scope, body: ChatCompletionRequest, calling: Calling): AsyncGenerator<AnswerPart, void, void> {
    return withoutSecrets(this.answer(owner, body, calling), this.#looking(owner))
  }

  #looking(owner: Scope): Looking {
    return { redactor: this.#parts.redactorOf(owner), slices: this.#parts.slices, user: userKey(owner) }
  }

  /** In OpenAI's form, whole or streamed. @throws ServiceError; the reason of `gone` */
  complete(asked: Asked<ChatCompletionRequest>): Promise<Given> {
    return this.#during(asked, async (call, measured) => {
      const { owner, body } = asked
      if (body.stream) call.endWith(asked.revoked())
      if (body.model.startsWith(WORKFLOW)) {
        measured.provider = 'workflow'
        const parts = this.safeAnswer(owner, body, { signal: call.signal })
        return await this.#tell({ asked, parts, model: body.model }, call, measured)
      }
      const known = await this.#known(owner, body, call.signal)
      const { found, customer } = known
      measured.provider = found.provider.name
      const { upstream } = found.provider
      const raw = known.body === body ? asked.raw : null
      const { slices } = this.#parts
      const way = { asked: { ...asked, body: known.body, raw }, found, customer, signal: call.signal, slices }
      if (upstream) return await this.#pass({ ...way, upstream }, call, measured)
      const told = withServiceErrors(this.#parts.models.ask(found, known.body, customer, { signal: call.signal }))
      const parts = withoutSecrets(told, this.#looking(owner))
      return await this.#tell({ asked, parts, model: found.model.id }, call, measured)
    })
  }

  /** @throws ServiceError; the reason of `gone` */
  embed(asked: Asked<CreateEmbeddingRequest>): Promise<Given> {
    return this.#during(asked, async ({ signal }, measured) => {
      const { owner, body } = asked
      if (body.model.startsWith(WORKFLOW)) throw noVectors(body.model)
      const customer = this.#parts.customerOf(owner)
      const found = await this.#parts.models.find(body.model, customer, signal)
      measured.provider = found.provider.name
      const redactor = this.#parts.redactorOf(owner)
      const { models, slices } = this.#parts
      return await embeddings(models, { asked, found, customer, signal, redactor, slices })
    })
  }

  async *#answer(owner: Scope, body: ChatCompletionRequest, calling: Calling): AsyncGenerator<AnswerPart, void, void> {
    calling.signal.throwIfAborted()
    if (body.model.startsWith(WORKFLOW)) {
      refuseContradictions(body)
      yield* this.#parts.workflows.answer(owner, body.model.slice(WORKFLOW.length), body, calling)
      return
    }
    const known = await this.#known(owner, body, calling.signal)
    yield* this.#parts.models.ask(known.found, known.body, known.customer, calling)
  }

  /** Who answers, and what it is asked. */
  async #known(owner: Scope, body: ChatCompletionRequest, signal: AbortSignal): Promise<Known> {
    refuseContradictions(body)
    const customer = this.#parts.customerOf(owner)
    const found = await this.#parts.models.find(body.model, customer, signal)
    const { httpOf, assetsOf, slices } = this.#parts
    const tools = { http: httpOf(owner), assetsOf, signal, slices, model: found.model }
    return { found, customer, body: await inlined(body, owner, tools) }
  }

  /** A call that is open until it failed, or its answer is whole, or its stream is closed. */
  async #during(
    { gone }: Pick<Asked<unknown>, 'gone'>,
    work: (call: Call, measured: Measured) => Promise<Given>,
  ): Promise<Given> {
    const call = this.#calls.open(gone)
    const measured = this.#parts.measuring.begin()
    try {
      const given = await work(call, measured)
      if (given.body instanceof AnswerStream) return given
      call.close()
      measured.end(null)
      return given
    } catch (thrown) {
      call.close()
      const error = serviceErrorOf(call.signal.aborted ? call.signal.reason : thrown)
      measured.end(error)
      throw withHeaders(error, call.headers)
    }
  }

  async #pass(
    way: Upstreamed<ChatCompletionRequest> & { readonly asked: Asked<ChatCompletionRequest> },
    call: Call,
    measured: Measured,
  ): Promise<Given> {
    const { asked, found } = way
    const { body } = asked
    const customer = customerCalling(way.customer, found)
    customer.admit()
    const held = customer.hold?.(() => completionEstimate(found, body)) ?? null
    const used = (counted: Counted | null) => {
      held?.[Symbol.dispose]()
      if (counted) customer.charge(useOf(found, counted))
    }
    let answer: UpstreamAnswer
    try {
      answer = await ask(way, '/chat/completions', body.stream === true)
    } catch (error) {
      held?.[Symbol.dispose]()
      throw error
    }
    const { platform, slices } = this.#parts
    const owner = userKey(asked.owner)
    const parts = { found, body, answer, platform, owner, slices, used }
    const redactor = this.#parts.redactorOf(asked.owner)
    if (!body.stream) {
      const given = await wholeOf(parts)
      const isRead = !(given instanceof Uint8Array)
      const text = isRead ? await slices.run(owner, safeTextSteps(given, redactor)) : withoutSecretsIn(given, redactor)
      return { headers: {}, body: text }
    }
    const failed = this.#failed(asked, call, measured)
    const events = new SafeEvents(piecesOf({ ...parts, failed }), { redactor, owner, slices })
    return await this.#streamed(events, call, measured)
  }

  async #tell({ asked, parts, model }: Told, call: Call, measured: Measured): Promise<Given> {
    const { platform } = this.#parts
    const { body } = asked
    const head = { id: completionId(platform), created: Math.floor(platform.now() / 1_000), model }
    const { headers, rest } = await begun(parts)
    call.headers = headers
    if (!body.stream) {
      const completion = await completionOf(rest, head)
      return { headers, body: await jsonInSlices(this.#parts.slices, userKey(asked.owner), completion) }
    }
    const include_usage = body.stream_options?.include_usage === true
    const failed = this.#failed(asked, call, measured)
    const given = await this.#streamed(new Telling({ parts: rest, head, include_usage, failed }), call, measured)
    return { ...given, headers }
  }

  /** The head of the answer waits for its first piece: what fails before is no stream. */
  async #streamed(pieces: Pieces, call: Call, measured: Measured): Promise<Given> {
    const close = () => {
      pieces.close()
      call.close()
      measured.end(call.signal.aborted ? call.signal.reason : null)
    }
    try {
      const first = await pieces.next()
      measured.first()
      return { headers: {}, body: new AnswerStream(first, { next: () => pieces.next(), close }) }
    } catch (error) {
      pieces.close()
      throw error
    }
  }

  /** What a client is told that has a part of its answer already; the log is told why. */
  #failed({ gone, request_id }: Asked<unknown>, call: Call, measured: Measured): (error: unknown) => string {
    return (thrown) => {
      const error = toServiceError(serviceErrorOf(call.signal.aborted ? call.signal.reason : thrown))
      if (!gone.aborted) {
        logFailure(this.#parts.log, error, { request_id }, 'the answer of a model broke off')
        measured.end(error)
      }
      return eventOf(errorBodies.openai(error))
    }
  }
}

function noVectors(model: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: `The model "${shown(model)}" makes no vectors.`,
    param: 'model',
  })
}

type Parts = AsyncGenerator<AnswerPart, void, void>

/** The first part is there: a job's names it. */
async function begun(parts: Parts): Promise<{ headers: Record<string, string>; rest: Parts }> {
  const first = await parts.next()
  const headers = !first.done && first.value.type === 'job' ? { 'X-Svc-Job-Id': first.value.job_id } : {}
  return { headers: headers as Record<string, string>, rest: resumed(first, parts) }
}

async function* resumed(first: IteratorResult<AnswerPart, void>, parts: Parts): Parts {
  if (first.done) return
  yield first.value
  yield* parts
}
