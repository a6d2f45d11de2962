// How long a URL of a request may be: a longer one is refused before anybody reads it.
import { NodeError } from '../engine/node-error.ts'

/** In characters. */
const LONGEST_URL = 16_384

/** @throws NodeError `bad_url` where a URL is too long */
export function guardUrl(text: string): void {
  if (text.length <= LONGEST_URL) return
  throw new NodeError(`The URL has more than ${LONGEST_URL.toLocaleString('en')} characters.`, 'bad_url')
}
