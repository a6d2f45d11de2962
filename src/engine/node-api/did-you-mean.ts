// "Did you mean …?" suggestions for names of node types, handles, properties and other things.
import { computeEditDistance } from './edit-distance.ts'
import type { NodeRegistry, NodeTypeLookup } from './node-type.ts'

/** Longer names are no typos, and would be slow to compare. */
const MAX_NAME_LENGTH = 80

/** With more candidates no suggestion is searched, as that would be slow. */
const MAX_CANDIDATES = 200

/** The limit for node types is higher: graphs cannot choose them, and there is only one list. */
const MAX_TYPES = 2000

export interface TitledNodeType {
  readonly node_type: string
  readonly title: string
}

/** The limit of typos in one name: more are implausible, and long names would be slow to compare. */
const MAX_MISTAKES = 6

/** The largest accepted distance of a word. Very short words would otherwise match everything. */
function getMaxEdits(word: string): number {
  return word.length < 3 ? 0 : Math.min(MAX_MISTAKES, Math.max(1, Math.floor(word.length / 3)))
}

/** A name without differences of case and separators. */
function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** The namespace, or an empty text, and the name. */
function splitTypeName(type: string): [string, string] {
  const dot = type.lastIndexOf('.')
  return [type.slice(0, Math.max(dot, 0)), type.slice(dot + 1)]
}

/** The cost of an abbreviation, such as `sep` for `separator`. */
const ABBREVIATION_COST = 2

/** The edit distance regardless of case; infinite if it is too large. */
function rateDistance(written: string, meant: string): number {
  const most = getMaxEdits(written)
  const [a, b] = [written.toLowerCase(), meant.toLowerCase()]
  const far = computeEditDistance(a, b, most)
  if (a.length > 2 && b.startsWith(a)) return Math.min(far, ABBREVIATION_COST)
  return far > most ? Number.POSITIVE_INFINITY : far
}

/** The cost of the right name in a wrong namespace: less than two typos. */
const OTHER_NAMESPACE_COST = 1.5

/** The distance of a candidate from the written name. The namespace of a node type may be missing or wrong. */
function rateCandidate(squashed: string, [namespace, name]: [string, string], candidate: string): number {
  if (squashed !== '' && normalizeName(candidate) === squashed) return 0
  const [otherNamespace, other] = splitTypeName(candidate)
  const far = rateDistance(name, other)
  if (namespace === '' || far === Number.POSITIVE_INFINITY) return far
  const elsewhere = rateDistance(namespace, otherNamespace)
  return far === 0 ? Math.min(elsewhere, OTHER_NAMESPACE_COST) : far + elsewhere
}

/** All candidates with the smallest distance from the written name. */
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

/** The candidate that is nearest to the written name, the first of several, or null if none is near. */
export function findNearest(written: string, candidates: Iterable<string>): string | null {
  return findNearby(written, candidates)[0] ?? null
}

/** The words of a name or title, normalized and in alphabetical order. */
function sortWords(name: string): string {
  const words = name.match(/\p{Lu}*\p{Ll}+|\p{Lu}+|\p{N}+/gu) ?? []
  return words
    .map((word) => word.toLowerCase())
    .sort()
    .join(' ')
}

/** The node types whose title has the same words as the name: `input.Text` for the type titled "Text input". */
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

/** The limit of suggested names. */
const MAX_PROPOSED = 3

function formatQuestion(names: readonly string[]): string {
  const all = names.slice(0, MAX_PROPOSED).map((name) => `"${name}"`)
  const last = all.pop()
  return ` Did you mean ${all.length > 0 ? `${all.join(', ')} or ${last}` : last}?`
}

/** ` Did you mean "x"?`, or all names if there are few, or an empty text. */
export function suggestName(written: string, candidates: Iterable<string>): string {
  const names = collectNames(candidates, MAX_CANDIDATES)
  if (names === null) return ''
  const near = findNearby(written, names)
  if (near.length > 0) return formatQuestion(near)
  if (names.length === 1) return ` Available: ${quoteNames(names)}.`
  return names.length > 0 && names.length <= 8 ? ` Available: ${quoteNames(names)}.` : ''
}

/** Suggestions for one graph. The number of lookups is limited, as a hostile graph must not cost seconds. */
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

  /** The nearest name, or null. */
  findNearest(written: string, candidates: () => Iterable<string>): string | null {
    return this.#left-- > 0 ? findNearest(written, candidates()) : null
  }
}

/** The node types of a registry, with a limited number of suggestions. */
export function createNodeTypeLookup(registry: NodeRegistry): NodeTypeLookup {
  const hints = new NameSuggestions()
  return {
    get: (node_type) => registry.get(node_type),
    hint: (written) => hints.suggestType(written, registry.all()),
  }
}
