// text.Similarity: how similar two texts are, by characters. Edit distances come from fastest-levenshtein.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { COST_PER_UNIT, costOfPairs, lengthOfValue } from '../shared/firing-costs.ts'
import { similarityLibrary } from '../shared/lazy-libraries.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'

/** In characters. Longer texts must be compared in parts. */
const LONGEST_COMPARED = 1_000_000

/** In pairs of characters, of which the edit distance compares 32 at once: some 30,000 characters against as many. */
const MOST_PAIRS = 1_000_000_000

const MOST_UNITS = 0xffff

type Characters = readonly string[]

interface SimilarityOutputs {
  /** From 0, nothing in common, to 1, the same. */
  score: number
  /** The number of edits, if the method counts them. */
  distance?: number
}

/** Two texts with one code unit for each character. Equal characters have equal units. */
function encodeAsUnits(a: Characters, b: Characters): [string, string] {
  const codes = new Map<string, string>()
  const unit = (character: string) => {
    const known = codes.get(character)
    if (known !== undefined) return known
    if (codes.size > MOST_UNITS) throw new NodeError('The texts have too many different characters.', 'too_large')
    const code = String.fromCharCode(codes.size)
    codes.set(character, code)
    return code
  }
  return [a.map(unit).join(''), b.map(unit).join('')]
}

function levenshtein(a: Characters, b: Characters): SimilarityOutputs {
  if (a.length * b.length > MOST_PAIRS) {
    const message = 'The texts are too long for an edit distance: together at most about 60,000 characters.'
    throw new NodeError(`${message} Compare parts of them, or use another method.`, 'too_large')
  }
  const edits = similarityLibrary().distance(...encodeAsUnits(a, b))
  return { score: 1 - edits / Math.max(a.length, b.length), distance: edits }
}

function indexPositions(characters: Characters): Map<string, number[]> {
  const found = new Map<string, number[]>()
  characters.forEach((character, at) => {
    const known = found.get(character)
    if (known) known.push(at)
    else found.set(character, [at])
  })
  return found
}

/**
 * The characters that both texts have within reach, in the order of each text. Each character takes the first free position within reach.
 * Positions that left the reach never return, so one pointer per character is enough.
 */
function findCommonCharacters(a: Characters, b: Characters): [string[], string[]] {
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1)
  const where = indexPositions(b)
  const pointers = new Map<string, number>()
  const matched: string[] = []
  const taken: number[] = []
  a.forEach((character, at) => {
    const free = where.get(character)
    if (!free) return
    let next = pointers.get(character) ?? 0
    while (next < free.length && free[next]! < at - reach) next++
    if (next < free.length && free[next]! <= at + reach) {
      matched.push(character)
      taken.push(free[next]!)
      next++
    }
    pointers.set(character, next)
  })
  return [matched, taken.sort((one, other) => one - other).map((at) => b[at]!)]
}

const LONGEST_PREFIX = 4
const PREFIX_WEIGHT = 0.1

function jaroWinkler(a: Characters, b: Characters): SimilarityOutputs {
  const [ofA, ofB] = findCommonCharacters(a, b)
  const matches = ofA.length
  if (matches === 0) return { score: 0 }
  const transposed = ofA.filter((character, at) => character !== ofB[at]).length / 2
  const jaro = (matches / a.length + matches / b.length + (matches - transposed) / matches) / 3
  let prefix = 0
  while (prefix < LONGEST_PREFIX && prefix < a.length && a[prefix] === b[prefix]) prefix++
  return { score: jaro + prefix * PREFIX_WEIGHT * (1 - jaro) }
}

function listBigrams(characters: Characters): string[] {
  return characters.slice(1).map((character, at) => characters[at] + character)
}

/** Twice the number of shared pairs of neighbours, divided by the number of all pairs. */
function diceCoefficient(a: Characters, b: Characters): SimilarityOutputs {
  const [ofA, ofB] = [listBigrams(a), listBigrams(b)]
  if (ofA.length + ofB.length === 0) return { score: 0 }
  const counts = new Map<string, number>()
  for (const pair of ofA) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  let shared = 0
  for (const pair of ofB) {
    const left = counts.get(pair) ?? 0
    if (left === 0) continue
    counts.set(pair, left - 1)
    shared++
  }
  return { score: (2 * shared) / (ofA.length + ofB.length) }
}

type Method = 'levenshtein' | 'jaro_winkler' | 'dice'

const METHODS: Readonly<Record<Method, (a: Characters, b: Characters) => SimilarityOutputs>> = {
  levenshtein,
  jaro_winkler: jaroWinkler,
  dice: diceCoefficient,
}

function measureSimilarity(a: string, b: string, method: Method): SimilarityOutputs {
  if (a.length > LONGEST_COMPARED || b.length > LONGEST_COMPARED) {
    throw new NodeError('A text has more than 1,000,000 characters. Compare parts of it.', 'too_large')
  }
  if (a === b) return method === 'levenshtein' ? { score: 1, distance: 0 } : { score: 1 }
  return METHODS[method]([...a], [...b])
}

export const similarityNodes: NodeType[] = [
  {
    node_type: 'text.Similarity',
    title: 'Similarity of texts',
    description:
      'Measures how similar two texts are, from 0 to 1: by edits (Levenshtein, which also gives their number), by letters at similar positions (Jaro–Winkler, for names), or by pairs of letters (Dice).',
    properties: [
      requiredProperty('a', 'str', 'One text.'),
      requiredProperty('b', 'str', 'The other text.'),
      optionalProperty('method', createEnumType(...(Object.keys(METHODS) as Method[])), 'How to compare.', {
        default: 'levenshtein',
      }),
    ],
    cost: ({ a, b }) => costOfPairs(a, b, 0.5) + (lengthOfValue(a) + lengthOfValue(b)) * COST_PER_UNIT,
    outputs: [valueOutput('score', 'float'), valueOutput('distance', 'int')],
    run: ({ a, b, method }: { a: string; b: string; method: Method }) => ({ ...measureSimilarity(a, b, method) }),
  },
]
