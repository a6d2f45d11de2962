// The models that a run calls: whether their providers can be asked, whether these list them, and what they would cost.
import { listedAs } from '../models/finding.ts'
import { meantProvider } from '../models/meant.ts'
import type { Called } from '../models/payer.ts'
import type { Model, Provider } from '../models/provider.ts'
import { keyCure } from '../models/provider-error.ts'
import type { Providers } from '../models/providers.ts'
import { workflowInPlace } from '../nodes/chat-calls.ts'
import type { OwnerTurns } from '../time-slices.ts'
import type { ModelCall } from './preflight-cost.ts'
import type { Credentials } from './preflight-credentials.ts'
import { type ModelNeed, mayServe, modelRequirement, type Seen } from './preflight-model.ts'
import type { Looked, Probes } from './preflight-probes.ts'
import type { Requirement, Requirements } from './preflight-requirements.ts'
import { PromptTokens } from './preflight-tokens.ts'

export interface ModelTools {
  readonly providers: Providers
  readonly probes: Probes
}

/** A requirement's `details`: the nodes that have it. */
type Details = { readonly node_ids: string[] }

const NO_ANSWER: Readonly<Record<Exclude<Looked<unknown>['kind'], 'known'>, string>> = {
  late: 'The provider did not answer in time.',
  failed: 'The provider could not be asked.',
}

/** The models of one preflight. `ask` looks at each provider once, all at the same time; the rest reads what came of it. */
export class ModelLook {
  readonly #providers: Providers
  readonly #probes: Probes
  readonly #credentials: Credentials
  readonly #seen = new Map<string, Seen>()
  readonly #prompts: PromptTokens
  readonly #turns: OwnerTurns

  constructor({ providers, probes }: ModelTools, credentials: Credentials, turns: OwnerTurns) {
    this.#providers = providers.known()
    this.#probes = probes
    this.#credentials = credentials
    this.#prompts = new PromptTokens(turns)
    this.#turns = turns
  }

