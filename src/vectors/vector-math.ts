// Vector arithmetic. Vectors are normalized to length 1, so that the product of two is the cosine of their angle, and stored as 32-bit
// numbers.
import { NodeError } from '../engine/node-api/node-error.ts'

/** In numbers of one vector. */
export const MOST_DIMENSIONS = 8_192

/** Scores have six decimal digits: further digits are rounding errors. */
const SCORE_STEPS = 1_000_000

/** The vector of length 1 in the same direction. @throws NodeError `bad_input`, `too_large` */
export function normalizeVector(vector: readonly number[]): Float32Array {
  if (vector.length > MOST_DIMENSIONS) {
    const most = MOST_DIMENSIONS.toLocaleString('en')
    throw new NodeError(
      `A vector has ${vector.length.toLocaleString('en')} numbers, but at most ${most} can be stored.`,
      'too_large',
    )
  }
  // The squares of very large or very small numbers would overflow or underflow.
  let largest = 0
  for (const one of vector) largest = Math.max(largest, Math.abs(one))
  if (!Number.isFinite(largest)) throw new NodeError('A vector holds a value that is not a finite number.', 'bad_input')
  if (largest === 0) throw new NodeError('A vector must be non-empty and non-zero.', 'bad_input')
  let sum = 0
  for (const one of vector) sum += (one / largest) ** 2
  const length = Math.sqrt(sum)
  const made = new Float32Array(vector.length)
  for (let at = 0; at < made.length; at++) made[at] = vector[at]! / largest / length
  return made
}

/** The similarity of two vectors of length 1, from −1 to 1. */
export function cosineSimilarity(a: Float32Array, b: Float32Array): number {
  let product = 0
  for (let at = 0; at < a.length; at++) product += a[at]! * b[at]!
  return Math.max(-1, Math.min(1, Math.round(product * SCORE_STEPS) / SCORE_STEPS))
}

export function encodeVector({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** A vector in its stored form. */
export function decodeVector(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0 ? bytes : Uint8Array.from(bytes)
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / Float32Array.BYTES_PER_ELEMENT)
}
