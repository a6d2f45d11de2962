// text.Case and text.Slug: change the case of texts, and turn titles into identifiers.
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { COST_PER_UNIT, lengthOfValue } from '../shared/firing-costs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { ensureTextLimit } from '../shared/value-limits.ts'
import { listMatches } from './string-functions.ts'

type Casing = 'upper' | 'lower' | 'title' | 'sentence' | 'snake' | 'kebab' | 'camel' | 'pascal' | 'constant'

function capitalize(word: string): string {
  const first = word.codePointAt(0)
  if (first === undefined) return ''
  const initial = String.fromCodePoint(first)
  return initial.toUpperCase() + word.slice(initial.length).toLowerCase()
}

/** The words of a text or an identifier. */
function splitWords(text: string): string[] {
  return listMatches(text, /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{L}\p{M}]+|\p{N}+/gu)
}

const CASINGS: Readonly<Record<Casing, (text: string) => string>> = {
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => text.replaceAll(/[\p{L}\p{N}'’]+/gu, capitalize),
  sentence: (text) => capitalize(text),
  snake: (text) => splitWords(text).join('_').toLowerCase(),
  kebab: (text) => splitWords(text).join('-').toLowerCase(),
  camel: (text) =>
    splitWords(text)
      .map((word, index) => (index === 0 ? word.toLowerCase() : capitalize(word)))
      .join(''),
  pascal: (text) => splitWords(text).map(capitalize).join(''),
  constant: (text) => splitWords(text).join('_').toUpperCase(),
}

/** The cost of a letter in casings that do not split words. */
const LETTER_COST = 20

function costOfCase({ text, to }: InputValues): number {
  const words = to !== 'upper' && to !== 'lower' && to !== 'sentence'
  return lengthOfValue(text) * (words ? COST_PER_UNIT : LETTER_COST)
}

/** In characters. A slug is made from the words at the beginning. */
const LONGEST_TITLE = 10_000

/** Letters that have no base form without their marks. */
const UNMARKED_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
}

/** Removes marks from letters: `Crème brûlée` becomes `creme brulee`. */
function foldLetters(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/[ßæœøđðþł]/g, (letter) => UNMARKED_LETTERS[letter]!)
}

interface SlugInputs {
  text: string
  separator: string
  length: number
  default: string
}

/** Whole words as far as they fit. Of a text that is too long for a title, only the beginning is used. */
function createSlug({ text, separator, length: most, default: otherwise }: SlugInputs): string {
  const words = listMatches(foldLetters(text.slice(0, LONGEST_TITLE)), /[\p{L}\p{N}]+/gu)
  let made = ''
  for (const word of words) {
    const longer = made === '' ? word : made + separator + word
    if (longer.length > most) break
    made = longer
  }
  if (words.length === 0) return otherwise
  return made === '' ? [...words[0]!].slice(0, most).join('') : made
}

export const caseNodes: NodeType[] = [
  {
    node_type: 'text.Case',
    title: 'Change case',
    description: 'Writes a text in uppercase, in lowercase, as a title, as a sentence, or as an identifier.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('to', createEnumType(...(Object.keys(CASINGS) as Casing[])), 'The case to write.', {
        default: 'lower',
      }),
    ],
    cost: costOfCase,
    outputs: [valueOutput('output', 'str')],
    run: ({ text, to }: { text: string; to: Casing }) => ({ output: ensureTextLimit(CASINGS[to](text)) }),
  },
  {
    node_type: 'text.Slug',
    title: 'Slug',
    description:
      'Makes a name for URLs and files from a title: lowercase letters without marks, digits, and separators for everything else.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('separator', 'str', 'The text between words.', { default: '-' }),
      optionalProperty('length', 'int', 'The most characters. Words are not cut unless the first is too long.', {
        default: 80,
        min: 1,
        max: 1000,
      }),
      optionalProperty('default', 'str', 'The result for a text without letters and digits.', { default: '' }),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'str')],
    run: (inputs) => ({ output: createSlug(inputs as unknown as SlugInputs) }),
  },
]
