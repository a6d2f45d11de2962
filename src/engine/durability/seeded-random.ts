// Random numbers that come out the same wherever a firing is run again: each firing has a generator of its own, made from the run's
// seed and the firing's name. The generator is sfc32 (C. Doty-Humphrey, PractRand), the hash FNV-1a in four lanes.

/** The text as four numbers of 32 bits. */
function hashText(text: string): [number, number, number, number] {
  const parts: [number, number, number, number] = [0x811c9dc5, 0x01000193, 0x9e3779b9, 0x85ebca6b]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    for (let part = 0; part < 4; part++) parts[part] = Math.imul(parts[part]! ^ (code + part * 0x1f), 0x01000193)
  }
  return parts
}

/** Gives numbers from 0 (inclusive) to 1, the same ones for the same text. */
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
  // What the first numbers say of the text is stirred away.
  for (let round = 0; round < 12; round++) next()
  // 53 bits, as many as a number between 0 and 1 can have.
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53
}
