// Creates embeddings in OpenAI's format: passed through from a server that speaks OpenAI's protocol, or built from the
// vectors of another provider.
import type { CreateEmbeddingRequest, EmbeddingList } from '../../generated/types.ts'
import { userShareKey } from '../db/owner-scope.ts'
import type { ModelUsage } from '../engine/node-api/services/models.ts'
import { ServiceError } from '../errors.ts'
import { resolveBillingContext } from '../models/billing/billing-context.ts'
import { estimateEmbeddingCost } from '../models/billing/cost-estimate.ts'
import { measureEmbeddingUse } from '../models/billing/usage-meter.ts'
import type { ModelService } from '../models/calls/model-service.ts'
import type { ResolvedModel } from '../models/catalogue/resolved-model.ts'
import { countInputs } from '../models/providers/openai/embeddings.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { stringifyInSlices } from '../shared/incremental-json.ts'
import { isRecord } from '../shared/record.ts'
import type { Steps } from '../shared/time-slices.ts'
import { isNonEmptyText, type JsonRecord, withFields } from './json/values.ts'
import { holdsSecret, mayHideSecret, redactModelValue } from './redaction/completion-json.ts'
import { parseUsage, type ReportedUsage } from './upstream/chunk-scan.ts'
import { EmbeddingListReader } from './upstream/embedding-list-reader.ts'
import { toProviderError, UpstreamErrorBody } from './upstream/error-body.ts'
import { type OpenAiResponse, type RoutedRequest, readResponseBody, sendUpstream } from './upstream/exchange.ts'
import { toModelUse } from './upstream/usage-estimate.ts'

/** In bytes: 2048 vectors of 3072 numbers, as text. */
const MAX_LIST_BYTES = 134_217_728

interface EmbeddingCall extends Omit<RoutedRequest<CreateEmbeddingRequest>, 'upstream'> {
  readonly redactor: Redactor
}

/** @throws ServiceError, ProviderError; the signal's reason */
export async function createEmbeddings(models: ModelService, wanted: EmbeddingCall): Promise<OpenAiResponse> {
  const { upstream } = wanted.found.provider
  const body = upstream ? await passUpstream({ ...wanted, upstream }) : await encodeList(models, wanted)
  return { headers: {}, body }
}

async function passUpstream(way: EmbeddingCall & RoutedRequest<CreateEmbeddingRequest>): Promise<Uint8Array> {
  const { asked, found, redactor } = way
  // Some servers accept a conversation instead of the input, and fetch the pictures at its URLs.
  if ('messages' in asked.body) throw createParamError('messages', 'Embeddings take `input`, not `messages`.')
  const billing = resolveBillingContext(way.billing, found)
  const { input } = asked.body
  const texts = listInputTexts(input)
  billing.admit()
  using held = billing.hold?.(() => estimateEmbeddingCost(found, texts)) ?? null
  const answer = await sendUpstream(way, '/embeddings', false)
  const reader = new EmbeddingListReader(countInputs(input), {
    value: (value) => redactModelValue(value, redactor),
    hasSecret: (text) => mayHideSecret(text, redactor) && holdsSecret(text, redactor),
  })
  const own = measureEmbeddingUse(found, texts, countInputTokens(input))
  let use: ModelUsage | null = own
  try {
    await readResponseBody(found, answer, MAX_LIST_BYTES, (bytes) => reader.take(bytes))
    const given = reader.end()
    use = toUse(found, own, parseUsage(given.usage))
    const wanted = redactModelValue(completeList(given, found, use.input_tokens), redactor)
    return await way.slices.run(userShareKey(asked.owner), reader.bytes(given, wanted))
  } catch (cause) {
    if (cause instanceof UpstreamErrorBody) use = cause.reported_usage && toUse(found, own, cause.reported_usage)
    throw toProviderError(found, cause)
  } finally {
    held?.[Symbol.dispose]()
    if (use) billing.charge(use)
  }
}

