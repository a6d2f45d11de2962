// "Did you mean …?" for names of node types, handles, properties and whatever else has names.
import type { NodeRegistry, NodeTypeLookup } from './node-type.ts'

/**
 * Edits (insert, delete, replace, swap of neighbours) between two words, or `limit + 1` where it is more. Of the table of all their beginnings only those are
 * looked at that are at most `limit` letters longer or shorter than each other: others are too far apart.
 */
function computeEditDistance(a: string, b: string, limit: number): number {
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
const MAX_NAME_LENGTH = 80

/** Among more candidates than these nobody looks for the nearest: it would be slow. */
const MAX_CANDIDATES = 200

/** Node types are not the graph's to choose, and there is only one list of them. */
const MAX_TYPES = 2000

export interface TitledNodeType {
  readonly node_type: string
  readonly title: string
}

/** More typing mistakes than these nobody makes in one name, and long ones would be slow to compare. */
const MAX_MISTAKES = 6

/** How far a word may be from what was meant. Very short ones would otherwise be near to everything. */
function getMaxEdits(word: string): number {
  return word.length < 3 ? 0 : Math.min(MAX_MISTAKES, Math.max(1, Math.floor(word.length / 3)))
}

/** A name without what people write differently: case, and what stands between the words of it. */
function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** The namespace, empty where there is none, and the name in it. */
function splitTypeName(type: string): [string, string] {
  const dot = type.lastIndexOf('.')
  return [type.slice(0, Math.max(dot, 0)), type.slice(dot + 1)]
}

/** What an abbreviation costs: `sep` for `separator`. */
const ABBREVIATION_COST = 2

/** Like `distance`, in any case; infinite where it is not to be tolerated. */
function rateDistance(written: string, meant: string): number {
  const most = getMaxEdits(written)
  const [a, b] = [written.toLowerCase(), meant.toLowerCase()]
  const far = computeEditDistance(a, b, most)
  if (a.length > 2 && b.startsWith(a)) return Math.min(far, ABBREVIATION_COST)
  return far > most ? Number.POSITIVE_INFINITY : far
}

/** What the right name in quite another namespace costs: less than two typing mistakes. */
const OTHER_NAMESPACE_COST = 1.5

/** How far a candidate is from what was written. The namespace of a node type may be missing, or be another one. */
function rateCandidate(squashed: string, [namespace, name]: [string, string], candidate: string): number {
  if (squashed !== '' && normalizeName(candidate) === squashed) return 0
  const [otherNamespace, other] = splitTypeName(candidate)
  const far = rateDistance(name, other)
  if (namespace === '' || far === Number.POSITIVE_INFINITY) return far
  const elsewhere = rateDistance(namespace, otherNamespace)
  return far === 0 ? Math.min(elsewhere, OTHER_NAMESPACE_COST) : far + elsewhere
}

/** The candidates that are nearest to what was written, as near as each other. */
function findNearby(written: string, candidates: Iterable<string>): string[] {
  if (written.length === 0 || written.length > MAX_NAME_LENGTH) return []
  const squashed = normalizeName(written)
  const wanted = splitTypeName(written)
  let best: string[] = []
  let least = Number.MAX_VALUE
  for (const candidate of candidates) {
    const found = rateCandidate(squashed, wanted, candidate)
    if (found < least) best = []
    if (found <= least) best.push(candidate)
    least = Math.min(found, least)
  }
  return best
}

/** The candidate that is nearest to what was written, the first of several, or null where none is near. */
export function findNearest(written: string, candidates: Iterable<string>): string | null {
  return findNearby(written, candidates)[0] ?? null
}

/** The words of a name or title in one form, in the order of the alphabet. */
function sortWords(name: string): string {
  const words = name.match(/\p{Lu}*\p{Ll}+|\p{Lu}+|\p{N}+/gu) ?? []
  return words
    .map((word) => word.toLowerCase())
    .sort()
    .join(' ')
}

/** The node types whose title has the very words that were written: `input.Text` for the one called "Text input". */
function findByTitle(written: string, types: readonly TitledNodeType[]): string[] {
  if (written.length > MAX_NAME_LENGTH) return []
  const words = sortWords(written)
  return types.filter((type) => words !== '' && sortWords(type.title) === words).map((type) => type.node_type)
}

function collectNames(candidates: Iterable<string>, most: number): string[] | null {
  const names: string[] = []
  for (const name of candidates) {
    if (names.length === most) return null
    names.push(name)
  }
  return names
}

function quoteNames(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

/** So many names are proposed at most. */
const MAX_PROPOSED = 3

function formatQuestion(names: readonly string[]): string {
  const all = names.slice(0, MAX_PROPOSED).map((name) => `"${name}"`)
  const last = all.pop()
  return ` Did you mean ${all.length > 0 ? `${all.join(', ')} or ${last}` : last}?`
}

/** ` Did you mean "x"?`, or the names there are where they are few, or nothing. */
export function suggestName(written: string, candidates: Iterable<string>): string {
  const names = collectNames(candidates, MAX_CANDIDATES)
  if (names === null) return ''
  const near = findNearby(written, names)
  if (near.length > 0) return formatQuestion(near)
  if (names.length === 1) return ` There is only ${quoteNames(names)}.`
  return names.length > 0 && names.length <= 8 ? ` There is ${quoteNames(names)}.` : ''
}

/** Hints for one graph: so many names are looked up at most, as a hostile graph shall not cost seconds. */
export class NameSuggestions {
  #left: number

  constructor(most = 20) {
    this.#left = most
  }

  suggest(written: string, candidates: Iterable<string>): string {
    return this.#left-- > 0 ? suggestName(written, candidates) : ''
  }

  suggestType(written: string, types: readonly TitledNodeType[]): string {
    if (this.#left-- <= 0 || types.length > MAX_TYPES) return ''
    const byTitle = findByTitle(written, types)
    if (byTitle.length > 0 && written.includes('.')) return formatQuestion(byTitle)
    const near = findNearby(
      written,
      types.map((type) => type.node_type),
    )
    const found = near.length > 0 ? near : byTitle
    return found.length > 0 ? formatQuestion(found) : ''
  }

  /** The nearest name itself, or null. */
  findNearest(written: string, candidates: () => Iterable<string>): string | null {
    return this.#left-- > 0 ? findNearest(written, candidates()) : null
  }
}

/** The node types of a registry, with a few hints. */
export function createNodeTypeLookup(registry: NodeRegistry): NodeTypeLookup {
  const hints = new NameSuggestions()
  return {
    get: (node_type) => registry.get(node_type),
    hint: (written) => hints.suggestType(written, registry.all()),
  }
}
