// text.*: making, cutting and looking through texts. Lists of their parts are in text-lists.ts, letters
// in case.ts, patterns in regex.ts.
import type { InputValues, NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { costOfPad, costOfRepeat, costOfTrim } from '../shared/firing-costs.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from '../shared/node-type-builders.ts'
import { fillTemplate, findUnknownName } from '../shared/template.ts'
import { findText } from '../shared/text-search.ts'
import { ensureTextLimit, guardTextLength } from '../shared/value-limits.ts'
import { toText } from '../shared/value-operations.ts'
import {
  countCharacters,
  countLines,
  countOccurrences,
  countWords,
  replaceText,
  sliceText,
} from './string-functions.ts'

type Side = 'both' | 'start' | 'end'

const TRIMS: Readonly<Record<Side, (text: string) => string>> = {
  both: (text) => text.trim(),
  start: (text) => text.trimStart(),
  end: (text) => text.trimEnd(),
}

type MatchPlace = 'anywhere' | 'start' | 'end'

/** `first` is where the part is found first. */
const PLACE_TESTS: Readonly<Record<MatchPlace, (text: string, part: string, first: number) => boolean>> = {
  anywhere: (_text, _part, first) => first >= 0,
  start: (_text, _part, first) => first === 0,
  end: (text, part) => text.endsWith(part),
}

function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[]
}

const textProperty = () => requiredProperty('text', 'str', 'The text.')
const resultOutput = () => valueOutput('output', 'str')

export const textEditingNodes: NodeType[] = [
  {
    node_type: 'text.Template',
    title: 'Template',
    description:
      'Fills `{{name}}` with the dynamic input of that name; `{{name.key[0]}}` looks inside of it. At most 10 million characters.',
    properties: [requiredProperty('template', 'str', 'The text with its placeholders.')],
    outputs: [resultOutput()],
    gives_all: true,
    supports_dynamic_inputs: true,
    unknownName: findUnknownName,
    run: ({ template, ...inputs }: InputValues & { template: string }) => ({
      output: fillTemplate(template, inputs),
    }),
  },
  {
    node_type: 'text.Concat',
    title: 'Join two texts',
    description: 'Puts one text behind another.',
    properties: [
      optionalProperty('a', 'str', 'The first text.', { default: '' }),
      optionalProperty('b', 'str', 'The second text.', { default: '' }),
    ],
    cost: 0,
    outputs: [resultOutput()],
    gives_all: true,
    run: ({ a, b }: { a: string; b: string }) => ({ output: ensureTextLimit(a + b) }),
  },
  {
    node_type: 'text.FromValue',
    title: 'Value to text',
    description: 'Writes any value as a text: lists and objects as JSON, nothing as an empty text.',
    properties: [optionalProperty('value', 'any', 'The value.')],
    outputs: [resultOutput()],
    gives_all: true,
    converts: [typeConversion('union[str,int,float,bool,list,dict]', 'str', 'writes it as a text')],
    run: ({ value }) => ({ output: ensureTextLimit(toText(value)) }),
  },
  {
    node_type: 'text.Replace',
    title: 'Replace',
    description: 'Puts another text in the place of each one that is found.',
    properties: [
      textProperty(),
      optionalProperty('find', 'str', 'The text to look for; an empty one is found nowhere.', { default: '' }),
      optionalProperty('replacement', 'str', 'What to put in its place.', { default: '' }),
    ],
    outputs: [resultOutput(), valueOutput('count', 'int')],
    gives_all: true,
    run({ text, find, replacement }: { text: string; find: string; replacement: string }) {
      if (find === '') return { output: text, count: 0 }
      const count = countOccurrences(text, find)
      guardTextLength(text.length + count * (replacement.length - find.length))
      return { output: replaceText(text, find, replacement), count }
    },
  },
  {
    node_type: 'text.Trim',
    title: 'Trim',
    description: 'Takes white space off the ends of a text.',
    properties: [
      textProperty(),
      optionalProperty('side', createEnumType(...keysOf(TRIMS)), 'Which end.', { default: 'both' }),
      optionalProperty('collapse', 'bool', 'Makes one space of all white space inside.', { default: false }),
    ],
    cost: costOfTrim,
    outputs: [resultOutput()],
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
    properties: [textProperty()],
    outputs: [valueOutput('output', 'int'), valueOutput('words', 'int'), valueOutput('lines', 'int')],
    run: ({ text }: { text: string }) => ({
      output: countCharacters(text),
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
      textProperty(),
      optionalProperty('start', 'int', 'The first place.', { default: 0 }),
      optionalProperty('end', 'int?', 'The place after the last; without it the end of the text.'),
    ],
    outputs: [resultOutput()],
    run: ({ text, start, end }: { text: string; start: number; end: number | null }) => ({
      output: sliceText(text, start, end),
    }),
  },
  {
    node_type: 'text.Contains',
    title: 'Text contains',
    description: 'Says whether a text holds, begins with or ends with another, and where it is first (−1: nowhere).',
    properties: [
      textProperty(),
      optionalProperty('part', 'str', 'The text to look for.', { default: '' }),
      optionalProperty('where', createEnumType(...keysOf(PLACE_TESTS)), 'Where it must be.', { default: 'anywhere' }),
      optionalProperty('ignore_case', 'bool', 'Takes capital and small letters as the same.', { default: false }),
    ],
    cost: 2,
    outputs: [valueOutput('output', 'bool'), valueOutput('index', 'int')],
    run({ text, part, where, ignore_case }: { text: string; part: string; where: MatchPlace; ignore_case: boolean }) {
      const whole = ignore_case ? text.toLowerCase() : text
      const piece = ignore_case ? part.toLowerCase() : part
      const index = findText(whole, piece)
      return { output: PLACE_TESTS[where](whole, piece, index), index }
    },
  },
  {
    node_type: 'text.Pad',
    title: 'Pad',
    description: 'Fills a text up to a length.',
    properties: [
      textProperty(),
      requiredProperty('length', 'int', 'The length to reach, in characters.', { min: 0, max: 100_000 }),
      optionalProperty('side', createEnumType('start', 'end'), 'Where to fill.', { default: 'end' }),
      optionalProperty('fill', 'str', 'What to fill with.', { default: ' ' }),
    ],
    cost: costOfPad,
    outputs: [resultOutput()],
    run({ text, length, side, fill }: { text: string; length: number; side: 'start' | 'end'; fill: string }) {
      return { output: side === 'start' ? text.padStart(length, fill) : text.padEnd(length, fill) }
    },
  },
  {
    node_type: 'text.Repeat',
    title: 'Repeat',
    description: 'Writes a text several times, with a separator between. At most 10 million characters.',
    properties: [
      textProperty(),
      requiredProperty('times', 'int', 'How often.', { min: 0, max: 1_000_000 }),
      optionalProperty('separator', 'str', 'What to put between.', { default: '' }),
    ],
    cost: costOfRepeat,
    outputs: [resultOutput()],
    run({ text, times, separator }: { text: string; times: number; separator: string }) {
      guardTextLength((text.length + separator.length) * times)
      return { output: Array.from({ length: times }, () => text).join(separator) }
    },
  },
]