  async ask(needs: readonly ModelNeed[]): Promise<void> {
    const ids = [...new Set(needs.flatMap(({ model }) => (model ? [model] : [])))]
    await this.#askFor(ids, false)
    const unlisted: string[] = []
    for (const id of ids) {
      if (this.#turns.over) await this.#turns.next()
      if (!this.#candidates(id).some(({ name }) => this.#listed(this.#seen.get(name), id))) unlisted.push(id)
    }
    await this.#askFor(unlisted, true)
    await this.#count(needs)
  }

  /** `urgent`: a list that lacks one of them may be too old. */
  async #askFor(ids: readonly string[], urgent: boolean): Promise<void> {
    const sought = new Map<Provider, string[]>()
    for (const id of ids) {
      if (this.#turns.over) await this.#turns.next()
      for (const provider of this.#candidates(id)) {
        // One that gave no list just now is not asked once more.
        if (urgent && !this.#seen.get(provider.name)?.models) continue
        const names = sought.get(provider) ?? []
        sought.set(provider, names)
        if (urgent) names.push(this.#nameOf(id))
      }
    }
    const looks = [...sought].map(([provider, names]) => this.#look(provider, names))
    for (const seen of await Promise.all(looks)) this.#seen.set(seen.provider.name, seen)
  }

  /** A name without a provider may be any provider's. */
  #candidates(id: string): readonly Provider[] {
    const named = this.#providers.named(id)
    if (named) return [named.provider]
    return id.includes('/') ? [] : this.#providers.all()
  }

  #nameOf(id: string): string {
    return this.#providers.named(id)?.name ?? id
  }

  async #look(provider: Provider, sought: readonly string[]): Promise<Seen> {
    const credential = this.#credentialOf(provider)
    if (provider.credential !== null && credential === null && !provider.keyless) {
      const message = `It needs the secret ${provider.credential}. ${keyCure(provider.credential)}`
      return { provider, status: 'unavailable', message, models: null }
    }
    const looked = await this.#probes.models(provider, credential, sought)
    if (looked.kind === 'known') return { provider, status: 'available', message: null, models: looked.value }
    if (looked.kind === 'unavailable') return { provider, status: looked.kind, message: looked.message, models: null }
    return { provider, status: 'unknown', message: NO_ANSWER[looked.kind], models: null }
  }

  /** What is sent to models that charge for it. */
  async #count(needs: readonly ModelNeed[]): Promise<void> {
    for (const { model: id, prompt } of needs) {
      if (this.#turns.over) await this.#turns.next()
      const seen = id ? this.#of(id) : null
      const price = seen && this.#listed(seen, id!)?.price
      if (price && price.per_million_input_tokens > 0 && prompt !== null)
        await this.#prompts.count(seen.provider, prompt)
    }
  }

  /** What a node's call of a model requires. `place` names the node among all those of the run. */
  require(need: ModelNeed, place: string, into: Requirements): void {
    const details = { node_ids: [place] }
    if (!need.model) {
      const message = 'Which model it is shows in the run alone.'
      const [id, name] = [`node:${place}`, `The model of node "${place}"`]
      // What nobody can know before a run must not keep every such run from being started.
      return into.add({ kind: 'model', id, name, status: 'unknown', blocking: false, message, details })
    }
    const seen = this.#of(need.model)
    if (!seen) return this.#requireUnknown(need.model, details, into)
    const { provider, status, message } = seen
    const { name } = provider
    const blocking = !mayServe(seen)
    into.add({ kind: 'provider', id: name, name: provider.title, status, blocking, message, details })
    if (provider.credential !== null && !provider.keyless)
      into.add(this.#credentials.requirement(provider.credential, details))
    into.add({ ...modelRequirement(seen, need), details: { provider: provider.name, ...details } })
  }

  #requireUnknown(model: string, details: Details, into: Requirements): void {
    const slash = model.indexOf('/')
    if (slash > 0) {
      const id = model.slice(0, slash)
      const message =
        workflowInPlace(model) ?? `This server has no such provider.${meantProvider(model, this.#providers.all())}`
      into.add({ kind: 'provider', id, name: id, status: 'missing', blocking: true, message, details })
    }
    into.add({ kind: 'model', id: model, name: model, blocking: true, details, ...this.#whyUnknown(model) })
  }

  #whyUnknown(model: string): Pick<Requirement, 'status' | 'message'> {
    const seen = this.#candidates(model).map(({ name }) => this.#seen.get(name))
    if (seen.some((one) => this.#listed(one, model))) {
      return { status: 'missing', message: 'Several providers list it: name one, as provider/name.' }
    }
    // One that could not be asked may have it.
    const asked = seen.every((one) => one?.models)
    const message = asked ? 'No provider of this server lists it.' : 'No provider that could be asked lists it.'
    return { status: asked ? 'missing' : 'unknown', message }
  }

  /** The provider that an id means. A bare name is the default provider's, or that of the only one that lists it. */
  #of(id: string): Seen | null {
    const named = this.#providers.named(id)
    if (named) return this.#seen.get(named.provider.name) ?? null
    const standing = this.#providers.standard
    const seen = standing?.unlisted && !id.includes('/') ? this.#seen.get(standing.name) : undefined
    const own = seen && seen.status !== 'unavailable' ? seen : null
    // It is asked itself where it gives no list, or nobody has it in one.
    if (own && own.models === null) return own
    const listing = this.#listing(id)
    const [first] = listing
    if (!first) return own
    return listing.length === 1 ? first : null
  }

  /** Those that list a name without a provider: the default one alone, else those that have just that name, else those that have it in other words. */
  #listing(id: string): readonly Seen[] {
    const all = this.#candidates(id).flatMap(({ name }) => this.#seen.get(name) ?? [])
    const listing = all.filter((seen) => this.#listed(seen, id))
    const standard = listing.filter(({ provider }) => provider === this.#providers.all()[0])
    const exactly = listing.filter((seen) => this.#listed(seen, id)!.name === id)
    return [standard, exactly].find(({ length }) => length > 0) ?? listing
  }

  #listed(seen: Seen | undefined, id: string): Model | null {
    return listedAs(seen?.models ?? null, this.#nameOf(id))
  }

  #credentialOf({ credential }: Provider): string | null {
    return credential === null ? null : this.#credentials.value(credential)
  }

  /** What a node's call of a model would be made with; null where that is not known. */
  called({ model: id }: ModelNeed): Called | null {
    const seen = id ? this.#of(id) : null
    return seen && { provider: seen.provider, credential: this.#credentialOf(seen.provider) }
  }

  /** What is known of a node's call of a model before it is made. */
  call({ model: id, prompt, max_output_tokens }: ModelNeed): ModelCall {
    const seen = id ? this.#of(id) : null
    const model = seen ? this.#listed(seen, id!) : null
    const input_tokens = seen && prompt !== null ? this.#prompts.of(seen.provider, prompt) : null
    return { model, input_tokens, max_output_tokens }
  }
}
