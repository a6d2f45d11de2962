// The models that a run calls: whether their providers can be asked, whether these list them, and what they would cost.

import type { BilledCall } from '../../models/billing/billed-party.ts'
import { suggestProvider } from '../../models/catalogue/model-name-suggestions.ts'
import { findListedModel } from '../../models/catalogue/resolved-model.ts'
import type { Model, Provider } from '../../models/provider.ts'
import { explainMissingKey } from '../../models/provider-error.ts'
import type { ProviderRegistry } from '../../models/providers/registry.ts'
import { explainWorkflowModel } from '../../nodes/chat/model-calls.ts'
import type { OwnerTimeSlices } from '../../shared/time-slices.ts'
import type { PlannedModelCall } from './cost.ts'
import type { PreflightCredentials } from './credentials.ts'
import { type ModelNeed, mayServeUnlisted, type ProviderState, resolveModelRequirement } from './model-requirement.ts'
import type { AvailabilityProbes, ProbeResult } from './probes.ts'
import { PromptTokenCounter } from './prompt-tokens.ts'
import type { RequirementSet, RunRequirement } from './requirements.ts'

export interface ModelAvailabilityCheckParts {
  readonly providers: ProviderRegistry
  readonly probes: AvailabilityProbes
}

/** A requirement's `details`: the nodes that have it. */
type RequirementDetails = { readonly node_ids: string[] }

const NO_ANSWER: Readonly<Record<Exclude<ProbeResult<unknown>['kind'], 'known'>, string>> = {
  late: 'The provider did not answer in time.',
  failed: 'The provider could not be asked.',
}

/** The models of one preflight. `ask` looks at each provider once, all at the same time; the rest reads what came of it. */
export class ModelAvailabilityCheck {
  readonly #providers: ProviderRegistry
  readonly #probes: AvailabilityProbes
  readonly #credentials: PreflightCredentials
  readonly #providerStates = new Map<string, ProviderState>()
  readonly #prompts: PromptTokenCounter
  readonly #turns: OwnerTimeSlices

  constructor(
    { providers, probes }: ModelAvailabilityCheckParts,
    credentials: PreflightCredentials,
    turns: OwnerTimeSlices,
  ) {
    this.#providers = providers.snapshot()
    this.#probes = probes
    this.#credentials = credentials
    this.#prompts = new PromptTokenCounter(turns)
    this.#turns = turns
  }

