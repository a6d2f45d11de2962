// Limits the length of a request's URL. The limit applies before the URL is parsed.
import { NodeError } from '../../engine/node-api/node-error.ts'

/** In characters. */
const MAX_URL_LENGTH = 16_384

/** @throws NodeError `bad_url` where a URL is too long */
export function validateUrlLength(text: string): void {
  if (text.length <= MAX_URL_LENGTH) return
  throw new NodeError(`The URL has more than ${MAX_URL_LENGTH.toLocaleString('en')} characters.`, 'bad_url')
}
