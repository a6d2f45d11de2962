// Vectors by the Gemini API: as many texts in one call as it takes.
import { guardNumbers } from './checked.ts'
import type { EmbeddingRequest, Embeddings, ProviderContext } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import { vectorsInTurns } from './vectors-in-turns.ts'
import { field } from './vendor-errors.ts'
import { askJson, type Vendor } from './vendor-http.ts'
import { notTaken } from './vendor-refusals.ts'

const MOST_AT_ONCE = 100
/** What it takes into account, and what whoever asked makes of the answer. */
const FIELDS: readonly string[] = ['model', 'input', 'dimensions', 'encoding_format', 'user']

/** @throws ProviderError; Malformed where the vectors, or one of them, have more numbers than there may be; the signal's reason */
export async function googleEmbeddings(
  vendor: Vendor,
  request: EmbeddingRequest,
  context: ProviderContext,
): Promise<Embeddings> {
  const texts = textsOf(request, vendor.name)
  const vectors: (readonly number[])[] = []
  let input_tokens = 0
  let numbers = 0
  for (let from = 0; from < texts.length; from += MOST_AT_ONCE) {
    const some = texts.slice(from, from + MOST_AT_ONCE)
    const answer = await askBatch(vendor, request, some, context)
    const given = vectorsIn(answer, some.length, vendor.name)
    numbers += given.reduce((sum, { length }) => sum + length, 0)
    guardNumbers(numbers)
    // A vector that was shortened is no longer of length 1 as OpenAI's are.
    const make = request.dimensions == null ? asItIs : ofLengthOne
    vectors.push(...(await vectorsInTurns(given, { numbersIn: ({ length }) => length, make })))
    const count = field(field(answer, 'usageMetadata'), 'promptTokenCount')
    input_tokens += Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 0
  }
  return { vectors, input_tokens }
}

function textsOf(request: EmbeddingRequest, provider: string): string[] {
  const other = Object.entries(request).find(([name, value]) => value != null && !FIELDS.includes(name))
  if (other) throw notTaken(provider, other[0].slice(0, 100), `does not honour "${other[0].slice(0, 100)}"`)
  const input = typeof request.input === 'string' ? [request.input] : request.input
  const texts = input.filter((one: unknown): one is string => typeof one === 'string')
  if (texts.length !== input.length) throw notTaken(provider, 'input', 'takes texts and no tokens')
  return texts
}

function askBatch(
  vendor: Vendor,
  { model, dimensions }: EmbeddingRequest,
  texts: readonly string[],
  context: ProviderContext,
): Promise<unknown> {
  const requests = texts.map((text) => ({
    model: `models/${model}`,
    content: { parts: [{ text }] },
    ...(dimensions == null ? {} : { outputDimensionality: dimensions }),
  }))
  return askJson(vendor, `/models/${encodeURIComponent(model)}:batchEmbedContents`, { requests }, context)
}

function vectorsIn(answer: unknown, count: number, provider: string): number[][] {
  const embeddings = field(answer, 'embeddings')
  const failure = () => new ProviderError('failed', `The provider "${provider}" gave another number of vectors.`)
  if (!Array.isArray(embeddings) || embeddings.length !== count) throw failure()
  const vectors = embeddings.map((one: unknown) => field(one, 'values'))
  if (!vectors.every(Array.isArray)) throw failure()
  return vectors as number[][]
}

function asItIs(vector: readonly number[]): readonly number[] {
  return vector
}

function ofLengthOne(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0))
  return length > 0 ? vector.map((one) => one / length) : [...vector]
}
