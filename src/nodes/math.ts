// math.*: numbers. A result that is no finite number is an error and never leaves a node.
import { type Inputs, NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf, t } from '../engine/types.ts'
import { kindOf } from '../engine/values.ts'
import { localeOf } from './date-words.ts'
import { conversion, option, output, required } from './define.ts'
import { formulaOf, type Names } from './formula.ts'
import { FORMULA_LANGUAGE } from './formula-functions.ts'
import { shown } from './limits.ts'
import { memo } from './memo.ts'
import { numberFormOf, readNumber } from './number-text.ts'
import { finite, ROUNDINGS, type Rounding, round } from './values.ts'

function numbers(inputs: Inputs): Names {
  const names: Record<string, number> = {}
  for (const [name, value] of Object.entries(inputs)) {
    if (typeof value === 'boolean') names[name] = value ? 1 : 0
    else if (typeof value === 'number') names[name] = value
    else {
      const what = typeof value === 'string' ? `${kindOf(value)} ("${shown(value)}")` : kindOf(value)
      throw new NodeError(`Input "${shown(name)}" is ${what}, and a formula takes numbers.`, 'bad_input')
    }
  }
  return names
}

const NOTATIONS = ['plain', 'percent', 'compact', 'scientific'] as const
type Notation = (typeof NOTATIONS)[number]

const numberFormat = memo((key: string) => {
  const [locale, notation, least, most, grouping] = key.split(' ')
  return new Intl.NumberFormat(locale, {
    ...(notation === 'percent' ? { style: 'percent' } : {}),
    ...(notation === 'compact' || notation === 'scientific' ? { notation } : {}),
    minimumFractionDigits: Number(least),
    maximumFractionDigits: Math.max(Number(least), Number(most)),
    useGrouping: grouping === 'true' ? 'auto' : false,
  })
})

interface Writing {
  value: number
  min_digits: number
  max_digits: number
  notation: Notation
  grouping: boolean
  locale: string
}

function write({ value, min_digits, max_digits, notation, grouping, locale }: Writing): string {
  return numberFormat([localeOf(locale), notation, min_digits, max_digits, grouping].join(' ')).format(value)
}

export const mathNodes: NodeType[] = [
  {
    node_type: 'math.Formula',
    title: 'Formula',
    description: `Calculates with its dynamic inputs by name. A formula takes ${FORMULA_LANGUAGE}.`,
    properties: [required('formula', 'str', 'For instance `price * (1 + tax / 100)`.')],
    outputs: [output('output', 'float')],
    gives_all: true,
    expressions: { formula: formulaOf },
    converts: [conversion('bool', 'float', 'can count true as 1 and false as 0')],
    supports_dynamic_inputs: true,
    dynamic_input_type: t('union[float,bool]'),
    run: ({ formula, ...inputs }: Inputs & { formula: string }) => ({
      output: finite(formulaOf(formula)(numbers(inputs)), 'The result of the formula'),
    }),
  },
  {
    node_type: 'math.Round',
    title: 'Round',
    description: 'Rounds a number to some digits after the point; halves go away from zero.',
    properties: [
      required('value', 'float', 'The number.'),
      option('digits', 'int', 'Digits after the point; negative ones round to tens or hundreds.', {
        default: 0,
        min: -15,
        max: 15,
      }),
      option('how', oneOf(...(Object.keys(ROUNDINGS) as Rounding[])), 'In which direction.', { default: 'nearest' }),
    ],
    outputs: [output('output', 'float')],
    run: ({ value, digits, how }: { value: number; digits: number; how: Rounding }) => ({
      output: round(value, digits, how),
    }),
  },
  {
    node_type: 'math.ParseNumber',
    title: 'Text to number',
    description:
      'Reads a number out of a text such as `-12.5` or `3e8`, or as people of a language write it, such as `1.234,5` in `de`.',
    properties: [
      required('text', 'str', 'The text.'),
      option('locale', 'str', 'The language, such as `en` or `de-CH`; empty: digits and a decimal point alone.', {
        default: '',
      }),
      option('default', 'float?', 'What to give where the text is no number; without it that is an error.'),
    ],
    outputs: [output('output', 'float')],
    converts: [conversion('str', 'float', 'reads a number out of it')],
    run({ text, locale, default: otherwise }: { text: string; locale: string; default: number | null }) {
      const number = readNumber(text, locale === '' ? null : numberFormOf(locale))
      if (number !== null) return { output: finite(number, 'The number') }
      if (otherwise === null) throw new NodeError(`The text "${shown(text)}" is no number.`, 'bad_input')
      return { output: otherwise }
    },
  },
  {
    node_type: 'math.FormatNumber',
    title: 'Write number',
    description: 'Writes a number as people of a language do. Halves are rounded away from zero.',
    properties: [
      required('value', 'float', 'The number.'),
      option('min_digits', 'int', 'The fewest digits after the point.', { default: 0, min: 0, max: 20 }),
      option('max_digits', 'int', 'The most digits after the point; never fewer than the fewest.', {
        default: 3,
        min: 0,
        max: 20,
      }),
      option('notation', oneOf(...NOTATIONS), 'How to write it; 0.25 in percent is `25%`.', { default: 'plain' }),
      option('grouping', 'bool', 'Parts the thousands.', { default: true }),
      option('locale', 'str', 'The language, such as `en` or `de-CH`.', { default: 'en' }),
    ],
    outputs: [output('output', 'str')],
    run: (inputs) => ({ output: write(inputs as unknown as Writing) }),
  },
]
