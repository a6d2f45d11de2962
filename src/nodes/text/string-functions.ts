// Splits, counts and joins texts within the limits of nodes, without more memory than the result needs.

import { findText } from '../shared/text-search.ts'
import { ensureListLimit, guardListLength, guardTextLength, LONGEST_LIST } from '../shared/value-limits.ts'
import { toText } from '../shared/value-operations.ts'

/** The items as texts, with a separator between them. */
export function joinTexts(list: readonly unknown[], separator: string): string {
  let length = 0
  const parts = list.map((item, index) => {
    const text = toText(item)
    length += text.length + (index > 0 ? separator.length : 0)
    guardTextLength(length)
    return text
  })
  return parts.join(separator)
}

/** Every match of a pattern as a text, within the limit of lists. */
export function listMatches(text: string, pattern: RegExp): string[] {
  const found: string[] = []
  for (const [match] of text.matchAll(pattern)) {
    guardListLength(found.length + 1)
    found.push(match)
  }
  return found
}

function countMatches(text: string, pattern: RegExp): number {
  let found = 0
  for (const _match of text.matchAll(pattern)) found++
  return found
}

/** Counts occurrences without overlaps. `find` must not be empty. */
export function countOccurrences(text: string, find: string): number {
  let found = 0
  for (let at = findText(text, find); at >= 0; at = findText(text, find, at + find.length)) found++
  return found
}

/** The parts between occurrences of `find`, which must not be empty. It stops after `most` occurrences. */
function splitAtText(text: string, find: string, most: number): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = findText(text, find); at >= 0 && parts.length < most; at = findText(text, find, from)) {
    parts.push(text.slice(from, at))
    from = at + find.length
  }
  parts.push(text.slice(from))
  return parts
}

/** Replaces every occurrence of `find`, which must not be empty. */
export function replaceText(text: string, find: string, replacement: string): string {
  return splitAtText(text, find, text.length).join(replacement)
}

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu

/** The words of a text, without punctuation. */
export function listWords(text: string): string[] {
  return listMatches(text, WORD)
}

export function countWords(text: string): number {
  return countMatches(text, WORD)
}

/** The lines of a text, with any line endings. A line ending at the end adds no empty line. */
export function listLines(text: string): string[] {
  return text === '' ? [] : splitText(text.replace(/\r?\n$|\r$/, ''), /\r\n|\n|\r/)
}

export function countLines(text: string): number {
  return countMatches(text, /\r\n|\n|\r/g) + (text === '' || /[\r\n]$/.test(text) ? 0 : 1)
}

/** The parts between separators. An empty separator separates all characters. */
export function splitText(text: string, separator: string | RegExp): string[] {
  // A character has one or two code units.
  if (separator === '') guardListLength(Math.ceil(text.length / 2))
  if (separator === '') return ensureListLimit([...text])
  return ensureListLimit(
    typeof separator === 'string'
      ? splitAtText(text, separator, LONGEST_LIST)
      : text.split(separator, LONGEST_LIST + 1),
  )
}

/** Counts characters, each of which has one or two code units. */
export function countCharacters(text: string): number {
  let found = 0
  for (const _character of text) found++
  return found
}

/** The position in code units of a position in characters. */
function codeUnitsBefore(text: string, place: number): number {
  let [at, units] = [0, 0]
  for (const character of text) {
    if (at++ >= place) break
    units += character.length
  }
  return units
}

/** Like `slice`, by characters instead of code units. */
export function sliceText(text: string, start: number, end: number | null): string {
  const length = countCharacters(text)
  if (length === text.length) return text.slice(start, end ?? undefined)
  const place = (from: number) => codeUnitsBefore(text, from < 0 ? length + from : from)
  return text.slice(place(start), end === null ? undefined : place(end))
}
