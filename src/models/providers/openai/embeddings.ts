// Reads embeddings in OpenAI's protocol.

import type { EmbeddingRequest, Embeddings } from '../../provider.ts'
import { guardEmbeddingNumbers, guardVectorCount } from '../shared/provider-data-validation.ts'
import { convertVectors } from '../shared/vector-conversion.ts'

/** The number of vectors that a request asks for. */
export function countInputs(input: EmbeddingRequest['input']): number {
  return typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length
}

/**
 * Gives the vectors in the order of the inputs; null where the body is no list of embeddings. The count is checked before any other work, since
 * the body may have millions of entries.
 * @throws MalformedDataError where there are not as many vectors as inputs, or a vector, or all together, have too many numbers
 */
export async function parseEmbeddings(body: unknown, inputs: number): Promise<Embeddings | null> {
  const { data, usage } = (body ?? {}) as { data?: unknown; usage?: { prompt_tokens?: unknown } }
  if (!Array.isArray(data)) return null
  guardVectorCount(data.length, inputs)
  guardEmbeddingNumbers(data.reduce((sum: number, one) => sum + countNumbers(one?.embedding), 0))
  const given = data.map((one, at) => ({ at: Number(one?.index ?? at), embedding: one?.embedding as unknown }))
  const embeddings = given.sort((a, b) => a.at - b.at).map(({ embedding }) => embedding)
  const counted = usage?.prompt_tokens
  return {
    vectors: await convertVectors(embeddings, { countNumbers, convert: decodeVector }),
    input_tokens: typeof counted === 'number' ? counted : 0,
  }
}

function countNumbers(embedding: unknown): number {
  if (typeof embedding === 'string') return (embedding.length * 3) / 16
  return Array.isArray(embedding) ? embedding.length : 0
}

/** Decodes a list of numbers, or 32-bit floats in base64. `validateVectors` refuses anything else later. */
function decodeVector(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') return embedding as readonly number[]
  const bytes = Buffer.from(embedding, 'base64')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers: number[] = []
  for (let at = 0; at + 4 <= bytes.length; at += 4) numbers.push(view.getFloat32(at, true))
  return numbers
}
