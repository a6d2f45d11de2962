// About how much memory a compiled graph takes, by its JSON text.
import { finish, type Steps } from '../time-slices.ts'

/** What a compiled graph takes for each bracket, colon and comma of its text at most: measured with many small nodes, which take most. */
const BYTES_PER_SIGN = 125
/** Characters that are looked at in one step. */
const PIECE = 65_536

const SIGNS = new Set([...'[{,:'].map((sign) => sign.charCodeAt(0)))

export function graphBytes(body: string): number {
  return finish(graphBytesSteps(body))
}

/** `graphBytes` in steps. */
export function* graphBytesSteps(body: string): Steps<number> {
  let signs = 0
  for (let from = 0; from < body.length; from += PIECE) {
    signs += signsIn(body, from, Math.min(from + PIECE, body.length))
    yield
  }
  return body.length + signs * BYTES_PER_SIGN
}

function signsIn(text: string, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) if (SIGNS.has(text.charCodeAt(at))) count++
  return count
}
