// Anthropic as a provider of models, by its Messages API (version 2023-06-01).
import type { UpstreamClient } from '../net/upstream.ts'
import { AnthropicAnswer, anthropicFault } from './anthropic-answer.ts'
import { anthropicRequest, type Thoughts } from './anthropic-request.ts'
import { type ClaudeTraits, modelOf, traitsOf, traitsOfName } from './anthropic-traits.ts'
import type { CompletionPart, CompletionRequest, Model, Provider, ProviderContext } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import { errorOf, field } from './vendor-errors.ts'
import { askEvents, askJson, type Vendor, versioned } from './vendor-http.ts'
import { CallMemory } from './vendor-memory.ts'
import { bytesAsTokens } from './vendor-tokens.ts'

export interface AnthropicOptions {
  readonly client: UpstreamClient
  /** Null: where it usually is. */
  readonly base_url: string | null
}

const NAME = 'anthropic'
const USUAL = 'https://api.anthropic.com'
/** Of its list; a page has up to a thousand models. */
const MOST_PAGES = 20

export function anthropicProvider({ client, base_url }: AnthropicOptions): Provider {
  const vendor: Vendor = {
    name: NAME,
    base_url: versioned(base_url ?? USUAL, 'v1'),
    client,
    headers: (credential) => ({
      'anthropic-version': '2023-06-01',
      ...(credential === null ? {} : { 'x-api-key': credential }),
    }),
    faultOf: anthropicFault,
  }
  const traits = new Map<string, ClaudeTraits>()
  const memory = new CallMemory<Thoughts>()
  return {
    name: NAME,
    title: 'Anthropic',
    kind: 'anthropic',
    base_url: vendor.base_url,
    credential: 'ANTHROPIC_API_KEY',
    watchful: true,
    refuses: ['seed'],
    models: (context) => listed(vendor, traits, context),
    unlisted: (name) => modelOf(NAME, { id: name })!,
    complete: (request, context) => answered(vendor, traits, memory, request, context),
    countTokens: bytesAsTokens,
  }
}

async function listed(vendor: Vendor, traits: Map<string, ClaudeTraits>, context: ProviderContext): Promise<Model[]> {
  const models: Model[] = []
  for (let [page, after] = [0, '']; page < MOST_PAGES; page++) {
    const answer = await askJson(vendor, `/models?limit=1000${after}`, null, context)
    const data = field(answer, 'data')
    if (!Array.isArray(data)) throw new ProviderError('failed', `The provider "${vendor.name}" gave no list of models.`)
    for (const entry of data as unknown[]) {
      const model = modelOf(vendor.name, entry)
      if (!model) continue
      models.push(model)
      traits.set(model.name, traitsOf(model.name, entry as object))
    }
    const last = field(answer, 'last_id')
    if (field(answer, 'has_more') !== true || typeof last !== 'string') return models
    after = `&after_id=${encodeURIComponent(last)}`
  }
  return models
}

async function* answered(
  vendor: Vendor,
  traits: ReadonlyMap<string, ClaudeTraits>,
  memory: CallMemory<Thoughts>,
  request: CompletionRequest,
  context: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  const known = traits.get(request.model) ?? traitsOfName(request.model)
  const own = memory.for(context.owner ?? null)
  const { body, names } = anthropicRequest(request, known, vendor.name, own)
  const { credential } = context
  const answer = new AnthropicAnswer({
    names,
    failed: (fault, told) => errorOf(vendor, fault, told, { credential }),
    thought: (id, thoughts) => own.keep(id, thoughts),
    counted: (counted) => context.heard?.(counted),
  })
  const isLast = (event: unknown) => field(event, 'type') === 'message_stop'
  for await (const event of askEvents(vendor, '/messages', body, context, isLast)) yield* answer.read(event)
  const end = answer.end()
  if (!end) throw new ProviderError('failed', `The provider "${vendor.name}" broke off its answer.`)
  yield end
}
