// How many tokens a text most likely has where its vendor counts them only when asked.

/** Bytes of UTF-8 that a token has, by and large; in scripts that are not Latin it has fewer characters than there. */
const BYTES = 4

export function bytesAsTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES)
}
