// Vectors as OpenAI's protocol has them.

import type { EmbeddingRequest, Embeddings } from '../../provider.ts'
import { guardEmbeddingNumbers, guardVectorCount } from '../shared/provider-data-validation.ts'
import { convertVectors } from '../shared/vector-conversion.ts'

/** How many vectors are asked for. */
export function countInputs(input: EmbeddingRequest['input']): number {
  return typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length
}

/**
 * In the order of the inputs; null where it is none. Nothing is done with entries of which there are more than inputs: they may be millions.
 * @throws Malformed where there are not as many as inputs, or they, or one of them, have more numbers than there may be
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
    vectors: await convertVectors(embeddings, { countNumbers: countNumbers, convert: decodeVector }),
    input_tokens: typeof counted === 'number' ? counted : 0,
  }
}

function countNumbers(embedding: unknown): number {
  if (typeof embedding === 'string') return (embedding.length * 3) / 16
  return Array.isArray(embedding) ? embedding.length : 0
}

/** Numbers, or 32-bit floats in base64; what is neither is found out by whoever checks vectors. */
function decodeVector(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') return embedding as readonly number[]
  const bytes = Buffer.from(embedding, 'base64')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers: number[] = []
  for (let at = 0; at + 4 <= bytes.length; at += 4) numbers.push(view.getFloat32(at, true))
  return numbers
}
