// control.*: branches, streams and waiting.

import { steadyTime } from '../engine/clock.ts'
import { type Inputs, NodeError, type NodeType, Wait } from '../engine/node-type.ts'
import { ONE_NODE } from '../engine/services.ts'
import { conversion, option, output, required, stream } from './define.ts'
import { Gathered } from './gathered.ts'

/** Milliseconds in a second; seconds are what people write. */
const SECOND = 1000

/** Seconds from which on a delay is one that the run may be suspended for. */
const LONG_DELAY = 30

export const controlNodes: NodeType[] = [
  {
    node_type: 'control.If',
    title: 'If',
    description: 'Sends a value one way or the other. The nodes behind the other way are skipped.',
    properties: [
      required('condition', 'union[bool,int,float]', 'True or false; of numbers only 0 is false.'),
      option('value', 'any', 'The value to send on.'),
    ],
    cost: 0,
    outputs: [output('if_true', 'any'), output('if_false', 'any')],
    run: ({ condition, value }) => (condition ? { if_true: value } : { if_false: value }),
  },
  {
    node_type: 'control.Coalesce',
    title: 'First of',
    description:
      'Gives the first of its values that is there, a and b before dynamic inputs in their order: it brings branches together again.',
    properties: [
      option('a', 'any', 'The preferred value.'),
      option('b', 'any', 'The value used where the first is missing.'),
    ],
    cost: 0,
    outputs: [output('output', 'any')],
    supports_dynamic_inputs: true,
    optional_dynamic_inputs: true,
    run: ({ a, b, ...more }) => ({ output: [a, b, ...Object.values(more)].find((value) => value !== null) ?? null }),
  },
  {
    node_type: 'control.ForEach',
    title: 'For each',
    description: 'Opens a stream of the items of a list. What follows runs once per item.',
    properties: [required('list', 'list[any]', 'The items.')],
    outputs: [stream('item', 'any'), stream('index', 'int')],
    gives_all: true,
    converts: [conversion('list', 'item', 'gives the items one by one')],
    *run({ list }: { list: unknown[] }) {
      for (let index = 0; index < list.length; index++) yield { item: list[index], index }
    },
  },
  {
    node_type: 'control.Collect',
    title: 'Collect',
    description:
      'Gathers the items of a stream into a list, in their order. Items that got no value are left out. At most a million.',
    properties: [required('item', 'any', 'The items.', { aggregate: true })],
    outputs: [output('list', 'list[any]')],
    gives_all: true,
    open() {
      const gathered = new Gathered()
      return { push: (value) => gathered.add(value), end: () => ({ list: gathered.list }) }
    },
  },
  {
    node_type: 'control.Delay',
    title: 'Delay',
    description: 'Hands a value on after some seconds. Nothing of a job need be in memory during a long delay.',
    properties: [
      option('value', 'any', 'The value to hand on.'),
      option('seconds', 'float', 'How long to wait.', { default: 1, min: 0, max: 86_400 }),
    ],
    outputs: [output('output', 'any')],
    gives_all: true,
    async run({ value, seconds }: { value: unknown; seconds: number }, context) {
      if (seconds > LONG_DELAY && context.waits) {
        const until = steadyTime(context.clock) + seconds * SECOND
        return new Wait({ kind: 'delay', name: null, message: null, schema: null, until })
      }
      await context.clock.sleep(seconds * SECOND, context.signal)
      return { output: value }
    },
    answered: ({ value }) => ({ output: value }),
  },
]

export const workflowNodes: NodeType[] = [
  {
    node_type: 'workflow.Call',
    title: 'Call a workflow',
    description: 'Runs another workflow: its dynamic inputs are the params, its dynamic outputs the results, by name.',
    properties: [required('workflow_id', 'str', 'The workflow to run.')],
    outputs: [],
    effect: true,
    supports_dynamic_inputs: true,
    supports_dynamic_outputs: true,
    async run({ workflow_id, ...params }: Inputs & { workflow_id: string }, context) {
      if (workflow_id === '') throw new NodeError('There is no workflow named.', 'bad_input')
      if (workflow_id.startsWith(ONE_NODE)) throw new NodeError(`There is no workflow "${workflow_id}".`, 'bad_input')
      return context.callWorkflow(workflow_id, params)
    },
  },
]
