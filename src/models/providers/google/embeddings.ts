// Requests vectors from the Gemini API, in batches of the largest size that the API takes.

import type { EmbeddingRequest, Embeddings, ProviderContext } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { guardEmbeddingNumbers } from '../shared/provider-data-validation.ts'
import { createUnsupportedError } from '../shared/unsupported-error.ts'
import { convertVectors } from '../shared/vector-conversion.ts'
import { readField } from '../shared/vendor-errors.ts'
import { requestJson, type VendorApi } from '../shared/vendor-http.ts'

const MAX_BATCH_SIZE = 100
/** Fields that are honoured here or by the caller, which encodes the answer. */
const SUPPORTED_FIELDS: readonly string[] = ['model', 'input', 'dimensions', 'encoding_format', 'user']

/** @throws ProviderError; MalformedDataError where a vector, or all together, have too many numbers; the signal's reason */
export async function requestGoogleEmbeddings(
  vendor: VendorApi,
  request: EmbeddingRequest,
  context: ProviderContext,
): Promise<Embeddings> {
  const texts = readInputTexts(request, vendor.name)
  const vectors: (readonly number[])[] = []
  let input_tokens = 0
  let numbers = 0
  for (let from = 0; from < texts.length; from += MAX_BATCH_SIZE) {
    const some = texts.slice(from, from + MAX_BATCH_SIZE)
    const answer = await requestBatch(vendor, request, some, context)
    const given = readVectors(answer, some.length, vendor.name)
    numbers += given.reduce((sum, { length }) => sum + length, 0)
    guardEmbeddingNumbers(numbers)
    // A shortened vector does not have the length 1, as OpenAI's vectors have.
    const convert = request.dimensions == null ? keepVector : normalizeVector
    vectors.push(...(await convertVectors(given, { countNumbers: ({ length }) => length, convert })))
    const count = readField(readField(answer, 'usageMetadata'), 'promptTokenCount')
    input_tokens += Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 0
  }
  return { vectors, input_tokens }
}

function readInputTexts(request: EmbeddingRequest, provider: string): string[] {
  const other = Object.entries(request).find(([name, value]) => value != null && !SUPPORTED_FIELDS.includes(name))
  if (other)
    throw createUnsupportedError(provider, other[0].slice(0, 100), `does not honour "${other[0].slice(0, 100)}"`)
  const input = typeof request.input === 'string' ? [request.input] : request.input
  const texts = input.filter((one: unknown): one is string => typeof one === 'string')
  if (texts.length !== input.length) throw createUnsupportedError(provider, 'input', 'takes texts and no token ids')
  return texts
}

function requestBatch(
  vendor: VendorApi,
  { model, dimensions }: EmbeddingRequest,
  texts: readonly string[],
  context: ProviderContext,
): Promise<unknown> {
  const requests = texts.map((text) => ({
    model: `models/${model}`,
    content: { parts: [{ text }] },
    ...(dimensions == null ? {} : { outputDimensionality: dimensions }),
  }))
  return requestJson(vendor, `/models/${encodeURIComponent(model)}:batchEmbedContents`, { requests }, context)
}

function readVectors(answer: unknown, count: number, provider: string): number[][] {
  const embeddings = readField(answer, 'embeddings')
  const failure = () => new ProviderError('failed', `The provider "${provider}" gave a wrong number of vectors.`)
  if (!Array.isArray(embeddings) || embeddings.length !== count) throw failure()
  const vectors = embeddings.map((one: unknown) => readField(one, 'values'))
  if (!vectors.every(Array.isArray)) throw failure()
  return vectors as number[][]
}

function keepVector(vector: readonly number[]): readonly number[] {
  return vector
}

function normalizeVector(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0))
  return length > 0 ? vector.map((one) => one / length) : [...vector]
}
