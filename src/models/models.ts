// Calls models for whoever asks: finds the provider, hands it the owner's credential, watches over its answer, in which that credential never is, and
// says what the call used.
// What a provider says goes no further than the log, unless it is a ProviderError, whose words are ours.
import type { EmbedRequest, Hold, ModelAccess, ModelPart, ModelUse } from '../engine/services.ts'
import { jsonInSlices } from '../json-steps.ts'
import { nextTurn, TimeSlices } from '../time-slices.ts'
import { Answer, faultOf, patienceWith } from './answer.ts'
import { checkedVectors } from './checked.ts'
import { type Customer, customerCalling } from './customer.ts'
import { completionEstimate, embeddingEstimate } from './estimate.ts'
import type { Found } from './finding.ts'
import { readingFor } from './json-text.ts'
import type { Listings } from './listings.ts'
import { isFor } from './model-tasks.ts'
import { findModel } from './naming.ts'
import { nodeErrorOf, withNodeErrors } from './node-errors.ts'
import { limited } from './output-limit.ts'
import { within } from './patience.ts'
import type { CompletionPart, CompletionRequest } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import type { Providers } from './providers.ts'
import { SafeParts } from './safe-parts.ts'
import { isShort, shortParts } from './short-parts.ts'
import { embeddingUse, Tally } from './tally.ts'

/** How long a provider may be silent, before its first piece and between two of them. */
const SILENCE_MS = 120_000

/** In characters, of one answer: the most that a text of a node may have. */
const LONGEST_ANSWER = 10_000_000

export interface ModelsParts {
  readonly providers: Providers
  readonly listings: Listings
  readonly silence_ms?: number
  /** In which long requests are written. */
  readonly slices?: Pick<TimeSlices, 'run'>
}

/** How one call is made. */
export interface Calling {
  readonly signal: AbortSignal
  /** Told once what the call used: before its last part, or when it breaks off after its answer had begun. */
  used?(use: ModelUse): void
  /** Besides that of the customer. */
  readonly hold?: Hold | undefined
  /** The most tokens of the answer where neither the request nor the model says fewer; null: no limit. */
  readonly left?: number | null
}

export class Models {
  readonly #providers: Providers
  readonly #listings: Listings
  readonly #silence_ms: number
  readonly #slices: Pick<TimeSlices, 'run'>

  constructor({ providers, listings, silence_ms = SILENCE_MS, slices = new TimeSlices() }: ModelsParts) {
    this.#providers = providers
    this.#listings = listings
    this.#silence_ms = silence_ms
    this.#slices = slices
  }

