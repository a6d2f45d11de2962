// text.*: make, cut and search texts. Lists of parts are in split-join-nodes.ts, cases in case-and-slug-nodes.ts, patterns in
// regex-nodes.ts.
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
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

/** `first` is the first position of the part, or −1. */
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
      'Replaces `{{name}}` with the dynamic input of that name, and `{{name.key[0]}}` with a value inside it. At most 10 million characters.',
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
    description: 'Writes any value as a text: lists and objects as JSON, and null as an empty text.',
    properties: [optionalProperty('value', 'any', 'The value.')],
    outputs: [resultOutput()],
    gives_all: true,
    converts: [typeConversion('union[str,int,float,bool,list,dict]', 'str', 'writes it as a text')],
    run: ({ value }) => ({ output: ensureTextLimit(toText(value)) }),
  },
  {
    node_type: 'text.Replace',
    title: 'Replace',
    description: 'Replaces every occurrence of a text with another text.',
    properties: [
      textProperty(),
      optionalProperty('find', 'str', 'The text to look for. An empty text is never found.', { default: '' }),
      optionalProperty('replacement', 'str', 'The text to insert instead.', { default: '' }),
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
    description: 'Removes white space from the ends of a text.',
    properties: [
      textProperty(),
      optionalProperty('side', createEnumType(...keysOf(TRIMS)), 'The end to trim.', { default: 'both' }),
      optionalProperty('collapse', 'bool', 'Replaces each run of white space inside with one space.', {
        default: false,
      }),
    ],
    cost: costOfTrim,
    outputs: [resultOutput()],
    run({ text, side, collapse }: { text: string; side: Side; collapse: boolean }) {
      const trimmed = TRIMS[side](text)
      // `replaceAll` gives a string of as many pieces as replacements, which takes 32 times its length in memory.
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
      'Gives the characters from one position up to, but not including, another. Negative positions count from the end.',
    properties: [
      textProperty(),
      optionalProperty('start', 'int', 'The first position.', { default: 0 }),
      optionalProperty('end', 'int?', 'The position after the last character. Without it: the end of the text.'),
    ],
    outputs: [resultOutput()],
    run: ({ text, start, end }: { text: string; start: number; end: number | null }) => ({
      output: sliceText(text, start, end),
    }),
  },
  {
    node_type: 'text.Contains',
    title: 'Text contains',
    description:
      'Tells whether a text contains, begins with or ends with another, and the first position of that (−1: none).',
    properties: [
      textProperty(),
      optionalProperty('part', 'str', 'The text to look for.', { default: '' }),
      optionalProperty('where', createEnumType(...keysOf(PLACE_TESTS)), 'The position that is required.', {
        default: 'anywhere',
      }),
      optionalProperty('ignore_case', 'bool', 'Ignores upper and lower case.', { default: false }),
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
      optionalProperty('side', createEnumType('start', 'end'), 'The side to fill.', { default: 'end' }),
      optionalProperty('fill', 'str', 'The text to fill with.', { default: ' ' }),
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
      requiredProperty('times', 'int', 'The number of repetitions.', { min: 0, max: 1_000_000 }),
      optionalProperty('separator', 'str', 'The text between repetitions.', { default: '' }),
    ],
    cost: costOfRepeat,
    outputs: [resultOutput()],
    run({ text, times, separator }: { text: string; times: number; separator: string }) {
      guardTextLength((text.length + separator.length) * times)
      return { output: Array.from({ length: times }, () => text).join(separator) }
    },
  },
]
