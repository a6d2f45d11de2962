// JSON texts of servers, which are read in one go while everybody else waits.
import { Malformed } from './checked.ts'

/** Of objects and lists in one text: more than the log probabilities of the longest answer are. Each takes many times the two bytes that it may be written in. */
export const MOST_NESTED = 1_000_000

const BRACE = 0x7b
const BRACKET = 0x5b

/** The value that a text is. Braces and brackets within its texts count as well. @throws SyntaxError; Malformed where it has too many objects and lists */
export function jsonIn(text: string): unknown {
  // What is shorter has room for no more.
  if (text.length > MOST_NESTED && nestedIn(text) > MOST_NESTED)
    throw new Malformed(`JSON with more than ${MOST_NESTED} objects and lists`)
  return JSON.parse(text)
}

function nestedIn(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BRACE || code === BRACKET) count++
  }
  return count
}