  /** What the nodes of one owner's workflows may call. */
  of(customer: Customer): ModelAccess {
    return {
      complete: ({ body, ...calling }) => withNodeErrors(this.#complete(body, customer, calling)),
      embed: async (request) => {
        try {
          return await this.embed(request, customer)
        } catch (error) {
          throw nodeErrorOf(error)
        }
      },
      capabilities: async (id, signal) => {
        try {
          return (await this.find(id, customer, signal)).model.capabilities ?? []
        } catch (error) {
          throw nodeErrorOf(error)
        }
      },
    }
  }

  /** The model that an id means, with the caller's key. @throws ProviderError `not_found`, `no_key`, `failed`; the signal's reason */
  find(id: string, customer: Customer, signal: AbortSignal): Promise<Found> {
    return this.#find(id, customer, signal, false)
  }

  /** The same of what is listed alone, wherever a list can be had: for whoever reads of a model and does not ask it. @throws as `find` */
  findListed(id: string, customer: Customer, signal: AbortSignal): Promise<Found> {
    return this.#find(id, customer, signal, true)
  }

  #find(id: string, customer: Customer, signal: AbortSignal, listed: boolean): Promise<Found> {
    const places = { providers: this.#providers, listings: this.#listings }
    return findModel(places, { id, secret: (name) => customer.key(name), signal, listed })
  }

  /** Asks a model that was found; to be run to its end, or ended with `return`, which ends the call. @throws ProviderError; the signal's reason */
  async *ask(
    found: Found,
    body: CompletionRequest,
    asking: Customer,
    { signal, used, hold, left = null }: Calling,
  ): AsyncGenerator<ModelPart, void, void> {
    signal.throwIfAborted()
    const customer = customerCalling(asking, found)
    customer.admit()
    const asked = limited(found, body, left)
    const sure = () => completionEstimate(found, body)
    using own = hold?.(sure) ?? null
    using held = customer.hold?.(sure) ?? null
    const tally = new Tally(found, body.messages)
    const safe = new SafeParts(found.credential)
    const answer = new Answer(
      found,
      { ...asked, model: found.model.name },
      {
        signal,
        silence_ms: this.#silence_ms,
        owner: customer.owner,
        heard: (counted) => tally.hear(counted),
        written: this.#writing(customer),
        read: readingFor(customer.owner ?? '', this.#slices),
      },
    )
    const told = (use: ModelUse) => {
      own?.[Symbol.dispose]()
      held?.[Symbol.dispose]()
      customer.charge(use)
      used?.(use)
    }
    try {
      for (let part = await answer.next(); ; part = await answer.next()) {
        if (part === null || part.type === 'end') {
          yield* safe.rest()
          const use = tally.end(part?.usage ?? null)
          told(use)
          yield { type: 'end', use, finish_reason: part?.finish_reason ?? 'stop' }
          return
        }
        if (part.type !== 'tool_call' && part.text === '') continue
        tally.add(part.type === 'tool_call' ? `${part.name ?? ''}${part.arguments}` : part.text)
        if (tally.length > LONGEST_ANSWER) throw tooLong(found)
        if (isShort(part)) {
          const shown = safe.take(part)
          if (shown) yield shown
        } else yield* inTurns(part, safe)
      }
    } catch (error) {
      yield* safe.rest()
      throw error
    } finally {
      answer.close()
      const use = tally.left()
      if (use) told(use)
    }
  }

  #writing({ owner }: Customer): (request: object) => string | Promise<string> {
    return (request) => jsonInSlices(this.#slices, owner ?? '', request)
  }

  async *#complete(
    body: CompletionRequest,
    customer: Customer,
    calling: Calling,
  ): AsyncGenerator<ModelPart, void, void> {
    calling.signal.throwIfAborted()
    yield* this.ask(await this.find(body.model, customer, calling.signal), body, customer, calling)
  }

  /** One vector for each text, in order. @throws ProviderError; the signal's reason */
  async embed({ body, signal, used, hold }: EmbedRequest, asking: Customer): Promise<readonly (readonly number[])[]> {
    const found = await this.find(body.model, asking, signal)
    const { provider, model, credential } = found
    if (!provider.embed || !isFor(model, 'embedding')) throw noVectors(found)
    const customer = customerCalling(asking, found)
    customer.admit()
    const sure = () => embeddingEstimate(found, body.input)
    using _own = hold?.(sure) ?? null
    using _held = customer.hold?.(sure) ?? null
    const asked = { ...body, model: model.name, input: [...body.input] }
    const patience = patienceWith(provider, this.#silence_ms)
    try {
      const given = await within(
        provider.embed(asked, {
          credential,
          signal,
          written: this.#writing(customer),
          read: readingFor(customer.owner ?? '', this.#slices),
        }),
        patience,
        signal,
      )
      const vectors = checkedVectors(given, body.input.length)
      const use = embeddingUse(found, body.input, given.input_tokens)
      customer.charge(use)
      used?.(use)
      return vectors
    } catch (cause) {
      signal.throwIfAborted()
      throw faultOf(provider.name, cause)
    }
  }
}

/** A long part in pieces. Others have their turns between them. */
async function* inTurns(
  part: Exclude<CompletionPart, { type: 'end' }>,
  safe: SafeParts,
): AsyncGenerator<ModelPart, void, void> {
  for (const piece of shortParts(part)) {
    const shown = safe.take(piece)
    if (shown) yield shown
    await nextTurn()
  }
}

function noVectors({ provider, model }: Found): ProviderError {
  const text = `The model "${provider.name}/${model.name}" makes no vectors.`
  return new ProviderError('unsupported', text, { param: 'model' })
}

function tooLong({ provider, model }: Found): ProviderError {
  const most = LONGEST_ANSWER.toLocaleString('en')
  return new ProviderError('too_large', `The model "${provider.name}/${model.name}" gave more than ${most} characters.`)
}
