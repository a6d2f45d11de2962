// Estimates the tokens of a text for vendors that count them only by a request.

/** UTF-8 bytes, roughly. By bytes, since a token has fewer characters in scripts that are not Latin. */
const BYTES_PER_TOKEN = 4

export function estimateTokensByBytes(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}
