// Texts cut into parts, counted, and put together again, within the limits of what nodes give and without more
// memory than the result needs.
import { guardList, guardText, LONGEST_LIST, listWithin } from './limits.ts'
import { search } from './text-search.ts'
import { toText } from './values.ts'

/** The items as texts, with a separator between. */
export function join(list: readonly unknown[], separator: string): string {
  let length = 0
  const parts = list.map((item, index) => {
    const text = toText(item)
    length += text.length + (index > 0 ? separator.length : 0)
    guardText(length)
    return text
  })
  return parts.join(separator)
}

/** Every match of a pattern as a text, as far as a list may hold them. */
export function matches(text: string, pattern: RegExp): string[] {
  const found: string[] = []
  for (const [match] of text.matchAll(pattern)) {
    guardList(found.length + 1)
    found.push(match)
  }
  return found
}

/** How often a pattern matches. */
function count(text: string, pattern: RegExp): number {
  let found = 0
  for (const _match of text.matchAll(pattern)) found++
  return found
}

/** How often a text is found in another, without overlaps. `find` is not empty. */
export function occurrences(text: string, find: string): number {
  let found = 0
  for (let at = search(text, find); at >= 0; at = search(text, find, at + find.length)) found++
  return found
}

/** What is between the places where a text is found, which is not empty: some of the parts where there are too many. */
function cut(text: string, find: string, most: number): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = search(text, find); at >= 0 && parts.length < most; at = search(text, find, from)) {
    parts.push(text.slice(from, at))
    from = at + find.length
  }
  parts.push(text.slice(from))
  return parts
}

/** A text with another one in the place of each that is found. `find` is not empty. */
export function replaced(text: string, find: string, replacement: string): string {
  return cut(text, find, text.length).join(replacement)
}

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu

/** The words of a text, without punctuation. */
export function wordsOf(text: string): string[] {
  return matches(text, WORD)
}

/** How many words a text has. */
export function countWords(text: string): number {
  return count(text, WORD)
}

/** The lines of a text, whatever ends them. A line end at the end adds no empty line. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : split(text.replace(/\r?\n$|\r$/, ''), /\r\n|\n|\r/)
}

/** How many lines a text has. */
export function countLines(text: string): number {
  return count(text, /\r\n|\n|\r/g) + (text === '' || /[\r\n]$/.test(text) ? 0 : 1)
}

/** The parts between separators; an empty separator parts all characters. */
export function split(text: string, separator: string | RegExp): string[] {
  // A character takes one or two code units.
  if (separator === '') guardList(Math.ceil(text.length / 2))
  if (separator === '') return listWithin([...text])
  return listWithin(
    typeof separator === 'string' ? cut(text, separator, LONGEST_LIST) : text.split(separator, LONGEST_LIST + 1),
  )
}

/** How many characters a text has, each of one or two code units. */
export function characters(text: string): number {
  let found = 0
  for (const _character of text) found++
  return found
}

/** A place among characters as a place among code units. */
function unitsBefore(text: string, place: number): number {
  let [at, units] = [0, 0]
  for (const character of text) {
    if (at++ >= place) break
    units += character.length
  }
  return units
}

/** Like `slice`, by characters instead of code units. */
export function part(text: string, start: number, end: number | null): string {
  const length = characters(text)
  if (length === text.length) return text.slice(start, end ?? undefined)
  const place = (from: number) => unitsBefore(text, from < 0 ? length + from : from)
  return text.slice(place(start), end === null ? undefined : place(end))
}