/** Usage of a call by the server's count, or by our own count where the server gives none. */
function toUse(found: ResolvedModel, own: ModelUsage, counted: ReportedUsage | null): ModelUsage {
  return toModelUse(found, {
    input_tokens: counted?.input_tokens || own.input_tokens,
    output_tokens: 0,
    ...(counted?.cost === undefined ? {} : { cost: counted.cost }),
  })
}

/** Adds the fields that the contract requires. Returns the same object if no field is missing. */
function completeList(given: JsonRecord, { model }: ResolvedModel, tokens: number): JsonRecord {
  const usage = isRecord(given.usage) ? given.usage : {}
  const { total_tokens: total } = usage
  const isOwn = usage.prompt_tokens === tokens && Number.isSafeInteger(total) && (total as number) > 0
  return withFields(given, {
    object: 'list',
    model: isNonEmptyText(given.model) ? given.model : model.id,
    usage: withFields(usage, { prompt_tokens: tokens, total_tokens: isOwn ? total : tokens }),
  })
}

/** Counts inputs that are tokens already; 0 for texts. */
function countInputTokens(input: CreateEmbeddingRequest['input']): number {
  if (typeof input === 'string') return 0
  return input.reduce<number>(
    (sum, one) => sum + (typeof one === 'number' ? 1 : Array.isArray(one) ? one.length : 0),
    0,
  )
}

function listInputTexts(input: CreateEmbeddingRequest['input']): string[] {
  return [input].flat(2).filter((one) => typeof one === 'string')
}

/** The fields that providers with another protocol support. */
const SUPPORTED_FIELDS: readonly string[] = ['model', 'input', 'dimensions', 'encoding_format', 'user']

/** In slices: two thousand vectors of thousands of numbers have a hundred million characters. */
async function encodeList(models: ModelService, wanted: EmbeddingCall): Promise<string> {
  return stringifyInSlices(wanted.slices, userShareKey(wanted.asked.owner), await createList(models, wanted))
}

async function createList(
  models: ModelService,
  { asked, found, billing, signal, slices }: EmbeddingCall,
): Promise<EmbeddingList> {
  const { body } = asked
  const { model, input, dimensions, encoding_format } = body
  const unknown = Object.keys(body).find((name) => !SUPPORTED_FIELDS.includes(name) && body[name] !== null)
  if (unknown !== undefined)
    throw createParamError(unknown, `The provider "${found.provider.name}" does not support this field.`)
  const texts = listInputTexts(input)
  if (countInputTokens(input) > 0)
    throw createParamError('input', `The provider "${found.provider.name}" takes texts, not tokens.`)
  let input_tokens = 0
  const used = (use: { input_tokens: number }) => {
    input_tokens = use.input_tokens
  }
  const asks = { model, input: texts, ...(dimensions ? { dimensions } : {}) }
  const vectors = await models.embed({ body: asks, signal, used }, billing)
  const data = await slices.run(userShareKey(asked.owner), encodeVectorsSteps(vectors, encoding_format === 'base64'))
  return { object: 'list', data, model, usage: { prompt_tokens: input_tokens, total_tokens: input_tokens } }
}

function* encodeVectorsSteps(vectors: readonly (readonly number[])[], as_text: boolean): Steps<EmbeddingList['data']> {
  const data: EmbeddingList['data'] = []
  for (const [index, vector] of vectors.entries()) {
    data.push({ object: 'embedding', index, embedding: as_text ? encodeBase64(vector) : [...vector] })
    yield
  }
  return data
}

function createParamError(param: string, message: string): ServiceError {
  const problems = [{ path: `/body/${param}`, message }]
  return new ServiceError('INVALID_REQUEST', { message: `/body/${param}: ${message}`, param, problems })
}

/** Little-endian 32-bit floats on every machine. */
function encodeBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [at, number] of vector.entries()) bytes.writeFloatLE(number, at * 4)
  return bytes.toString('base64')
}
