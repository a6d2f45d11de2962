// Vectors of one answer, made one after the other: others have their turns between those that take long together.
import { nextTurn } from '../time-slices.ts'
import { guardVector } from './checked.ts'

/** Numbers that are worked on in one turn of the event loop, in some milliseconds: no fewer than most answers have. */
const IN_TURN = 262_144

interface Making<T> {
  numbersIn(one: T): number
  make(one: T): readonly number[]
}

/** One for each of what is given, in order. @throws Malformed where one would have more numbers than a vector may have */
export async function vectorsInTurns<T>(
  given: readonly T[],
  { numbersIn, make }: Making<T>,
): Promise<(readonly number[])[]> {
  const vectors: (readonly number[])[] = []
  let worked = 0
  for (const one of given) {
    const numbers = numbersIn(one)
    guardVector(numbers)
    if (worked + numbers > IN_TURN) {
      await nextTurn()
      worked = 0
    }
    worked += numbers
    vectors.push(make(one))
  }
  return vectors
}
