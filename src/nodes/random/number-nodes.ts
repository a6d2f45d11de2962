// random.*: random numbers. A seed makes them repeatable; the generator is in generator.ts.
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { requireFinite } from '../shared/value-operations.ts'
import { createGenerator, type RandomGenerator } from './generator.ts'

type SeededInputs = { seed: number | null }
type RangeInputs = SeededInputs & { min: number; max: number }

const seedProperty = () =>
  optionalProperty(
    'seed',
    'int?',
    'The same seed gives the same result on every machine. Without it each run gives another.',
  )

function guardRange(min: number, max: number): void {
  if (max < min) throw new NodeError(`max is ${max}, which is less than min, ${min}.`, 'bad_input')
}

/** Draws whole numbers from `min` to `max`, both inclusive. */
function integerDrawer(min: number, max: number): (source: RandomGenerator) => number {
  guardRange(min, max)
  const count = max - min + 1
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || count > 2 ** 53) {
    throw new NodeError(
      'For whole numbers, min and max must be whole numbers between −2^53 and 2^53, at most 2^53 apart.',
      'bad_input',
    )
  }
  return (source) => min + source.integerBelow(count)
}

/** Draws numbers from `min` (inclusive) to `max` (exclusive). */
function floatDrawer(min: number, max: number): (source: RandomGenerator) => number {
  guardRange(min, max)
  const span = requireFinite(max - min, 'The distance between the two')
  return (source) => {
    // Rounding may reach `max`.
    const drawn = min + source.fraction() * span
    return drawn < max ? drawn : min
  }
}

export const randomNumberNodes: NodeType[] = [
  {
    node_type: 'random.Integer',
    title: 'Random integer',
    description: 'Gives a random whole number from min to max, both inclusive. All are equally likely.',
    properties: [
      optionalProperty('min', 'int', 'The least number.', { default: 0 }),
      optionalProperty('max', 'int', 'The greatest number.', { default: 100 }),
      seedProperty(),
    ],
    outputs: [valueOutput('output', 'int')],
    run: ({ min, max, seed }: RangeInputs, context) => ({
      output: integerDrawer(min, max)(createGenerator(seed, context)),
    }),
  },
  {
    node_type: 'random.Float',
    title: 'Random number',
    description: 'Gives a random number from min (inclusive) to max (exclusive).',
    properties: [
      optionalProperty('min', 'float', 'The least number.', { default: 0 }),
      optionalProperty('max', 'float', 'The greatest number.', { default: 1 }),
      seedProperty(),
    ],
    outputs: [valueOutput('output', 'float')],
    run: ({ min, max, seed }: RangeInputs, context) => ({
      output: floatDrawer(min, max)(createGenerator(seed, context)),
    }),
  },
  {
    node_type: 'random.Normal',
    title: 'Random by normal distribution',
    description: 'Gives a random number of the normal distribution.',
    properties: [
      optionalProperty('mean', 'float', 'The middle of the distribution.', { default: 0 }),
      optionalProperty('deviation', 'float', 'The standard deviation.', { default: 1, min: 0 }),
      seedProperty(),
    ],
    outputs: [valueOutput('output', 'float')],
    run: ({ mean, deviation, seed }: SeededInputs & { mean: number; deviation: number }, context) => ({
      output: requireFinite(mean + deviation * createGenerator(seed, context).normal(), 'The number'),
    }),
  },
  {
    node_type: 'random.Numbers',
    title: 'Stream of random numbers',
    description: 'Opens a stream of random numbers, at most a million. The nodes behind it run once per number.',
    properties: [
      requiredProperty('count', 'int', 'The number of items.', { min: 0, max: 1_000_000 }),
      optionalProperty('min', 'float', 'The least number.', { default: 0 }),
      optionalProperty('max', 'float', 'The greatest number. It is included only for whole numbers.', { default: 1 }),
      optionalProperty('whole', 'bool', 'Gives whole numbers.', { default: false }),
      seedProperty(),
    ],
    outputs: [streamOutput('item', 'float'), streamOutput('index', 'int')],
    run: (inputs: RangeInputs & { count: number; whole: boolean }, context) => streamNumbers(inputs, context),
  },
]

function* streamNumbers(
  { count, min, max, whole, seed }: RangeInputs & { count: number; whole: boolean },
  context: NodeContext,
): Generator<{ item: number; index: number }, undefined> {
  const draw = whole ? integerDrawer(min, max) : floatDrawer(min, max)
  const source = createGenerator(seed, context)
  for (let index = 0; index < count; index++) yield { item: draw(source), index }
}
