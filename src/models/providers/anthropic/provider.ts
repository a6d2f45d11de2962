// The provider for Anthropic's Messages API (version 2023-06-01).
import { describeProvider } from '../../../config/model-providers.ts'
import type { UpstreamClient } from '../../../net/upstream/client.ts'
import type { CompletionPart, CompletionRequest, Model, Provider, ProviderContext } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { estimateTokensByBytes } from '../shared/token-estimate.ts'
import { ToolCallStateCache } from '../shared/tool-call-state-cache.ts'
import { createVendorError, readField } from '../shared/vendor-errors.ts'
import { requestEvents, requestJson, type VendorApi, withApiVersion } from '../shared/vendor-http.ts'
import { AnthropicAnswerReader, mapAnthropicError } from './answer-reader.ts'
import { type ClaudeTraits, createClaudeModel, guessClaudeTraits, readClaudeTraits } from './model-traits.ts'
import { createAnthropicRequest, type ThinkingBlocks } from './request.ts'

export interface AnthropicProviderOptions {
  readonly client: UpstreamClient
  readonly base_url: string
}

const { name: PROVIDER_NAME, title, kind, credential = null } = describeProvider('anthropic')
/** A page has up to a thousand models. */
const MAX_LIST_PAGES = 20

export function createAnthropicProvider({ client, base_url }: AnthropicProviderOptions): Provider {
  const vendor: VendorApi = {
    name: PROVIDER_NAME,
    base_url: withApiVersion(base_url, 'v1'),
    client,
    headers: (credential) => ({
      'anthropic-version': '2023-06-01',
      ...(credential === null ? {} : { 'x-api-key': credential }),
    }),
    faultOf: mapAnthropicError,
  }
  const traits = new Map<string, ClaudeTraits>()
  const memory = new ToolCallStateCache<ThinkingBlocks>()
  return {
    name: PROVIDER_NAME,
    title,
    kind,
    base_url: vendor.base_url,
    credential,
    has_idle_timeout: true,
    unsupported_fields: ['seed'],
    models: (context) => listClaudeModels(vendor, traits, context),
    unlisted: (name) => createClaudeModel(PROVIDER_NAME, { id: name })!,
    complete: (request, context) => streamAnswer(vendor, traits, memory, request, context),
    countTokens: estimateTokensByBytes,
  }
}

async function listClaudeModels(
  vendor: VendorApi,
  traits: Map<string, ClaudeTraits>,
  context: ProviderContext,
): Promise<Model[]> {
  const models: Model[] = []
  for (let [page, after] = [0, '']; page < MAX_LIST_PAGES; page++) {
    const answer = await requestJson(vendor, `/models?limit=1000${after}`, null, context)
    const data = readField(answer, 'data')
    if (!Array.isArray(data)) throw new ProviderError('failed', `The provider "${vendor.name}" gave no list of models.`)
    for (const entry of data as unknown[]) {
      const model = createClaudeModel(vendor.name, entry)
      if (!model) continue
      models.push(model)
      traits.set(model.name, readClaudeTraits(model.name, entry as object))
    }
    const last = readField(answer, 'last_id')
    if (readField(answer, 'has_more') !== true || typeof last !== 'string') return models
    after = `&after_id=${encodeURIComponent(last)}`
  }
  return models
}

async function* streamAnswer(
  vendor: VendorApi,
  traits: ReadonlyMap<string, ClaudeTraits>,
  memory: ToolCallStateCache<ThinkingBlocks>,
  request: CompletionRequest,
  context: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  const known = traits.get(request.model) ?? guessClaudeTraits(request.model)
  const own = memory.forOwner(context.owner ?? null)
  const { body, names } = createAnthropicRequest(request, known, vendor.name, own)
  const { credential } = context
  const answer = new AnthropicAnswerReader({
    names,
    createError: (fault, told) => createVendorError(vendor, fault, told, { credential }),
    storeThinking: (id, thoughts) => own.keep(id, thoughts),
    reportUsage: (counted) => context.heard?.(counted),
  })
  const isLast = (event: unknown) => readField(event, 'type') === 'message_stop'
  for await (const event of requestEvents(vendor, '/messages', body, context, isLast)) yield* answer.readEvent(event)
  const end = answer.createEndPart()
  if (!end) throw new ProviderError('failed', `The provider "${vendor.name}" broke off its answer.`)
  yield end
}
