// How many tokens a text most likely has where its vendor counts them only when asked.

/** Bytes of UTF-8 that a token has, by and large; in scripts that are not Latin it has fewer characters than there. */
const BYTES_PER_TOKEN = 4

export function estimateTokensByBytes(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}
