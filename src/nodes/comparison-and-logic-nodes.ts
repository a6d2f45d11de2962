// compare.* and logic.*: questions whose answer is true or false.
import type { InputValues } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { getValueKind } from '../engine/node-api/values/type-conformance.ts'
import { createEnumType } from '../engine/node-api/values/type-metadata.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from './shared/node-type-builders.ts'
import { abbreviate, type StepBudget } from './shared/value-limits.ts'
import { areEqual, compareValues } from './shared/value-operations.ts'

export type ComparisonOperator = '==' | '!=' | '<' | '<=' | '>' | '>='

export const COMPARISON_OPERATORS: Readonly<
  Record<ComparisonOperator, (a: unknown, b: unknown, spend?: StepBudget) => boolean>
> = {
  '==': areEqual,
  '!=': (a, b, spend) => !areEqual(a, b, spend),
  '<': (a, b, spend) => compareValues(a, b, spend) < 0,
  '<=': (a, b, spend) => compareValues(a, b, spend) <= 0,
  '>': (a, b, spend) => compareValues(a, b, spend) > 0,
  '>=': (a, b, spend) => compareValues(a, b, spend) >= 0,
}

export const COMPARISON_OPERATOR_TYPE = createEnumType(...(Object.keys(COMPARISON_OPERATORS) as ComparisonOperator[]))

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Negative, zero or positive. @throws NodeError `no_order` unless both are numbers or both are texts */
function compareOrdered(a: unknown, b: unknown): number {
  if (typeof a === typeof b && (typeof a === 'number' || typeof a === 'string')) return compareValues(a, b)
  const text = `${getValueKind(a)} and ${getValueKind(b)} cannot be ordered. Compare two numbers or two texts.`
  throw new NodeError(`${text} compare.Equal tells whether two values of any type are the same.`, 'no_order')
}

export const compareNodes: NodeType[] = [
  {
    node_type: 'compare.Equal',
    title: 'Equal',
    description: 'Tells whether two values have the same content. The order of keys does not matter.',
    properties: [
      optionalProperty('a', 'any', 'The first value.'),
      optionalProperty('b', 'any', 'The second value.'),
      optionalProperty('ignore_case', 'bool', 'Treats upper and lower case letters of two texts as the same.', {
        default: false,
      }),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'bool')],
    converts: [typeConversion('str', 'bool', 'compares it with another text')],
    run({ a, b, ignore_case }) {
      const texts = ignore_case === true && typeof a === 'string' && typeof b === 'string'
      return { output: texts ? a.toLowerCase() === b.toLowerCase() : areEqual(a, b) }
    },
  },
  {
    node_type: 'compare.Compare',
    title: 'Compare',
    description:
      'Compares two numbers, or two texts by their characters. Other values cannot be ordered; compare.Equal tells whether they are the same.',
    properties: [
      requiredProperty('a', 'any', 'The left side, a number or text.'),
      optionalProperty(
        'op',
        COMPARISON_OPERATOR_TYPE,
        'The comparison. `==` and `!=` also need two numbers or two texts.',
        {
          default: '<',
        },
      ),
      requiredProperty('b', 'any', 'The right side, of the same kind.'),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'bool')],
    converts: [typeConversion('float', 'bool', 'compares it with another number')],
    run: ({ a, op, b }: { a: unknown; op: ComparisonOperator; b: unknown }) => ({
      output: COMPARISON_OPERATORS[op](compareOrdered(a, b), 0),
    }),
  },
  {
    node_type: 'compare.Between',
    title: 'Between',
    description: 'Tells whether a number or text lies between two others, or equals one of them.',
    properties: [
      requiredProperty('value', 'any', 'The value.'),
      requiredProperty('low', 'any', 'The lower bound.'),
      requiredProperty('high', 'any', 'The upper bound.'),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'bool')],
    run: ({ value, low, high }) => ({ output: compareValues(value, low) >= 0 && compareValues(value, high) <= 0 }),
  },
  {
    node_type: 'compare.IsEmpty',
    title: 'Is empty',
    description: 'Tells whether a value is null, an empty text, an empty list or an empty object.',
    properties: [optionalProperty('value', 'any', 'The value.')],
    cost: 10,
    outputs: [valueOutput('output', 'bool')],
    converts: ['list', 'dict'].map((from) => typeConversion(from, 'bool', 'says whether it is empty')),
    run: ({ value }) => ({ output: isEmpty(value) }),
  },
  {
    node_type: 'compare.Type',
    title: 'Type of value',
    description:
      'Names the type of a value: null, bool, int, float, str, list, dict, or the type of a file value such as image.',
    properties: [optionalProperty('value', 'any', 'The value.')],
    cost: 0,
    outputs: [valueOutput('output', 'str')],
    run: ({ value }) => ({ output: getValueKind(value) }),
  },
]

const CONDITION_TYPE = 'union[bool,int,float]'

type Combination = 'all' | 'any' | 'one'

const COMBINATIONS: Readonly<Record<Combination, (count: number, of: number) => boolean>> = {
  all: (count, of) => count === of,
  any: (count) => count > 0,
  one: (count) => count === 1,
}

export const logicNodes: NodeType[] = [
  {
    node_type: 'logic.Combine',
    title: 'Combine conditions',
    description:
      'Tells whether all, any or exactly one of its conditions are true. Dynamic inputs are conditions too. The number 0 is false; other numbers are true.',
    properties: [
      optionalProperty('conditions', `list[${CONDITION_TYPE}]`, 'Conditions.', { default: [] }),
      optionalProperty(
        'op',
        createEnumType(...(Object.keys(COMBINATIONS) as Combination[])),
        'How many of the conditions must be true.',
        {
          default: 'all',
        },
      ),
    ],
    cost: 0,
    outputs: [valueOutput('output', 'bool')],
    supports_dynamic_inputs: true,
    run({ conditions, op, ...others }: InputValues & { conditions: (boolean | number)[]; op: Combination }) {
      let [count, of] = [0, conditions.length]
      for (const one of conditions) if (one) count++
      for (const [name, one] of Object.entries(others)) {
        if (typeof one !== 'boolean' && typeof one !== 'number') {
          const text = `Condition "${abbreviate(name)}" is ${getValueKind(one)}. A condition must be true, false or a number.`
          throw new NodeError(text, 'bad_input')
        }
        of++
        if (one) count++
      }
      return { output: COMBINATIONS[op](count, of) }
    },
  },
  {
    node_type: 'logic.Not',
    title: 'Not',
    description: 'Gives the opposite of a condition.',
    properties: [
      requiredProperty('condition', CONDITION_TYPE, 'The condition. The number 0 is false; other numbers are true.'),
    ],
    cost: 0,
    outputs: [valueOutput('output', 'bool')],
    run: ({ condition }) => ({ output: !condition }),
  },
  {
    node_type: 'logic.Choose',
    title: 'Choose',
    description: 'Gives one of two values. Both values are computed before; control.If runs only one branch.',
    properties: [
      requiredProperty(
        'condition',
        CONDITION_TYPE,
        'Which value to give. The number 0 is false; other numbers are true.',
      ),
      optionalProperty('if_true', 'any', 'The value to give if the condition is true.'),
      optionalProperty('if_false', 'any', 'The value to give if the condition is false.'),
    ],
    cost: 0,
    outputs: [valueOutput('output', 'any')],
    run: ({ condition, if_true, if_false }) => ({ output: condition ? if_true : if_false }),
  },
]
