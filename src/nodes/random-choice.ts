// random.*: choosing from lists and making names by chance. The generator is in random-source.ts.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { costOfItems, DRAWN } from './costs.ts'
import { option, output, required } from './define.ts'
import { RandomSource, seeded, sourceOf } from './random-source.ts'
import { finite } from './values.ts'

type List = unknown[]
type Seeded = { seed: number }

const list = () => required('list', 'list[any]', 'The list.')
const seed = () =>
  option('seed', 'int?', 'The same seed gives the same result, on every machine; without it each run gives another.')

/** The place of an item, as likely as its weight is large. */
function weighted(weights: readonly number[], count: number, source: RandomSource): number {
  if (weights.length !== count) {
    throw new NodeError(`There are ${weights.length} weights for ${count} items: each needs one.`, 'bad_input')
  }
  const total = finite(
    weights.reduce((sum, weight) => {
      if (typeof weight !== 'number' || !(weight >= 0))
        throw new NodeError('A weight is less than 0, or no number.', 'bad_input')
      return sum + weight
    }, 0),
    'The sum of the weights',
  )
  if (total === 0) throw new NodeError('All weights are 0: nothing can be chosen.', 'bad_input')
  let left = source.unit() * total
  const index = weights.findIndex((weight) => {
    left -= weight
    return left < 0
  })
  // Rounding may leave a trace after the last.
  return index >= 0 ? index : weights.findLastIndex((weight) => weight > 0)
}

/** Some of the items, in their order: each is taken with the chance that keeps all choices equally likely. */
function sample(items: List, count: number, source: RandomSource): List {
  let needed = count
  return items.filter((_, index) => {
    const taken = source.below(items.length - index) < needed
    if (taken) needed--
    return taken
  })
}

/** Fisher and Yates. */
function shuffle(items: List, source: RandomSource): List {
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = source.below(last + 1)
    ;[mixed[last], mixed[other]] = [mixed[other], mixed[last]]
  }
  return mixed
}

/** Nobody means more: it would be a text in the wrong place. */
const MOST_CHARACTERS = 10_000

function text(length: number, alphabet: string, source: RandomSource): string {
  if (alphabet === '') throw new NodeError('There are no characters to choose from.', 'bad_input')
  if (alphabet.length > MOST_CHARACTERS) {
    throw new NodeError(`There are more than ${MOST_CHARACTERS} characters to choose from.`, 'too_large')
  }
  const characters = [...alphabet]
  return Array.from({ length }, () => characters[source.below(characters.length)]).join('')
}

/** A UUID of version 4 (RFC 9562 §5.4). */
function uuid(source: RandomSource): string {
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
    description: 'Gives one item of a list by chance, and its place. With weights, some are more likely than others.',
    properties: [
      list(),
      option('weights', 'list[float]?', 'How likely each item is, compared with the others.'),
      seed(),
    ],
    outputs: [output('output', 'any'), output('index', 'int')],
    cost: ({ weights }) => costOfItems(weights),
    prepare: seeded,
    run(inputs) {
      const { list, weights, seed } = inputs as Seeded & { list: List; weights: number[] | null }
      if (list.length === 0) throw new NodeError('The list is empty: there is nothing to choose.', 'bad_input')
      const source = new RandomSource(seed)
      const index = weights ? weighted(weights, list.length, source) : source.below(list.length)
      return { output: list[index], index }
    },
  },
  {
    node_type: 'random.Sample',
    title: 'Random sample',
    description: 'Takes some items out of a list by chance, none twice, and leaves them in their order.',
    properties: [list(), required('count', 'int', 'How many items.', { min: 0 }), seed()],
    outputs: [output('output', 'list[any]')],
    cost: ({ list }) => costOfItems(list),
    prepare: seeded,
    run(inputs) {
      const { list, count, seed } = inputs as Seeded & { list: List; count: number }
      if (count > list.length) {
        throw new NodeError(`A list of ${list.length} items has no ${count} to take.`, 'out_of_range')
      }
      return { output: sample(list, count, new RandomSource(seed)) }
    },
  },
  {
    node_type: 'random.Shuffle',
    title: 'Shuffle list',
    description: 'Puts the items of a list in an order by chance.',
    properties: [list(), seed()],
    outputs: [output('output', 'list[any]')],
    cost: ({ list }) => costOfItems(list),
    prepare: seeded,
    run(inputs) {
      const { list, seed } = inputs as Seeded & { list: List }
      return { output: shuffle(list, new RandomSource(seed)) }
    },
  },
  {
    node_type: 'random.Text',
    title: 'Random text',
    description: 'Writes a text of characters by chance. It is no secret: whoever knows the seed knows the text.',
    properties: [
      option('length', 'int', 'How many characters.', { default: 12, min: 0, max: 100_000 }),
      option('characters', 'str', 'What to choose from.', { default: 'abcdefghijklmnopqrstuvwxyz0123456789' }),
      seed(),
    ],
    outputs: [output('output', 'str')],
    cost: ({ length, characters }) => (Number(length) + String(characters).length) * DRAWN,
    prepare: seeded,
    run(inputs) {
      const { length, characters, seed } = inputs as Seeded & { length: number; characters: string }
      return { output: text(length, characters, new RandomSource(seed)) }
    },
  },
  {
    node_type: 'random.Uuid',
    title: 'Random UUID',
    description: 'Gives a UUID by chance (version 4).',
    properties: [seed()],
    outputs: [output('output', 'str')],
    run: ({ seed }: { seed: number | null }, context) => ({ output: uuid(sourceOf(seed, context)) }),
  },
]
