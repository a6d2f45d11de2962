// Converts the vectors of one answer, and yields to the event loop after a number of values.
import { yieldToEventLoop } from '../../../shared/time-slices.ts'
import { guardVectorLength } from './provider-data-validation.ts'

/** Numbers converted in one turn of the event loop, in a few milliseconds: enough for most answers. */
const NUMBERS_PER_TURN = 262_144

interface VectorConversion<T> {
  countNumbers(one: T): number
  convert(one: T): readonly number[]
}

/** Gives one vector for each embedding, in order. @throws MalformedDataError where a vector would have too many numbers */
export async function convertVectors<T>(
  embeddings: readonly T[],
  { countNumbers, convert }: VectorConversion<T>,
): Promise<(readonly number[])[]> {
  const vectors: (readonly number[])[] = []
  let numbersThisTurn = 0
  for (const embedding of embeddings) {
    const numbers = countNumbers(embedding)
    guardVectorLength(numbers)
    if (numbersThisTurn + numbers > NUMBERS_PER_TURN) {
      await yieldToEventLoop()
      numbersThisTurn = 0
    }
    numbersThisTurn += numbers
    vectors.push(convert(embedding))
  }
  return vectors
}
