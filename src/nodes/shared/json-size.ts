// How much a JSON text holds, told by one scan of it: reading a text takes up to a hundred times its memory, and far more
// time than looking at it. Whether it is JSON at all is left to whoever reads it.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { LONGEST_TEXT } from './value-limits.ts'

/** Lists, objects, texts, numbers, and the like, all together. */
export const MOST_JSON_VALUES = 1_000_000

/** Keys that differ, of all objects together: each new one costs more than many values. Tables repeat theirs. */
export const MOST_JSON_KEYS = 100_000

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d
/** Spaces and line breaks are not above it, and nothing else of JSON is. */
const SPACE = 0x20

function tooMuchJson(most: number, what: string): NodeError {
  const text = `The JSON has more than ${most.toLocaleString('en')} ${what}, the most that is read at once.`
  return new NodeError(`${text} Ask for less of it, or read it in parts.`, 'too_large')
}

/** Where the text in quotation marks ends that begins at `start`; the end of the whole where it doesn't. */
function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return text.length
}

/** What one or several JSON texts hold that are read at once. */
export class JsonSize {
  #values = 0
  readonly #keys = new Set<string>()

  /** Counts what another text holds. Throws NodeError `too_large` where all of them together hold too much. */
  add(text: string): void {
    this.#values++
    let [from, to] = [0, 0]
    let opened = false
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code <= SPACE) continue
      // A value for each comma, and one for whatever comes first in a list or an object.
      if (code === COMMA || (opened && code !== CLOSING_LIST && code !== CLOSING_OBJECT)) this.#values++
      opened = code === OPENING_LIST || code === OPENING_OBJECT
      if (code === COLON) this.#keys.add(text.slice(from, to))
      else if (code === QUOTE) {
        from = at + 1
        at = findStringEnd(text, at)
        to = at
      }
      if (this.#values > MOST_JSON_VALUES) throw tooMuchJson(MOST_JSON_VALUES, 'values')
      if (this.#keys.size > MOST_JSON_KEYS) throw tooMuchJson(MOST_JSON_KEYS, 'different keys')
    }
  }
}

/**
 * Throws NodeError `too_large` where a JSON text is longer than 10,000,000 characters, or holds more than 1,000,000 values or
 * 100,000 different keys. What is no JSON may pass.
 */
export function guardJsonText(text: string): void {
  if (text.length > LONGEST_TEXT) throw tooMuchJson(LONGEST_TEXT, 'characters')
  new JsonSize().add(text)
}
