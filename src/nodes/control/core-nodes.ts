// control.*: branches, streams and waiting.

import { readSteadyTime } from '../../engine/node-api/clock.ts'
import { SINGLE_NODE_PREFIX } from '../../engine/node-api/node-services.ts'
import { type InputValues, NodeError, type NodeType, Wait } from '../../engine/node-api/node-type.ts'
import {
  optionalProperty,
  requiredProperty,
  streamOutput,
  typeConversion,
  valueOutput,
} from '../shared/node-type-builders.ts'
import { ItemCollector } from './item-collector.ts'

/** Milliseconds in a second; seconds are what people write. */
const SECOND_MS = 1000

/** Seconds from which on a delay is one that the run may be suspended for. */
const SUSPENDABLE_DELAY_SECONDS = 30

export const controlNodes: NodeType[] = [
  {
    node_type: 'control.If',
    title: 'If',
    description: 'Sends a value one way or the other. The nodes behind the other way are skipped.',
    properties: [
      requiredProperty('condition', 'union[bool,int,float]', 'True or false; of numbers only 0 is false.'),
      optionalProperty('value', 'any', 'The value to send on.'),
    ],
    cost: 0,
    outputs: [valueOutput('if_true', 'any'), valueOutput('if_false', 'any')],
    run: ({ condition, value }) => (condition ? { if_true: value } : { if_false: value }),
  },
  {
    node_type: 'control.Coalesce',
    title: 'First of',
    description:
      'Gives the first of its values that is there, a and b before dynamic inputs in their order: it brings branches together again.',
    properties: [
      optionalProperty('a', 'any', 'The preferred value.'),
      optionalProperty('b', 'any', 'The value used where the first is missing.'),
    ],
    cost: 0,
    outputs: [valueOutput('output', 'any')],
    supports_dynamic_inputs: true,
    optional_dynamic_inputs: true,
    run: ({ a, b, ...more }) => ({ output: [a, b, ...Object.values(more)].find((value) => value !== null) ?? null }),
  },
  {
    node_type: 'control.ForEach',
    title: 'For each',
    description: 'Opens a stream of the items of a list. What follows runs once per item.',
    properties: [requiredProperty('list', 'list[any]', 'The items.')],
    outputs: [streamOutput('item', 'any'), streamOutput('index', 'int')],
    gives_all: true,
    converts: [typeConversion('list', 'item', 'gives the items one by one')],
    *run({ list }: { list: unknown[] }) {
      for (let index = 0; index < list.length; index++) yield { item: list[index], index }
    },
  },
  {
    node_type: 'control.Collect',
    title: 'Collect',
    description:
      'Gathers the items of a stream into a list, in their order. Items that got no value are left out. At most a million.',
    properties: [requiredProperty('item', 'any', 'The items.', { aggregate: true })],
    outputs: [valueOutput('list', 'list[any]')],
    gives_all: true,
    open() {
      const gathered = new ItemCollector()
      return { push: (value) => gathered.add(value), end: () => ({ list: gathered.list }) }
    },
  },
  {
    node_type: 'control.Delay',
    title: 'Delay',
    description: 'Hands a value on after some seconds. Nothing of a job need be in memory during a long delay.',
    properties: [
      optionalProperty('value', 'any', 'The value to hand on.'),
      optionalProperty('seconds', 'float', 'How long to wait.', { default: 1, min: 0, max: 86_400 }),
    ],
    outputs: [valueOutput('output', 'any')],
    gives_all: true,
    async run({ value, seconds }: { value: unknown; seconds: number }, context) {
      if (seconds > SUSPENDABLE_DELAY_SECONDS && context.canWait) {
        const until = readSteadyTime(context.clock) + seconds * SECOND_MS
        return new Wait({ kind: 'delay', name: null, message: null, schema: null, until })
      }
      await context.clock.sleep(seconds * SECOND_MS, context.signal)
      return { output: value }
    },
    onAnswer: ({ value }) => ({ output: value }),
  },
]

export const workflowNodes: NodeType[] = [
  {
    node_type: 'workflow.Call',
    title: 'Call a workflow',
    description: 'Runs another workflow: its dynamic inputs are the params, its dynamic outputs the results, by name.',
    properties: [requiredProperty('workflow_id', 'str', 'The workflow to run.')],
    outputs: [],
    effect: true,
    supports_dynamic_inputs: true,
    supports_dynamic_outputs: true,
    async run({ workflow_id, ...params }: InputValues & { workflow_id: string }, context) {
      if (workflow_id === '') throw new NodeError('There is no workflow named.', 'bad_input')
      if (workflow_id.startsWith(SINGLE_NODE_PREFIX))
        throw new NodeError(`There is no workflow "${workflow_id}".`, 'bad_input')
      return context.callWorkflow(workflow_id, params)
    },
  },
]
