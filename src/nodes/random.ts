// random.*: numbers, choices and names by chance. A seed makes them repeatable; the generator is in random-source.ts.
import { type NodeContext, NodeError, type NodeType } from '../engine/node-type.ts'
import { option, output, required, stream } from './define.ts'
import { type RandomSource, sourceOf } from './random-source.ts'
import { finite } from './values.ts'

type Seeded = { seed: number | null }
type Span = Seeded & { min: number; max: number }

const seed = () =>
  option('seed', 'int?', 'The same seed gives the same result, on every machine; without it each run gives another.')

function guardSpan(min: number, max: number): void {
  if (max < min) throw new NodeError(`The greatest value ${max} is less than the least, ${min}.`, 'bad_input')
}

/** Draws whole numbers from `min` to `max`, both included. */
function wholeNumbers(min: number, max: number): (source: RandomSource) => number {
  guardSpan(min, max)
  const count = max - min + 1
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || count > 2 ** 53) {
    throw new NodeError('Whole numbers by chance lie between −2^53 and 2^53, at most 2^53 apart.', 'bad_input')
  }
  return (source) => min + source.below(count)
}

/** Draws numbers from `min` (inclusive) to `max`. */
function numbers(min: number, max: number): (source: RandomSource) => number {
  guardSpan(min, max)
  const span = finite(max - min, 'The distance between the two')
  return (source) => {
    // Rounding may reach the end.
    const drawn = min + source.unit() * span
    return drawn < max ? drawn : min
  }
}

export const randomNodes: NodeType[] = [
  {
    node_type: 'random.Integer',
    title: 'Random integer',
    description: 'Gives a whole number by chance, each from the least to the greatest as likely as the others.',
    properties: [
      option('min', 'int', 'The least number.', { default: 0 }),
      option('max', 'int', 'The greatest number.', { default: 100 }),
      seed(),
    ],
    outputs: [output('output', 'int')],
    run: ({ min, max, seed }: Span, context) => ({ output: wholeNumbers(min, max)(sourceOf(seed, context)) }),
  },
  {
    node_type: 'random.Float',
    title: 'Random number',
    description: 'Gives a number by chance, from the least (included) to the greatest (not included).',
    properties: [
      option('min', 'float', 'The least number.', { default: 0 }),
      option('max', 'float', 'The greatest number.', { default: 1 }),
      seed(),
    ],
    outputs: [output('output', 'float')],
    run: ({ min, max, seed }: Span, context) => ({ output: numbers(min, max)(sourceOf(seed, context)) }),
  },
  {
    node_type: 'random.Normal',
    title: 'Random by normal distribution',
    description: 'Gives a number by chance that most often lies near the mean.',
    properties: [
      option('mean', 'float', 'The middle of the distribution.', { default: 0 }),
      option('deviation', 'float', 'The standard deviation.', { default: 1, min: 0 }),
      seed(),
    ],
    outputs: [output('output', 'float')],
    run: ({ mean, deviation, seed }: Seeded & { mean: number; deviation: number }, context) => ({
      output: finite(mean + deviation * sourceOf(seed, context).normal(), 'The number'),
    }),
  },
  {
    node_type: 'random.Numbers',
    title: 'Stream of random numbers',
    description: 'Opens a stream of numbers by chance. What follows runs once per number. At most a million.',
    properties: [
      required('count', 'int', 'How many.', { min: 0, max: 1_000_000 }),
      option('min', 'float', 'The least number.', { default: 0 }),
      option('max', 'float', 'The greatest number; of whole numbers it is included.', { default: 1 }),
      option('whole', 'bool', 'Gives whole numbers.', { default: false }),
      seed(),
    ],
    outputs: [stream('item', 'float'), stream('index', 'int')],
    run: (inputs: Span & { count: number; whole: boolean }, context) => series(inputs, context),
  },
]

function* series(
  { count, min, max, whole, seed }: Span & { count: number; whole: boolean },
  context: NodeContext,
): Generator<{ item: number; index: number }, undefined> {
  const draw = whole ? wholeNumbers(min, max) : numbers(min, max)
  const source = sourceOf(seed, context)
  for (let index = 0; index < count; index++) yield { item: draw(source), index }
}
