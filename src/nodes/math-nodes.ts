// math.*: numbers. A result that is not a finite number is an error and never leaves a node.
import type { InputValues } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { getValueKind } from '../engine/node-api/values/type-conformance.ts'
import { createEnumType, parseType } from '../engine/node-api/values/type-metadata.ts'
import { resolveLocale } from './shared/date-locale.ts'
import { FORMULA_LANGUAGE } from './shared/formula/functions.ts'
import { type FormulaVariables, parseFormula } from './shared/formula/parser.ts'
import { memoizeByText } from './shared/memoize.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from './shared/node-type-builders.ts'
import { numberNotationOf, parseNumber } from './shared/number-parsing.ts'
import { abbreviate } from './shared/value-limits.ts'
import { ROUNDING_FUNCTIONS, type RoundingMode, requireFinite, roundDecimal } from './shared/value-operations.ts'

function readVariables(inputs: InputValues): FormulaVariables {
  const names: Record<string, number> = {}
  for (const [name, value] of Object.entries(inputs)) {
    if (typeof value === 'boolean') names[name] = value ? 1 : 0
    else if (typeof value === 'number') names[name] = value
    else {
      const what = typeof value === 'string' ? `${getValueKind(value)} ("${abbreviate(value)}")` : getValueKind(value)
      throw new NodeError(`Input "${abbreviate(name)}" is ${what}, but a formula takes numbers.`, 'bad_input')
    }
  }
  return names
}

const NOTATIONS = ['plain', 'percent', 'compact', 'scientific'] as const
type Notation = (typeof NOTATIONS)[number]

const numberFormatter = memoizeByText((key: string) => {
  const [locale, notation, least, most, grouping] = key.split(' ')
  return new Intl.NumberFormat(locale, {
    ...(notation === 'percent' ? { style: 'percent' } : {}),
    ...(notation === 'compact' || notation === 'scientific' ? { notation } : {}),
    minimumFractionDigits: Number(least),
    maximumFractionDigits: Math.max(Number(least), Number(most)),
    useGrouping: grouping === 'true' ? 'auto' : false,
  })
})

interface FormatNumberInputs {
  value: number
  min_digits: number
  max_digits: number
  notation: Notation
  grouping: boolean
  locale: string
}

function formatNumber({ value, min_digits, max_digits, notation, grouping, locale }: FormatNumberInputs): string {
  return numberFormatter([resolveLocale(locale), notation, min_digits, max_digits, grouping].join(' ')).format(value)
}

export const mathNodes: NodeType[] = [
  {
    node_type: 'math.Formula',
    title: 'Formula',
    description: `Calculates with its dynamic inputs by name. A formula takes ${FORMULA_LANGUAGE}.`,
    properties: [requiredProperty('formula', 'str', 'For instance `price * (1 + tax / 100)`.')],
    outputs: [valueOutput('output', 'float')],
    gives_all: true,
    expressions: { formula: parseFormula },
    converts: [typeConversion('bool', 'float', 'can count true as 1 and false as 0')],
    supports_dynamic_inputs: true,
    dynamic_input_type: parseType('union[float,bool]'),
    run: ({ formula, ...inputs }: InputValues & { formula: string }) => ({
      output: requireFinite(parseFormula(formula)(readVariables(inputs)), 'The result of the formula'),
    }),
  },
  {
    node_type: 'math.Round',
    title: 'Round',
    description: 'Rounds a number to some digits after the point; halves are rounded away from zero.',
    properties: [
      requiredProperty('value', 'float', 'The number.'),
      optionalProperty('digits', 'int', 'Digits after the point; negative ones round to tens or hundreds.', {
        default: 0,
        min: -15,
        max: 15,
      }),
      optionalProperty(
        'how',
        createEnumType(...(Object.keys(ROUNDING_FUNCTIONS) as RoundingMode[])),
        'The direction of rounding.',
        { default: 'nearest' },
      ),
    ],
    outputs: [valueOutput('output', 'float')],
    run: ({ value, digits, how }: { value: number; digits: number; how: RoundingMode }) => ({
      output: roundDecimal(value, digits, how),
    }),
  },
  {
    node_type: 'math.ParseNumber',
    title: 'Text to number',
    description:
      'Reads a number from a text such as `-12.5` or `3e8`, or in the notation of a language, such as `1.234,5` in `de`.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty(
        'locale',
        'str',
        'The language, such as `en` or `de-CH`; empty: only digits and a decimal point.',
        {
          default: '',
        },
      ),
      optionalProperty('default', 'float?', 'The result if the text is not a number. Without it the node fails.'),
    ],
    outputs: [valueOutput('output', 'float')],
    converts: [typeConversion('str', 'float', 'reads a number out of it')],
    run({ text, locale, default: otherwise }: { text: string; locale: string; default: number | null }) {
      const number = parseNumber(text, locale === '' ? null : numberNotationOf(locale))
      if (number !== null) return { output: requireFinite(number, 'The number') }
      if (otherwise === null) throw new NodeError(`The text "${abbreviate(text)}" is not a number.`, 'bad_input')
      return { output: otherwise }
    },
  },
  {
    node_type: 'math.FormatNumber',
    title: 'Write number',
    description: 'Writes a number in the notation of a language. Halves are rounded away from zero.',
    properties: [
      requiredProperty('value', 'float', 'The number.'),
      optionalProperty('min_digits', 'int', 'The fewest digits after the point.', { default: 0, min: 0, max: 20 }),
      optionalProperty(
        'max_digits',
        'int',
        'The most digits after the point. It is raised to min_digits if it is less.',
        {
          default: 3,
          min: 0,
          max: 20,
        },
      ),
      optionalProperty('notation', createEnumType(...NOTATIONS), 'How to write it; 0.25 in percent is `25%`.', {
        default: 'plain',
      }),
      optionalProperty('grouping', 'bool', 'Separates the thousands.', { default: true }),
      optionalProperty('locale', 'str', 'The language, such as `en` or `de-CH`.', { default: 'en' }),
    ],
    outputs: [valueOutput('output', 'str')],
    run: (inputs) => ({ output: formatNumber(inputs as unknown as FormatNumberInputs) }),
  },
]
