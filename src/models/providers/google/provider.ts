// The provider for Google's Gemini API (v1beta).
import { randomUUID } from 'node:crypto'
import { describeProvider } from '../../../config/model-providers.ts'
import type { UpstreamClient } from '../../../net/upstream/client.ts'
import type { CompletionPart, CompletionRequest, Model, Provider, ProviderContext } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { estimateTokensByBytes } from '../shared/token-estimate.ts'
import { ToolCallStateCache } from '../shared/tool-call-state-cache.ts'
import { createVendorError, readField } from '../shared/vendor-errors.ts'
import { requestEvents, requestJson, type VendorApi, withApiVersion } from '../shared/vendor-http.ts'
import { GoogleAnswerReader, mapGoogleError } from './answer-reader.ts'
import { requestGoogleEmbeddings } from './embeddings.ts'
import { createGeminiModel, createUnlistedGeminiModel, readThinkingSupport } from './model-list.ts'
import { createGoogleRequest, type GoogleCallState } from './request.ts'

export interface GoogleProviderOptions {
  readonly client: UpstreamClient
  readonly base_url: string
  /** Makes an unguessable id for a tool call. */
  readonly newId?: () => string
}

const { name: PROVIDER_NAME, title, kind, credential = null } = describeProvider('google')
/** A page has up to a thousand models. */
const MAX_LIST_PAGES = 20

export function createGoogleProvider({ client, base_url, newId = createCallId }: GoogleProviderOptions): Provider {
  const vendor: VendorApi = {
    name: PROVIDER_NAME,
    base_url: withApiVersion(base_url, 'v1beta'),
    client,
    headers: (credential) => ({ ...(credential === null ? {} : { 'x-goog-api-key': credential }) }),
    faultOf: mapGoogleError,
  }
  const thinking = new Map<string, boolean | null>()
  const memory = new ToolCallStateCache<GoogleCallState>()
  return {
    name: PROVIDER_NAME,
    title,
    kind,
    base_url: vendor.base_url,
    credential,
    has_idle_timeout: true,
    models: (context) => listGeminiModels(vendor, thinking, context),
    unlisted: (name) => createUnlistedGeminiModel(PROVIDER_NAME, name),
    async *complete(request, context) {
      const own = memory.forOwner(context.owner ?? null)
      const asked = createGoogleRequest(request, thinking.get(request.model) ?? null, PROVIDER_NAME, own)
      const answer = new GoogleAnswerReader({
        names: asked.names,
        createError: (fault, told) => createVendorError(vendor, fault, told, { credential: context.credential }),
        newId,
        storeCallState: (id, sealed) => own.keep(id, sealed),
        reportUsage: (counted) => context.heard?.(counted),
      })
      yield* streamAnswer(vendor, answer, request, asked.body, context)
    },
    embed: (request, context) => requestGoogleEmbeddings(vendor, request, context),
    countTokens: estimateTokensByBytes,
  }
}

function createCallId(): string {
  return `call_${randomUUID().replaceAll('-', '')}`
}

async function* streamAnswer(
  vendor: VendorApi,
  answer: GoogleAnswerReader,
  { model }: CompletionRequest,
  body: object,
  context: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  const path = `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`
  // No chunk is marked as the last: the stream is read to its end.
  for await (const chunk of requestEvents(vendor, path, body, context, () => false)) yield* answer.readChunk(chunk)
  const end = answer.createEndPart()
  if (!end) throw new ProviderError('failed', `The provider "${vendor.name}" broke off its answer.`)
  yield end
}

async function listGeminiModels(
  vendor: VendorApi,
  thinking: Map<string, boolean | null>,
  context: ProviderContext,
): Promise<Model[]> {
  const models: Model[] = []
  for (let [page, token] = [0, '']; page < MAX_LIST_PAGES; page++) {
    const answer = await requestJson(vendor, `/models?pageSize=1000${token}`, null, context)
    const entries = readField(answer, 'models')
    if (!Array.isArray(entries))
      throw new ProviderError('failed', `The provider "${vendor.name}" gave no list of models.`)
    for (const entry of entries as unknown[]) {
      const model = createGeminiModel(vendor.name, entry)
      if (!model) continue
      models.push(model)
      thinking.set(model.name, readThinkingSupport(entry))
    }
    const next = readField(answer, 'nextPageToken')
    if (typeof next !== 'string' || next === '') return models
    token = `&pageToken=${encodeURIComponent(next)}`
  }
  return models
}
