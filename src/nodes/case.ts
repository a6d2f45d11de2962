// text.Case and text.Slug: letters, and the words of identifiers and titles, written in another way.
import type { Inputs, NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { lengthOf, UNIT } from './costs.ts'
import { option, output, required } from './define.ts'
import { textWithin } from './limits.ts'
import { matches } from './text-parts.ts'

type Casing = 'upper' | 'lower' | 'title' | 'sentence' | 'snake' | 'kebab' | 'camel' | 'pascal' | 'constant'

function capital(word: string): string {
  const first = word.codePointAt(0)
  if (first === undefined) return ''
  const initial = String.fromCodePoint(first)
  return initial.toUpperCase() + word.slice(initial.length).toLowerCase()
}

/** The words of a text or an identifier. */
function words(text: string): string[] {
  return matches(text, /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{L}\p{M}]+|\p{N}+/gu)
}

const CASINGS: Readonly<Record<Casing, (text: string) => string>> = {
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => text.replaceAll(/[\p{L}\p{N}'’]+/gu, capital),
  sentence: (text) => capital(text),
  snake: (text) => words(text).join('_').toLowerCase(),
  kebab: (text) => words(text).join('-').toLowerCase(),
  camel: (text) =>
    words(text)
      .map((word, index) => (index === 0 ? word.toLowerCase() : capital(word)))
      .join(''),
  pascal: (text) => words(text).map(capital).join(''),
  constant: (text) => words(text).join('_').toUpperCase(),
}

/** A letter that is written in another way, where its word is not looked for. */
const LETTER = 20

function costOfCase({ text, to }: Inputs): number {
  const words = to !== 'upper' && to !== 'lower' && to !== 'sentence'
  return lengthOf(text) * (words ? UNIT : LETTER)
}

/** In characters; a slug comes out of the words at the beginning. */
const LONGEST_TITLE = 10_000

/** Letters that have no form without their marks. */
const PLAIN: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l' }

/** What takes part in words, without marks: `Crème brûlée` is `creme brulee`. */
function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/[ßæœøđðþł]/g, (letter) => PLAIN[letter]!)
}

interface Slug {
  text: string
  separator: string
  length: number
  default: string
}

/** Words as far as they fit. Titles are short: of a longer text only the beginning is looked at. */
function slug({ text, separator, length: most, default: otherwise }: Slug): string {
  const words = matches(plain(text.slice(0, LONGEST_TITLE)), /[\p{L}\p{N}]+/gu)
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
    description:
      'Writes a text in capitals (uppercase), small letters (lowercase), as a title, as a sentence, or as an identifier.',
    properties: [
      required('text', 'str', 'The text.'),
      option('to', oneOf(...(Object.keys(CASINGS) as Casing[])), 'How to write it.', { default: 'lower' }),
    ],
    cost: costOfCase,
    outputs: [output('output', 'str')],
    run: ({ text, to }: { text: string; to: Casing }) => ({ output: textWithin(CASINGS[to](text)) }),
  },
  {
    node_type: 'text.Slug',
    title: 'Slug',
    description:
      'Makes a name for addresses and files out of a title: small letters without marks and digits, all else as a separator.',
    properties: [
      required('text', 'str', 'The text.'),
      option('separator', 'str', 'What to put between words.', { default: '-' }),
      option('length', 'int', 'How many characters it may have; words are not cut unless the first is too long.', {
        default: 80,
        min: 1,
        max: 1000,
      }),
      option('default', 'str', 'What to give for a text without letters and digits.', { default: '' }),
    ],
    cost: 10,
    outputs: [output('output', 'str')],
    run: (inputs) => ({ output: slug(inputs as unknown as Slug) }),
  },
]