  async probe(needs: readonly ModelNeed[]): Promise<void> {
    const ids = [...new Set(needs.flatMap(({ model }) => (model ? [model] : [])))]
    await this.#probeProviders(ids, false)
    const unlisted: string[] = []
    for (const id of ids) {
      if (this.#turns.over) await this.#turns.next()
      if (!this.#candidates(id).some(({ name }) => this.#findListed(this.#providerStates.get(name), id)))
        unlisted.push(id)
    }
    await this.#probeProviders(unlisted, true)
    await this.#countPrompts(needs)
  }

  /** `urgent`: a list that lacks one of them may be too old. */
  async #probeProviders(ids: readonly string[], urgent: boolean): Promise<void> {
    const sought = new Map<Provider, string[]>()
    for (const id of ids) {
      if (this.#turns.over) await this.#turns.next()
      for (const provider of this.#candidates(id)) {
        // One that gave no list just now is not asked once more.
        if (urgent && !this.#providerStates.get(provider.name)?.models) continue
        const names = sought.get(provider) ?? []
        sought.set(provider, names)
        if (urgent) names.push(this.#localName(id))
      }
    }
    const looks = [...sought].map(([provider, names]) => this.#probeProvider(provider, names))
    for (const seen of await Promise.all(looks)) this.#providerStates.set(seen.provider.name, seen)
  }

  /** A name without a provider may be any provider's. */
  #candidates(id: string): readonly Provider[] {
    const named = this.#providers.resolveId(id)
    if (named) return [named.provider]
    return id.includes('/') ? [] : this.#providers.all()
  }

  #localName(id: string): string {
    return this.#providers.resolveId(id)?.name ?? id
  }

  async #probeProvider(provider: Provider, sought: readonly string[]): Promise<ProviderState> {
    const credential = this.#credentialOf(provider)
    if (provider.credential !== null && credential === null && !provider.keyless) {
      const message = `It needs the secret ${provider.credential}. ${explainMissingKey(provider.credential)}`
      return { provider, status: 'unavailable', message, models: null }
    }
    const looked = await this.#probes.models(provider, credential, sought)
    if (looked.kind === 'known') return { provider, status: 'available', message: null, models: looked.value }
    if (looked.kind === 'unavailable') return { provider, status: looked.kind, message: looked.message, models: null }
    return { provider, status: 'unknown', message: NO_ANSWER[looked.kind], models: null }
  }

  /** What is sent to models that charge for it. */
  async #countPrompts(needs: readonly ModelNeed[]): Promise<void> {
    for (const { model: id, prompt } of needs) {
      if (this.#turns.over) await this.#turns.next()
      const seen = id ? this.#stateOf(id) : null
      const price = seen && this.#findListed(seen, id!)?.price
      if (price && price.per_million_input_tokens > 0 && prompt !== null)
        await this.#prompts.count(seen.provider, prompt)
    }
  }

  /** What a node's call of a model requires. `place` names the node among all those of the run. */
  addRequirements(need: ModelNeed, place: string, into: RequirementSet): void {
    const details = { node_ids: [place] }
    if (!need.model) {
      const message = 'Which model it is shows in the run alone.'
      const [id, name] = [`node:${place}`, `The model of node "${place}"`]
      // What nobody can know before a run must not keep every such run from being started.
      return into.add({ kind: 'model', id, name, status: 'unknown', blocking: false, message, details })
    }
    const seen = this.#stateOf(need.model)
    if (!seen) return this.#addUnknownModel(need.model, details, into)
    const { provider, status, message } = seen
    const { name } = provider
    const blocking = !mayServeUnlisted(seen)
    into.add({ kind: 'provider', id: name, name: provider.title, status, blocking, message, details })
    if (provider.credential !== null && !provider.keyless)
      into.add(this.#credentials.requirement(provider.credential, details))
    into.add({ ...resolveModelRequirement(seen, need), details: { provider: provider.name, ...details } })
  }

  #addUnknownModel(model: string, details: RequirementDetails, into: RequirementSet): void {
    const slash = model.indexOf('/')
    if (slash > 0) {
      const id = model.slice(0, slash)
      const message =
        explainWorkflowModel(model) ??
        `This server has no such provider.${suggestProvider(model, this.#providers.all())}`
      into.add({ kind: 'provider', id, name: id, status: 'missing', blocking: true, message, details })
    }
    into.add({ kind: 'model', id: model, name: model, blocking: true, details, ...this.#explainUnknown(model) })
  }

  #explainUnknown(model: string): Pick<RunRequirement, 'status' | 'message'> {
    const seen = this.#candidates(model).map(({ name }) => this.#providerStates.get(name))
    if (seen.some((one) => this.#findListed(one, model))) {
      return { status: 'missing', message: 'Several providers list it: name one, as provider/name.' }
    }
    // One that could not be asked may have it.
    const asked = seen.every((one) => one?.models)
    const message = asked ? 'No provider of this server lists it.' : 'No provider that could be asked lists it.'
    return { status: asked ? 'missing' : 'unknown', message }
  }

  /** The provider that an id means. A bare name is the default provider's, or that of the only one that lists it. */
  #stateOf(id: string): ProviderState | null {
    const named = this.#providers.resolveId(id)
    if (named) return this.#providerStates.get(named.provider.name) ?? null
    const standing = this.#providers.defaultProvider
    const seen = standing?.unlisted && !id.includes('/') ? this.#providerStates.get(standing.name) : undefined
    const own = seen && seen.status !== 'unavailable' ? seen : null
    // It is asked itself where it gives no list, or nobody has it in one.
    if (own && own.models === null) return own
    const listing = this.#statesListing(id)
    const [first] = listing
    if (!first) return own
    return listing.length === 1 ? first : null
  }

  /** Those that list a name without a provider: the default one alone, else those that have just that name, else those that have it in other words. */
  #statesListing(id: string): readonly ProviderState[] {
    const all = this.#candidates(id).flatMap(({ name }) => this.#providerStates.get(name) ?? [])
    const listing = all.filter((seen) => this.#findListed(seen, id))
    const standard = listing.filter(({ provider }) => provider === this.#providers.all()[0])
    const exactly = listing.filter((seen) => this.#findListed(seen, id)!.name === id)
    return [standard, exactly].find(({ length }) => length > 0) ?? listing
  }

  #findListed(seen: ProviderState | undefined, id: string): Model | null {
    return findListedModel(seen?.models ?? null, this.#localName(id))
  }

  #credentialOf({ credential }: Provider): string | null {
    return credential === null ? null : this.#credentials.value(credential)
  }

  /** What a node's call of a model would be made with; null where that is not known. */
  resolveBillableCall({ model: id }: ModelNeed): BilledCall | null {
    const seen = id ? this.#stateOf(id) : null
    return seen && { provider: seen.provider, credential: this.#credentialOf(seen.provider) }
  }

  /** What is known of a node's call of a model before it is made. */
  describeCall({ model: id, prompt, max_output_tokens }: ModelNeed): PlannedModelCall {
    const seen = id ? this.#stateOf(id) : null
    const model = seen ? this.#findListed(seen, id!) : null
    const input_tokens = seen && prompt !== null ? this.#prompts.of(seen.provider, prompt) : null
    return { model, input_tokens, max_output_tokens }
  }
}
