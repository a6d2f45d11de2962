// "Did you mean …?" for names of node types, handles, properties and whatever else has names.
import type { KnownTypes, NodeRegistry } from './node-type.ts'

/**
 * Edits (insert, delete, replace, swap of neighbours) between two words, or `limit + 1` where it is more. Of the table of all their beginnings only those are
 * looked at that are at most `limit` letters longer or shorter than each other: others are too far apart.
 */
function distance(a: string, b: string, limit: number): number {
  const tooFar = limit + 1
  if (Math.abs(a.length - b.length) > limit) return tooFar
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  let current: number[] = new Array(b.length + 1).fill(tooFar)
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1)
    const from = Math.max(1, i - limit)
    const to = Math.min(b.length, i + limit)
    let least = from === 1 ? i : tooFar
    current[from - 1] = least
    for (let j = from; j <= to; j++) {
      const other = b.charCodeAt(j - 1)
      let cost = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + (letter === other ? 0 : 1))
      const isSwapped = i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other
      if (isSwapped) cost = Math.min(cost, before[j - 2]! + 1)
      current[j] = cost
      least = Math.min(least, cost)
    }
    if (least > limit) return tooFar
    // The next row looks one letter further.
    if (to < b.length) current[to + 1] = tooFar
    const spare = i > 1 ? before : new Array<number>(b.length + 1).fill(tooFar)
    before = previous
    previous = current
    current = spare
  }
  return previous[b.length]!
}

/** Names longer than this are nobody's typing mistake, and would be slow to compare. */
const LONGEST = 80

/** Among more candidates than these nobody looks for the nearest: it would be slow. */
const MOST_CANDIDATES = 200

/** Node types are not the graph's to choose, and there is only one list of them. */
const MOST_TYPES = 2000

export interface Titled {
  readonly node_type: string
  readonly title: string
}

/** More typing mistakes than these nobody makes in one name, and long ones would be slow to compare. */
const MOST_MISTAKES = 6

/** How far a word may be from what was meant. Very short ones would otherwise be near to everything. */
function tolerance(word: string): number {
  return word.length < 3 ? 0 : Math.min(MOST_MISTAKES, Math.max(1, Math.floor(word.length / 3)))
}

/** A name without what people write differently: case, and what stands between the words of it. */
function squash(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** The namespace, empty where there is none, and the name in it. */
function parts(type: string): [string, string] {
  const dot = type.lastIndexOf('.')
  return [type.slice(0, Math.max(dot, 0)), type.slice(dot + 1)]
}

/** What an abbreviation costs: `sep` for `separator`. */
const SHORT = 2

/** Like `distance`, in any case; infinite where it is not to be tolerated. */
function apart(written: string, meant: string): number {
  const most = tolerance(written)
  const [a, b] = [written.toLowerCase(), meant.toLowerCase()]
  const far = distance(a, b, most)
  if (a.length > 2 && b.startsWith(a)) return Math.min(far, SHORT)
  return far > most ? Number.POSITIVE_INFINITY : far
}

/** What the right name in quite another namespace costs: less than two typing mistakes. */
const ELSEWHERE = 1.5

/** How far a candidate is from what was written. The namespace of a node type may be missing, or be another one. */
function cost(squashed: string, [namespace, name]: [string, string], candidate: string): number {
  if (squashed !== '' && squash(candidate) === squashed) return 0
  const [otherNamespace, other] = parts(candidate)
  const far = apart(name, other)
  if (namespace === '' || far === Number.POSITIVE_INFINITY) return far
  const elsewhere = apart(namespace, otherNamespace)
  return far === 0 ? Math.min(elsewhere, ELSEWHERE) : far + elsewhere
}

/** The candidates that are nearest to what was written, as near as each other. */
function nearby(written: string, candidates: Iterable<string>): string[] {
  if (written.length === 0 || written.length > LONGEST) return []
  const squashed = squash(written)
  const wanted = parts(written)
  let best: string[] = []
  let least = Number.MAX_VALUE
  for (const candidate of candidates) {
    const found = cost(squashed, wanted, candidate)
    if (found < least) best = []
    if (found <= least) best.push(candidate)
    least = Math.min(found, least)
  }
  return best
}

/** The candidate that is nearest to what was written, the first of several, or null where none is near. */
export function nearest(written: string, candidates: Iterable<string>): string | null {
  return nearby(written, candidates)[0] ?? null
}

/** The words of a name or title in one form, in the order of the alphabet. */
function wordsOf(name: string): string {
  const words = name.match(/\p{Lu}*\p{Ll}+|\p{Lu}+|\p{N}+/gu) ?? []
  return words
    .map((word) => word.toLowerCase())
    .sort()
    .join(' ')
}

/** The node types whose title has the very words that were written: `input.Text` for the one called "Text input". */
function titled(written: string, types: readonly Titled[]): string[] {
  if (written.length > LONGEST) return []
  const words = wordsOf(written)
  return types.filter((type) => words !== '' && wordsOf(type.title) === words).map((type) => type.node_type)
}

function listed(candidates: Iterable<string>, most: number): string[] | null {
  const names: string[] = []
  for (const name of candidates) {
    if (names.length === most) return null
    names.push(name)
  }
  return names
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

/** So many names are proposed at most. */
const MOST_PROPOSED = 3

function question(names: readonly string[]): string {
  const all = names.slice(0, MOST_PROPOSED).map((name) => `"${name}"`)
  const last = all.pop()
  return ` Did you mean ${all.length > 0 ? `${all.join(', ')} or ${last}` : last}?`
}

/** ` Did you mean "x"?`, or the names there are where they are few, or nothing. */
export function hint(written: string, candidates: Iterable<string>): string {
  const names = listed(candidates, MOST_CANDIDATES)
  if (names === null) return ''
  const near = nearby(written, names)
  if (near.length > 0) return question(near)
  if (names.length === 1) return ` There is only ${quoted(names)}.`
  return names.length > 0 && names.length <= 8 ? ` There is ${quoted(names)}.` : ''
}

/** Hints for one graph: so many names are looked up at most, as a hostile graph shall not cost seconds. */
export class Hints {
  #left: number

  constructor(most = 20) {
    this.#left = most
  }

  for(written: string, candidates: Iterable<string>): string {
    return this.#left-- > 0 ? hint(written, candidates) : ''
  }

  forType(written: string, types: readonly Titled[]): string {
    if (this.#left-- <= 0 || types.length > MOST_TYPES) return ''
    const byTitle = titled(written, types)
    if (byTitle.length > 0 && written.includes('.')) return question(byTitle)
    const near = nearby(
      written,
      types.map((type) => type.node_type),
    )
    const found = near.length > 0 ? near : byTitle
    return found.length > 0 ? question(found) : ''
  }

  /** The nearest name itself, or null. */
  nearest(written: string, candidates: () => Iterable<string>): string | null {
    return this.#left-- > 0 ? nearest(written, candidates()) : null
  }
}

/** The node types of a registry, with a few hints. */
export function knownTypes(registry: NodeRegistry): KnownTypes {
  const hints = new Hints()
  return {
    get: (node_type) => registry.get(node_type),
    hint: (written) => hints.forType(written, registry.all()),
  }
}
