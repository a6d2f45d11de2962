// Measures a JSON text in one scan. Parsing takes up to a hundred times the memory of the text, and far more time than a scan. The parser
// decides whether the text is valid JSON.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { LONGEST_TEXT } from './value-limits.ts'

/** In values of all kinds together: lists, objects, texts, numbers and so on. */
export const MOST_JSON_VALUES = 1_000_000

/** In different keys of all objects together. Each new key costs more than many values; tables repeat their keys. */
export const MOST_JSON_KEYS = 100_000

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d
/** White space of JSON is not above this code, and all other characters of JSON are. */
const SPACE = 0x20

function tooMuchJson(most: number, what: string): NodeError {
  const text = `The JSON has more than ${most.toLocaleString('en')} ${what}, which is the limit.`
  return new NodeError(`${text} Request less, or read it in parts.`, 'too_large')
}

/** The end of the JSON string that begins at `start`, or the end of the text if it is not closed. */
function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return text.length
}

/** Counts the contents of one or several JSON texts that are read together. */
export class JsonSize {
  #values = 0
  readonly #keys = new Set<string>()

  /** Counts the contents of another text. Throws NodeError `too_large` if all texts together hold too much. */
  add(text: string): void {
    this.#values++
    let [from, to] = [0, 0]
    let opened = false
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code <= SPACE) continue
      // There is a value for each comma, and one for the first item of a list or an object.
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
 * Throws NodeError `too_large` if a JSON text has more than 10,000,000 characters, 1,000,000 values or 100,000 different keys. Invalid JSON
 * may pass.
 */
export function guardJsonText(text: string): void {
  if (text.length > LONGEST_TEXT) throw tooMuchJson(LONGEST_TEXT, 'characters')
  new JsonSize().add(text)
}
