// Vectors of one answer, made one after the other: others have their turns between those that take long together.
import { yieldToEventLoop } from '../../../shared/time-slices.ts'
import { guardVectorLength } from './provider-data-validation.ts'

/** Numbers that are worked on in one turn of the event loop, in some milliseconds: no fewer than most answers have. */
const NUMBERS_PER_TURN = 262_144

interface VectorConversion<T> {
  countNumbers(one: T): number
  convert(one: T): readonly number[]
}

/** One for each of what is given, in order. @throws Malformed where one would have more numbers than a vector may have */
export async function convertVectors<T>(
  embeddings: readonly T[],
  { countNumbers: numbersIn, convert: make }: VectorConversion<T>,
): Promise<(readonly number[])[]> {
  const vectors: (readonly number[])[] = []
  let numbersThisTurn = 0
  for (const one of embeddings) {
    const numbers = numbersIn(one)
    guardVectorLength(numbers)
    if (numbersThisTurn + numbers > NUMBERS_PER_TURN) {
      await yieldToEventLoop()
      numbersThisTurn = 0
    }
    numbersThisTurn += numbers
    vectors.push(make(one))
  }
  return vectors
}
