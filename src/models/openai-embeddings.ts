// Vectors as OpenAI's protocol has them.
import type { Embeddings } from './provider.ts'

/** In the order of the inputs; null where it is none. */
export function embeddingsOf(body: unknown): Embeddings | null {
  const { data, usage } = (body ?? {}) as { data?: unknown; usage?: { prompt_tokens?: unknown } }
  if (!Array.isArray(data)) return null
  const given = data.map((one, at) => ({ at: Number(one?.index ?? at), vector: vectorOf(one?.embedding) }))
  const counted = usage?.prompt_tokens
  return {
    vectors: given.sort((a, b) => a.at - b.at).map(({ vector }) => vector),
    input_tokens: typeof counted === 'number' ? counted : 0,
  }
}

/** Numbers, or 32-bit floats in base64; what is neither is found out by whoever checks vectors. */
function vectorOf(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') return embedding as readonly number[]
  const bytes = Buffer.from(embedding, 'base64')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => view.getFloat32(index * 4, true))
}
