// Checks the models that a run calls: whether their providers respond, whether the providers list them, and their prices.

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

/** The `details` of a requirement: the nodes that have it. */
type RequirementDetails = { readonly node_ids: string[] }

const NO_ANSWER: Readonly<Record<Exclude<ProbeResult<unknown>['kind'], 'known'>, string>> = {
  late: 'The provider did not answer in time.',
  failed: 'The provider could not be asked.',
}

/** The models of one preflight. `probe` asks each provider once, all at the same time; the other methods read the results. */
export class ModelAvailabilityCheck {
  readonly #providers: ProviderRegistry
  readonly #probes: AvailabilityProbes
  readonly #credentials: PreflightCredentials
  readonly #providerStates = new Map<string, ProviderState>()
  readonly #prompts: PromptTokenCounter
  /** The tokens of counted prompts. */
  readonly #tokens = new Map<ModelNeed, number>()
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
    const ids = new Set<string>()
    for (const { model } of needs) {
      if (this.#turns.over) await this.#turns.next()
      if (model) ids.add(model)
    }
    await this.#probeProviders(ids, false)
    const unlisted: string[] = []
    for (const id of ids) {
      if (this.#turns.over) await this.#turns.next()
      if (!this.#candidates(id).some(({ name }) => this.#findListed(this.#providerStates.get(name), id)))
        unlisted.push(id)
    }
    await this.#probeProviders(unlisted, true)
  }

  /** `urgent`: a cached list that lacks one of the models may be too old. */
  async #probeProviders(ids: Iterable<string>, urgent: boolean): Promise<void> {
    const sought = new Map<Provider, string[]>()
    for (const id of ids) {
      if (this.#turns.over) await this.#turns.next()
      for (const provider of this.#candidates(id)) {
        // A provider that gave no list just now is not asked again.
        if (urgent && !this.#providerStates.get(provider.name)?.models) continue
        const names = sought.get(provider) ?? []
        sought.set(provider, names)
        if (urgent) names.push(this.#localName(id))
      }
    }
    const lookups = [...sought].map(([provider, names]) => this.#probeProvider(provider, names))
    for (const seen of await Promise.all(lookups)) this.#providerStates.set(seen.provider.name, seen)
  }

  /** A name without a provider may belong to any provider. */
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
      const message = `The provider needs the secret ${provider.credential}. ${explainMissingKey(provider.credential)}`
      return { provider, status: 'unavailable', message, models: null }
    }
    const looked = await this.#probes.models(provider, credential, sought)
    if (looked.kind === 'known') return { provider, status: 'available', message: null, models: looked.value }
    if (looked.kind === 'unavailable') return { provider, status: looked.kind, message: looked.message, models: null }
    return { provider, status: 'unknown', message: NO_ANSWER[looked.kind], models: null }
  }

  /**
   * Counts the tokens of a node's prompts for models that charge for input. `listPrompts` returns the prompt of each need. It is called only
   * if one has to be counted, because prompts may be long.
   */
  async countPrompts(
    needs: readonly ModelNeed[],
    listPrompts: () => readonly (readonly string[] | null)[],
  ): Promise<void> {
    const providers = needs.map(({ model }) => this.#chargingProvider(model))
    if (this.#prompts.isFull || providers.every((provider) => provider === null)) return
    const prompts = listPrompts()
    for (const [at, provider] of providers.entries()) {
      const prompt = prompts[at] ?? null
      const tokens = provider && prompt && (await this.#prompts.count(provider, prompt))
      if (tokens !== null) this.#tokens.set(needs[at]!, tokens)
    }
  }

  /** Returns the provider of a model that charges for input, or null. */
  #chargingProvider(id: string | null): Provider | null {
    const seen = id ? this.#stateOf(id) : null
    const price = seen && this.#findListed(seen, id!)?.price
    return price && price.per_million_input_tokens > 0 ? seen.provider : null
  }

  /** Adds the requirements of a node's model call. `place` is the qualified id of the node. */
  addRequirements(need: ModelNeed, place: string, into: RequirementSet): void {
    const details = { node_ids: [place] }
    if (!need.model) {
      const message = 'The model is known only during the run.'
      const [id, name] = [`node:${place}`, `The model of node "${place}"`]
      // A model that is known only during the run must not block every such run.
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
      return { status: 'missing', message: 'Several providers list this model: name one, as provider/name.' }
    }
    // A provider that could not be asked may have the model.
    const asked = seen.every((one) => one?.models)
    const message = asked
      ? 'No provider of this server lists this model.'
      : 'No provider that could be asked lists this model.'
    return { status: asked ? 'missing' : 'unknown', message }
  }

  /**
   * Returns the state of the provider that a model id means. A bare name belongs to the default provider, or to the only provider that
   * lists it.
   */
  #stateOf(id: string): ProviderState | null {
    const named = this.#providers.resolveId(id)
    if (named) return this.#providerStates.get(named.provider.name) ?? null
    const standing = this.#providers.defaultProvider
    const seen = standing?.unlisted && !id.includes('/') ? this.#providerStates.get(standing.name) : undefined
    const own = seen && seen.status !== 'unavailable' ? seen : null
    // The default provider is used if it gives no list, or no provider lists the model.
    if (own && own.models === null) return own
    const listing = this.#statesListing(id)
    const [first] = listing
    if (!first) return own
    return listing.length === 1 ? first : null
  }

  /**
   * Returns the providers that list a bare name: the default provider alone, or else those with exactly that name, or else those with
   * another spelling of it.
   */
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

  /** Returns the provider and credential of a node's model call; null if they are not known. */
  resolveBillableCall({ model: id }: ModelNeed): BilledCall | null {
    const seen = id ? this.#stateOf(id) : null
    return seen && { provider: seen.provider, credential: this.#credentialOf(seen.provider) }
  }

  /** Returns what is known about a node's model call before the run. */
  describeCall(need: ModelNeed): PlannedModelCall {
    const { model: id, max_output_tokens } = need
    const seen = id ? this.#stateOf(id) : null
    const model = seen ? this.#findListed(seen, id!) : null
    return { model, input_tokens: this.#tokens.get(need) ?? null, max_output_tokens }
  }
}
