// The implementation of `Math.random`. Runs inside of the engine and is passed as source text on first use, so it refers to nothing
// outside.

/** xoshiro128** (Blackman and Vigna, 2018), with its state filled by splitmix32. */
function makeRandom(seedLow: number, seedHigh: number) {
  const { imul } = Math
  let mix = seedLow
  function fill(): number {
    mix = (mix + 0x9e3779b9) | 0
    let bits = imul(mix ^ (mix >>> 16), 0x21f0aaad)
    bits = imul(bits ^ (bits >>> 15), 0x735a2d97)
    return bits ^ (bits >>> 15)
  }
  // Both halves of the seed affect every part, and no two seeds give the same state.
  mix = fill() ^ seedHigh
  let [a, b] = [fill(), fill()]
  mix = seedLow ^ b
  let [c, d] = [fill(), fill() | 1]
  function next(): number {
    const five = imul(b, 5)
    const result = imul((five << 7) | (five >>> 25), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return result >>> 0
  }
  return () => ((next() >>> 5) * 0x4000000 + (next() >>> 6)) / 0x20000000000000
}

/** An expression: a generator of random numbers for a seed, which is any integer. */
export function createRandomSource(seed: number): string {
  return `(${makeRandom})(${seed | 0}, ${Math.floor(seed / 2 ** 32) | 0})`
}
