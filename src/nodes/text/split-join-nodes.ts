// text.Split, Join, Lines, Words and WordFrequency: turn texts into lists and back.
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from '../shared/node-type-builders.ts'
import { joinTexts, listLines, listWords, splitText } from './string-functions.ts'

const textProperty = () => requiredProperty('text', 'str', 'The text.')

function readWords(text: string, lower: boolean): string[] {
  return listWords(lower ? text.toLowerCase() : text)
}

/** The count of each word: the most frequent first, equal counts in order of first appearance. */
function countFrequencies(words: readonly string[]): { word: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].map(([word, count]) => ({ word, count })).sort((a, b) => b.count - a.count)
}

export const textSplitJoinNodes: NodeType[] = [
  {
    node_type: 'text.Split',
    title: 'Split text',
    description: 'Splits a text at a separator. An empty separator splits it into characters. At most a million parts.',
    properties: [
      textProperty(),
      optionalProperty('separator', 'str', 'The text at which to split.', { default: ',' }),
      optionalProperty('trim', 'bool', 'Removes white space from both ends of each part.', { default: false }),
      optionalProperty('drop_empty', 'bool', 'Skips empty parts.', { default: false }),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'list[str]')],
    run({
      text,
      separator,
      trim,
      drop_empty,
    }: {
      text: string
      separator: string
      trim: boolean
      drop_empty: boolean
    }) {
      const parts = splitText(text, separator)
      const cut = trim ? parts.map((part) => part.trim()) : parts
      return { output: drop_empty ? cut.filter((part) => part !== '') : cut }
    },
  },
  {
    node_type: 'text.Join',
    title: 'Join texts',
    description: 'Joins the items of a list into a text, with a separator between. At most 10 million characters.',
    properties: [
      requiredProperty('list', 'list[any]', 'The items.'),
      optionalProperty('separator', 'str', 'The text between items.', { default: '' }),
    ],
    outputs: [valueOutput('output', 'str')],
    gives_all: true,
    converts: [typeConversion('list', 'str', 'makes one text of the items')],
    run: ({ list, separator }: { list: unknown[]; separator: string }) => ({
      output: joinTexts(list, separator),
    }),
  },
  {
    node_type: 'text.Lines',
    title: 'Lines of text',
    description: 'Splits a text into its lines, with any line endings. A line ending at the end adds no empty line.',
    properties: [
      textProperty(),
      optionalProperty('drop_empty', 'bool', 'Skips lines with only white space.', { default: false }),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'list[str]')],
    run({ text, drop_empty }: { text: string; drop_empty: boolean }) {
      const lines = listLines(text)
      return { output: drop_empty ? lines.filter((line) => line.trim() !== '') : lines }
    },
  },
  {
    node_type: 'text.Words',
    title: 'Words of text',
    description: 'Gives the words of a text in their order, without punctuation.',
    properties: [
      textProperty(),
      optionalProperty('lower', 'bool', 'Writes the words in lowercase.', { default: false }),
    ],
    outputs: [valueOutput('output', 'list[str]')],
    run: ({ text, lower }: { text: string; lower: boolean }) => ({
      output: readWords(text, lower),
    }),
  },
  {
    node_type: 'text.WordFrequency',
    title: 'Word frequency',
    description:
      'Counts the words of a text: a list of {word, count}, the most frequent first, the number of different words, and the total.',
    properties: [
      textProperty(),
      optionalProperty('lower', 'bool', 'Ignores upper and lower case.', { default: true }),
      optionalProperty('most', 'int?', 'The most words to list. Without it: all.', { min: 0 }),
    ],
    outputs: [
      valueOutput('output', 'list[dict[str,any]]'),
      valueOutput('different', 'int'),
      valueOutput('total', 'int'),
    ],
    run({ text, lower, most }: { text: string; lower: boolean; most: number | null }) {
      const all = readWords(text, lower)
      const found = countFrequencies(all)
      return { output: found.slice(0, most ?? found.length), different: found.length, total: all.length }
    },
  },
]
