// text.*: making, cutting and looking through texts. Lists of their parts are in text-lists.ts, letters
// in case.ts, patterns in regex.ts.
import type { Inputs, NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { costOfPad, costOfRepeat, costOfTrim } from './costs.ts'
import { conversion, option, output, required } from './define.ts'
import { guardText, textWithin } from './limits.ts'
import { fill, unknownName } from './template.ts'
import { characters, countLines, countWords, occurrences, part, replaced } from './text-parts.ts'
import { search } from './text-search.ts'
import { toText } from './values.ts'

type Side = 'both' | 'start' | 'end'

const TRIMS: Readonly<Record<Side, (text: string) => string>> = {
  both: (text) => text.trim(),
  start: (text) => text.trimStart(),
  end: (text) => text.trimEnd(),
}

type Place = 'anywhere' | 'start' | 'end'

/** `first` is where the part is found first. */
const SEARCHES: Readonly<Record<Place, (text: string, part: string, first: number) => boolean>> = {
  anywhere: (_text, _part, first) => first >= 0,
  start: (_text, _part, first) => first === 0,
  end: (text, part) => text.endsWith(part),
}

function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[]
}

const text = () => required('text', 'str', 'The text.')
const result = () => output('output', 'str')

export const textNodes: NodeType[] = [
  {
    node_type: 'text.Template',
    title: 'Template',
    description:
      'Fills `{{name}}` with the dynamic input of that name; `{{name.key[0]}}` looks inside of it. At most 10 million characters.',
    properties: [required('template', 'str', 'The text with its placeholders.')],
    outputs: [result()],
    gives_all: true,
    supports_dynamic_inputs: true,
    unknownName,
    run: ({ template, ...inputs }: Inputs & { template: string }) => ({
      output: fill(template, inputs),
    }),
  },
  {
    node_type: 'text.Concat',
    title: 'Join two texts',
    description: 'Puts one text behind another.',
    properties: [
      option('a', 'str', 'The first text.', { default: '' }),
      option('b', 'str', 'The second text.', { default: '' }),
    ],
    cost: 0,
    outputs: [result()],
    gives_all: true,
    run: ({ a, b }: { a: string; b: string }) => ({ output: textWithin(a + b) }),
  },
  {
    node_type: 'text.FromValue',
    title: 'Value to text',
    description: 'Writes any value as a text: lists and objects as JSON, nothing as an empty text.',
    properties: [option('value', 'any', 'The value.')],
    outputs: [result()],
    gives_all: true,
    converts: [conversion('union[str,int,float,bool,list,dict]', 'str', 'writes it as a text')],
    run: ({ value }) => ({ output: textWithin(toText(value)) }),
  },
  {
    node_type: 'text.Replace',
    title: 'Replace',
    description: 'Puts another text in the place of each one that is found.',
    properties: [
      text(),
      option('find', 'str', 'The text to look for; an empty one is found nowhere.', { default: '' }),
      option('replacement', 'str', 'What to put in its place.', { default: '' }),
    ],
    outputs: [result(), output('count', 'int')],
    gives_all: true,
    run({ text, find, replacement }: { text: string; find: string; replacement: string }) {
      if (find === '') return { output: text, count: 0 }
      const count = occurrences(text, find)
      guardText(text.length + count * (replacement.length - find.length))
      return { output: replaced(text, find, replacement), count }
    },
  },
  {
    node_type: 'text.Trim',
    title: 'Trim',
    description: 'Takes white space off the ends of a text.',
    properties: [
      text(),
      option('side', oneOf(...keysOf(TRIMS)), 'Which end.', { default: 'both' }),
      option('collapse', 'bool', 'Makes one space of all white space inside.', { default: false }),
    ],
    cost: costOfTrim,
    outputs: [result()],
    run({ text, side, collapse }: { text: string; side: Side; collapse: boolean }) {
      const trimmed = TRIMS[side](text)
      // `replaceAll` gives a text of as many pieces as it replaces, which takes 32 times its length of memory.
      return { output: collapse ? trimmed.split(/\s+/).join(' ') : trimmed }
    },
  },
  {
    node_type: 'text.Length',
    title: 'Length of text',
    description: 'Counts the characters of a text, and its words and lines as text.Words and text.Lines give them.',
    properties: [text()],
    outputs: [output('output', 'int'), output('words', 'int'), output('lines', 'int')],
    run: ({ text }: { text: string }) => ({
      output: characters(text),
      words: countWords(text),
      lines: countLines(text),
    }),
  },
  {
    node_type: 'text.Slice',
    title: 'Part of text',
    description:
      'Gives the characters from one place up to, not including, another. Negative places count from the end.',
    properties: [
      text(),
      option('start', 'int', 'The first place.', { default: 0 }),
      option('end', 'int?', 'The place after the last; without it the end of the text.'),
    ],
    outputs: [result()],
    run: ({ text, start, end }: { text: string; start: number; end: number | null }) => ({
      output: part(text, start, end),
    }),
  },
  {
    node_type: 'text.Contains',
    title: 'Text contains',
    description: 'Says whether a text holds, begins with or ends with another, and where it is first (−1: nowhere).',
    properties: [
      text(),
      option('part', 'str', 'The text to look for.', { default: '' }),
      option('where', oneOf(...keysOf(SEARCHES)), 'Where it must be.', { default: 'anywhere' }),
      option('ignore_case', 'bool', 'Takes capital and small letters as the same.', { default: false }),
    ],
    cost: 2,
    outputs: [output('output', 'bool'), output('index', 'int')],
    run({ text, part, where, ignore_case }: { text: string; part: string; where: Place; ignore_case: boolean }) {
      const whole = ignore_case ? text.toLowerCase() : text
      const piece = ignore_case ? part.toLowerCase() : part
      const index = search(whole, piece)
      return { output: SEARCHES[where](whole, piece, index), index }
    },
  },
  {
    node_type: 'text.Pad',
    title: 'Pad',
    description: 'Fills a text up to a length.',
    properties: [
      text(),
      required('length', 'int', 'The length to reach, in characters.', { min: 0, max: 100_000 }),
      option('side', oneOf('start', 'end'), 'Where to fill.', { default: 'end' }),
      option('fill', 'str', 'What to fill with.', { default: ' ' }),
    ],
    cost: costOfPad,
    outputs: [result()],
    run({ text, length, side, fill }: { text: string; length: number; side: 'start' | 'end'; fill: string }) {
      return { output: side === 'start' ? text.padStart(length, fill) : text.padEnd(length, fill) }
    },
  },
  {
    node_type: 'text.Repeat',
    title: 'Repeat',
    description: 'Writes a text several times, with a separator between. At most 10 million characters.',
    properties: [
      text(),
      required('times', 'int', 'How often.', { min: 0, max: 1_000_000 }),
      option('separator', 'str', 'What to put between.', { default: '' }),
    ],
    cost: costOfRepeat,
    outputs: [result()],
    run({ text, times, separator }: { text: string; times: number; separator: string }) {
      guardText((text.length + separator.length) * times)
      return { output: Array.from({ length: times }, () => text).join(separator) }
    },
  },
]
