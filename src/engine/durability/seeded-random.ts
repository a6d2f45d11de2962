// Random numbers that repeat when a firing runs again: each firing has its own generator, seeded by the run's seed and the firing's name.
// The generator is sfc32 (C. Doty-Humphrey, PractRand), the hash FNV-1a in four lanes.

/** Hashes the text to four 32-bit numbers. */
function hashText(text: string): [number, number, number, number] {
  const parts: [number, number, number, number] = [0x811c9dc5, 0x01000193, 0x9e3779b9, 0x85ebca6b]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    for (let part = 0; part < 4; part++) parts[part] = Math.imul(parts[part]! ^ (code + part * 0x1f), 0x01000193)
  }
  return parts
}

/** A generator of numbers from 0 (inclusive) to 1 (exclusive), equal for equal texts. */
export function seededRandom(text: string): () => number {
  let [a, b, c, counter] = hashText(text)
  const next = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return sum >>> 0
  }
  // Discards the first numbers, which still correlate with the text.
  for (let round = 0; round < 12; round++) next()
  // 53 bits, the precision of a number between 0 and 1.
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53
}
