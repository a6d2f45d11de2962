// random.*: random choices from lists, texts and UUIDs. The generator is in generator.ts.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { COST_PER_DRAW, costOfDrawnItems } from '../shared/firing-costs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { requireFinite } from '../shared/value-operations.ts'
import { createGenerator, RandomGenerator, withSeed } from './generator.ts'

type List = unknown[]
type SeededInputs = { seed: number }

const listProperty = () => requiredProperty('list', 'list[any]', 'The list.')
const seedProperty = () =>
  optionalProperty(
    'seed',
    'int?',
    'The same seed gives the same result on every machine. Without it each run gives another.',
  )

/** The position of a random item, with probability in proportion to its weight. */
function pickWeighted(weights: readonly number[], count: number, source: RandomGenerator): number {
  if (weights.length !== count) {
    throw new NodeError(
      `There are ${weights.length} weights for ${count} items. Each item needs a weight.`,
      'bad_input',
    )
  }
  const total = requireFinite(
    weights.reduce((sum, weight) => {
      if (typeof weight !== 'number' || !(weight >= 0))
        throw new NodeError('A weight is negative or not a number.', 'bad_input')
      return sum + weight
    }, 0),
    'The sum of the weights',
  )
  if (total === 0) throw new NodeError('All weights are 0. At least one must be greater.', 'bad_input')
  let left = source.fraction() * total
  const index = weights.findIndex((weight) => {
    left -= weight
    return left < 0
  })
  // Rounding may leave a rest after the last weight.
  return index >= 0 ? index : weights.findLastIndex((weight) => weight > 0)
}

/** A random sample in list order. The chance of each item makes all samples equally likely. */
function sample(items: List, count: number, source: RandomGenerator): List {
  let needed = count
  return items.filter((_, index) => {
    const taken = source.integerBelow(items.length - index) < needed
    if (taken) needed--
    return taken
  })
}

/** The Fisher–Yates shuffle. */
function shuffle(items: List, source: RandomGenerator): List {
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = source.integerBelow(last + 1)
    ;[mixed[last], mixed[other]] = [mixed[other], mixed[last]]
  }
  return mixed
}

/** In characters. A longer alphabet is certainly a text that is connected by mistake. */
const MOST_CHARACTERS = 10_000

function randomText(length: number, alphabet: string, source: RandomGenerator): string {
  if (alphabet === '') throw new NodeError('There are no characters to choose from. Set characters.', 'bad_input')
  if (alphabet.length > MOST_CHARACTERS) {
    throw new NodeError(`There are more than ${MOST_CHARACTERS} characters to choose from.`, 'too_large')
  }
  const characters = [...alphabet]
  return Array.from({ length }, () => characters[source.integerBelow(characters.length)]).join('')
}

/** A UUID of version 4 (RFC 9562 §5.4). */
function randomUuid(source: RandomGenerator): string {
  const hex = Array.from({ length: 4 }, () => source.next().toString(16).padStart(8, '0')).join('')
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) % 4]
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20), hex.slice(20)].join(
    '-',
  )
}

export const randomChoiceNodes: NodeType[] = [
  {
    node_type: 'random.Choice',
    title: 'Random item',
    description:
      'Gives a random item of a list, and its position. With weights, some items are more likely than others.',
    properties: [
      listProperty(),
      optionalProperty('weights', 'list[float]?', 'The weight of each item: its chance in proportion to the others.'),
      seedProperty(),
    ],
    outputs: [valueOutput('output', 'any'), valueOutput('index', 'int')],
    cost: ({ weights }) => costOfDrawnItems(weights),
    prepare: withSeed,
    run(inputs) {
      const { list, weights, seed } = inputs as SeededInputs & { list: List; weights: number[] | null }
      if (list.length === 0) throw new NodeError('The list is empty, so no item can be chosen.', 'bad_input')
      const source = new RandomGenerator(seed)
      const index = weights ? pickWeighted(weights, list.length, source) : source.integerBelow(list.length)
      return { output: list[index], index }
    },
  },
  {
    node_type: 'random.Sample',
    title: 'Random sample',
    description: 'Gives some random items of a list, none twice, in the order of the list.',
    properties: [listProperty(), requiredProperty('count', 'int', 'How many items.', { min: 0 }), seedProperty()],
    outputs: [valueOutput('output', 'list[any]')],
    cost: ({ list }) => costOfDrawnItems(list),
    prepare: withSeed,
    run(inputs) {
      const { list, count, seed } = inputs as SeededInputs & { list: List; count: number }
      if (count > list.length) {
        throw new NodeError(`A list of ${list.length} items is too short to take ${count}.`, 'out_of_range')
      }
      return { output: sample(list, count, new RandomGenerator(seed)) }
    },
  },
  {
    node_type: 'random.Shuffle',
    title: 'Shuffle list',
    description: 'Puts the items of a list into random order.',
    properties: [listProperty(), seedProperty()],
    outputs: [valueOutput('output', 'list[any]')],
    cost: ({ list }) => costOfDrawnItems(list),
    prepare: withSeed,
    run(inputs) {
      const { list, seed } = inputs as SeededInputs & { list: List }
      return { output: shuffle(list, new RandomGenerator(seed)) }
    },
  },
  {
    node_type: 'random.Text',
    title: 'Random text',
    description: 'Makes a text of random characters. Do not use it as a secret, because the seed determines the text.',
    properties: [
      optionalProperty('length', 'int', 'How many characters.', { default: 12, min: 0, max: 100_000 }),
      optionalProperty('characters', 'str', 'The characters to choose from.', {
        default: 'abcdefghijklmnopqrstuvwxyz0123456789',
      }),
      seedProperty(),
    ],
    outputs: [valueOutput('output', 'str')],
    cost: ({ length, characters }) => (Number(length) + String(characters).length) * COST_PER_DRAW,
    prepare: withSeed,
    run(inputs) {
      const { length, characters, seed } = inputs as SeededInputs & { length: number; characters: string }
      return { output: randomText(length, characters, new RandomGenerator(seed)) }
    },
  },
  {
    node_type: 'random.Uuid',
    title: 'Random UUID',
    description: 'Gives a random UUID (version 4).',
    properties: [seedProperty()],
    outputs: [valueOutput('output', 'str')],
    run: ({ seed }: { seed: number | null }, context) => ({ output: randomUuid(createGenerator(seed, context)) }),
  },
]
