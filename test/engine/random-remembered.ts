// The kinds of random graphs in the manners that matter to a durable run: nodes that use services, have an effect, must not run twice, give
// other items each time, use random numbers, or wait. Also counts how often the code of each firing began.

import type { Graph } from '../../src/engine/compile/graph.ts'
import type { InputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import type { NodeRegistry, NodeType } from '../../src/engine/node-api/node-type.ts'
import { Wait } from '../../src/engine/node-api/wait.ts'
import { graph, node, withTypes } from './kit.ts'
import type { MemoryJournal } from './memory-journal.ts'
import { type Kind, number } from './random-kinds.ts'
import { KINDS } from './random-mixes.ts'
import { type Ledger, nodeType, OWN_KINDS, type OwnManner, type RememberedManner } from './random-types.ts'

export const REMEMBERED: Record<RememberedManner | 'sync' | 'async' | 'slow', OwnManner> = {
  sync: 'sync',
  async: 'async',
  slow: 'slow',
  touching: 'sync',
  effective: 'sync',
  unsafe: 'slow',
  fickle: 'slow',
  rolling: 'sync',
  rollingLate: 'slow',
  waiting: 'sync',
  calling: 'sync',
}
type Manner = keyof typeof REMEMBERED
export const REMEMBERED_MANNERS = Object.keys(REMEMBERED) as Manner[]

/** How often the code of each firing began, by the firing's name. */
export class Counts {
  readonly #counts = new Map<string, number>()

  add(firing: string): void {
    this.#counts.set(firing, this.of(firing) + 1)
  }

  of(firing: string): number {
    return this.#counts.get(firing) ?? 0
  }
}

type Step = IteratorResult<InputValues, InputValues>

function rolled(values: InputValues, { random }: { random: () => number }): InputValues {
  const roll = (value: unknown) => (typeof value === 'number' ? (value + Math.floor(random() * 7)) % 1009 : value)
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, roll(value)]))
}

function* rolledItems(
  items: Generator<InputValues, InputValues>,
  dice: { random: () => number },
): Generator<InputValues, InputValues> {
  try {
    for (let step: Step = items.next(); ; step = items.next()) {
      if (step.done) return rolled(step.value, dice)
      yield rolled(step.value, dice)
    }
  } finally {
    items.return({})
  }
}

async function* rolledLater(items: AsyncGenerator<InputValues, InputValues>, dice: { random: () => number }) {
  try {
    for (let step: Step = await items.next(); ; step = await items.next()) {
      if (step.done) return rolled(step.value, dice)
      yield rolled(step.value, dice)
    }
  } finally {
    await items.return({})
  }
}

function rolling(given: unknown, context: NodeContext): unknown {
  const dice = { random: () => context.random() }
  if (given instanceof Promise) return given.then((outputs: InputValues) => rolled(outputs, dice))
  const items = given as Generator<InputValues, InputValues>
  if (typeof items.next !== 'function') return rolled(given as InputValues, dice)
  return Symbol.asyncIterator in items
    ? rolledLater(given as AsyncGenerator<InputValues, InputValues>, dice)
    : rolledItems(items, dice)
}

const REQUEST = { kind: 'value', name: 'n', message: null, schema: null, until: null } as const

/** The changes of a manner to a kind that has `run`. */
const MANNERS: Partial<Record<Manner, (type: NodeType, kind: Kind) => Partial<NodeType>>> = {
  touching: ({ run }) => ({
    run(inputs, context) {
      context.clock.now()
      return run!(inputs, context)
    },
  }),
  effective: () => ({ effect: true }),
  unsafe: () => ({ retry_safe: false }),
  rolling: ({ run }) => ({ run: (inputs, context) => rolling(run!(inputs, context), context) as InputValues }),
  rollingLate: ({ run }) => ({ run: (inputs, context) => rolling(run!(inputs, context), context) as InputValues }),
  waiting: ({ run }, kind) =>
    kind.streams.length > 0
      ? {}
      : { run: () => new Wait(REQUEST), onAnswer: (inputs, _value, context) => run!(inputs, context) as InputValues },
  calling,
}

const CALLED: readonly Manner[] = ['waiting', 'unsafe', 'slow', 'rolling', 'touching', 'calling']

/** A workflow of one node, by the name under which it is called: its inputs and outputs are those of the node. */
export function calledGraph(workflow_id: string): Graph {
  const kind = KINDS[workflow_id.slice(0, workflow_id.indexOf('.'))]!
  const names = kind.properties.map(({ name }) => name)
  return graph(
    [
      ...names.map((name) => node(`in ${name}`, 'input.Any', { name })),
      node('n', workflow_id),
      ...kind.handles.map((name) => node(`out ${name}`, 'output.Output', { name })),
    ],
    [
      ...names.map((name) => `in ${name}.output->n.${name}`),
      ...kind.handles.map((handle) => `n.${handle}->out ${handle}.value`),
    ],
  )
}

function calling({ node_type }: NodeType, kind: Kind): Partial<NodeType> {
  if (kind.streams.length > 0) return {}
  const name = node_type.slice(0, node_type.indexOf('.'))
  return {
    run(inputs, context) {
      const sum = Object.values(inputs).reduce((all: number, one) => all + number(one), 0)
      // A called workflow calls one that makes no further call.
      const manners = CALLED.length - Number(context.node_id === 'n')
      return context.callWorkflow(`${name}.${CALLED[sum % manners]}`, inputs)
    },
  }
}

function counted(type: NodeType, counts: Counts, journal: () => MemoryJournal | null): NodeType {
  const { run, open } = type
  const count = ({ node_id }: NodeContext) => {
    const at = journal()
    if (at) counts.add(type.retry_safe === false ? at.begins(node_id) : at.asked)
  }
  const counting: Partial<NodeType> = {}
  if (run) {
    counting.run = (inputs, context) => {
      count(context)
      return run(inputs, context)
    }
  }
  if (open) {
    counting.open = (inputs, context) => {
      count(context)
      return open(inputs, context)
    }
  }
  return { ...type, ...counting }
}

/** The types, whose firings are counted by their names in the current journal. */
export function rememberedRegistry(ledger: Ledger, counts: Counts, journal: () => MemoryJournal | null): NodeRegistry {
  const types = OWN_KINDS.flatMap(([name, kind]) =>
    REMEMBERED_MANNERS.map((manner) => {
      const plain = nodeType(name, kind, REMEMBERED[manner], ledger, manner)
      const type = { ...plain, repeats: manner !== 'fickle' }
      const more = plain.run || manner === 'unsafe' ? MANNERS[manner]?.(type, kind) : undefined
      return counted({ ...type, ...(plain.run || plain.open ? more : {}) }, counts, journal)
    }),
  )
  return withTypes(...types)
}
