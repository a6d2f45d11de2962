// The generator of random.*: xoshiro128** (Blackman and Vigna), seeded through splitmix32. It uses only 32-bit integers and basic
// arithmetic, so a seed gives the same numbers on every machine.
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'

const TWO_32 = 2 ** 32
const TWO_53 = 2 ** 53
const WARM_UP = 8

function rotateLeft(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by))
}

/** The numbers of splitmix32 from a given state. */
function splitmix(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return mixed ^ (mixed >>> 15)
  }
}

export class RandomGenerator {
  #a: number
  #b: number
  #c: number
  #d: number

  /** Takes any whole number; only its last 64 bits count. */
  constructor(seed: number) {
    const bits = BigInt.asUintN(64, BigInt(seed))
    const low = splitmix(Number(bits & 0xffffffffn) | 0)
    this.#a = low()
    this.#b = low()
    const high = splitmix(low() ^ Number(bits >> 32n))
    this.#c = high()
    this.#d = high()
    // The all-zero state would give only zeros.
    if ((this.#a | this.#b | this.#c | this.#d) === 0) this.#a = 1
    // The very first numbers depend on only a part of the seed.
    for (let count = 0; count < WARM_UP; count++) this.next()
  }

  /** A whole number from 0 to 2^32 − 1. */
  next(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = rotateLeft(this.#d, 11)
    return result
  }

  /** A whole number from 0 to 2^53 − 1. */
  #wide(): number {
    return (this.next() >>> 5) * 2 ** 26 + (this.next() >>> 6)
  }

  /** A number from 0 (inclusive) to 1 (exclusive), in steps of 2^−53. */
  fraction(): number {
    return this.#wide() / TWO_53
  }

  /** A whole number from 0 to `count` − 1, all equally likely. `count` is from 1 to 2^53. */
  integerBelow(count: number): number {
    const [all, draw] = count <= TWO_32 ? [TWO_32, () => this.next()] : [TWO_53, () => this.#wide()]
    const fair = all - (all % count)
    for (;;) {
      const drawn = draw()
      if (drawn < fair) return drawn % count
    }
  }

  /** A number of the normal distribution with mean 0 and deviation 1 (Marsaglia's polar method). */
  normal(): number {
    for (;;) {
      const [x, y] = [2 * this.fraction() - 1, 2 * this.fraction() - 1]
      const square = x * x + y * y
      if (square > 0 && square < 1) return x * Math.sqrt((-2 * portableLogarithm(square)) / square)
    }
  }
}

const TERMS = 13

/**
 * The natural logarithm of a number between 0 and 1. `Math.log` may differ in its last digit between engines, so this computes ln x = 2
 * artanh((x − 1) / (x + 1)), for x between 2^−½ and 2^½.
 */
function portableLogarithm(value: number): number {
  let [mantissa, exponent] = [value, 0]
  while (mantissa < Math.SQRT1_2) {
    mantissa *= 2
    exponent--
  }
  const ratio = (mantissa - 1) / (mantissa + 1)
  let sum = 0
  for (let term = TERMS; term >= 0; term--) sum = sum * ratio * ratio + 1 / (2 * term + 1)
  return exponent * Math.LN2 + 2 * ratio * sum
}

function resolveSeed(seed: number | null, context: NodeContext): number {
  return seed ?? Math.floor(context.random() * TWO_53)
}

/** The generator of a firing, from its own seed or from one that the run gives. */
export function createGenerator(seed: number | null, context: NodeContext): RandomGenerator {
  return new RandomGenerator(resolveSeed(seed, context))
}

/** Adds the seed that determines all random numbers of a firing. */
export function withSeed(inputs: InputValues, context: NodeContext): InputValues {
  return { ...inputs, seed: resolveSeed(inputs.seed as number | null, context) }
}
