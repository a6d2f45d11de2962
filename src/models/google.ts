// Google as a provider of models, by the Gemini API (v1beta).
import { randomUUID } from 'node:crypto'
import type { UpstreamClient } from '../net/upstream.ts'
import { GoogleAnswer, googleFault } from './google-answer.ts'
import { googleEmbeddings } from './google-embed.ts'
import { modelOf, thinks, unlistedModel } from './google-models.ts'
import { googleRequest, type Sealed } from './google-request.ts'
import type { CompletionPart, CompletionRequest, Model, Provider, ProviderContext } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import { errorOf, field } from './vendor-errors.ts'
import { askEvents, askJson, type Vendor, versioned } from './vendor-http.ts'
import { CallMemory } from './vendor-memory.ts'
import { bytesAsTokens } from './vendor-tokens.ts'

export interface GoogleOptions {
  readonly client: UpstreamClient
  /** Null: where it usually is. */
  readonly base_url: string | null
  /** A new id for a call of a tool, that nobody can guess. */
  readonly newId?: () => string
}

const NAME = 'google'
const USUAL = 'https://generativelanguage.googleapis.com'
/** Of its list; a page has up to a thousand models. */
const MOST_PAGES = 20

export function googleProvider({ client, base_url, newId = callId }: GoogleOptions): Provider {
  const vendor: Vendor = {
    name: NAME,
    base_url: versioned(base_url ?? USUAL, 'v1beta'),
    client,
    headers: (credential) => ({ ...(credential === null ? {} : { 'x-goog-api-key': credential }) }),
    faultOf: googleFault,
  }
  const thinking = new Map<string, boolean | null>()
  const memory = new CallMemory<Sealed>()
  return {
    name: NAME,
    title: 'Google',
    kind: 'google',
    base_url: vendor.base_url,
    credential: 'GEMINI_API_KEY',
    watchful: true,
    models: (context) => listed(vendor, thinking, context),
    unlisted: (name) => unlistedModel(NAME, name),
    async *complete(request, context) {
      const own = memory.for(context.owner ?? null)
      const asked = googleRequest(request, thinking.get(request.model) ?? null, NAME, own)
      const answer = new GoogleAnswer({
        names: asked.names,
        failed: (fault, told) => errorOf(vendor, fault, told, { credential: context.credential }),
        newId,
        sealed: (id, sealed) => own.keep(id, sealed),
        counted: (counted) => context.heard?.(counted),
      })
      yield* answered(vendor, answer, request, asked.body, context)
    },
    embed: (request, context) => googleEmbeddings(vendor, request, context),
    countTokens: bytesAsTokens,
  }
}

function callId(): string {
  return `call_${randomUUID().replaceAll('-', '')}`
}

async function* answered(
  vendor: Vendor,
  answer: GoogleAnswer,
  { model }: CompletionRequest,
  body: object,
  context: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  const path = `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`
  // Which chunk is the last one only the end of the answer tells.
  for await (const chunk of askEvents(vendor, path, body, context, () => false)) yield* answer.read(chunk)
  const end = answer.end()
  if (!end) throw new ProviderError('failed', `The provider "${vendor.name}" broke off its answer.`)
  yield end
}

async function listed(
  vendor: Vendor,
  thinking: Map<string, boolean | null>,
  context: ProviderContext,
): Promise<Model[]> {
  const models: Model[] = []
  for (let [page, token] = [0, '']; page < MOST_PAGES; page++) {
    const answer = await askJson(vendor, `/models?pageSize=1000${token}`, null, context)
    const entries = field(answer, 'models')
    if (!Array.isArray(entries))
      throw new ProviderError('failed', `The provider "${vendor.name}" gave no list of models.`)
    for (const entry of entries as unknown[]) {
      const model = modelOf(vendor.name, entry)
      if (!model) continue
      models.push(model)
      thinking.set(model.name, thinks(entry))
    }
    const next = field(answer, 'nextPageToken')
    if (typeof next !== 'string' || next === '') return models
    token = `&pageToken=${encodeURIComponent(next)}`
  }
  return models
}
