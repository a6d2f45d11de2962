// control.* and workflow.Call: branches, streams, delays and calls of workflows.

import { readSteadyTime } from '../../engine/node-api/clock.ts'
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { SINGLE_NODE_PREFIX } from '../../engine/node-api/services/tools.ts'
import { Wait } from '../../engine/node-api/wait.ts'
import {
  optionalProperty,
  requiredProperty,
  streamOutput,
  typeConversion,
  valueOutput,
} from '../shared/node-type-builders.ts'
import { ItemCollector } from './item-collector.ts'

const SECOND_MS = 1000

/** In seconds. The run may be suspended for a longer delay. */
const SUSPENDABLE_DELAY_SECONDS = 30

export const controlNodes: NodeType[] = [
  {
    node_type: 'control.If',
    title: 'If',
    description: 'Sends a value to one of two branches. The nodes of the other branch are skipped.',
    properties: [
      requiredProperty(
        'condition',
        'union[bool,int,float]',
        'True or false. The number 0 is false; other numbers are true.',
      ),
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
      'Gives the first non-null input: a, then b, then the dynamic inputs in their order. It joins branches again.',
    properties: [
      optionalProperty('a', 'any', 'The preferred value.'),
      optionalProperty('b', 'any', 'The value that is used if the first is missing.'),
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
    description: 'Opens a stream of the items of a list. The nodes behind it run once per item.',
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
      'Gathers the items of a stream into a list, in their order. Items without a value are skipped. The list has at most a million items.',
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
    description: 'Passes a value on after some seconds. During a long delay the job may leave memory.',
    properties: [
      optionalProperty('value', 'any', 'The value to pass on.'),
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
      if (workflow_id === '') throw new NodeError('No workflow is named. Set workflow_id.', 'bad_input')
      if (workflow_id.startsWith(SINGLE_NODE_PREFIX))
        throw new NodeError(`There is no workflow "${workflow_id}".`, 'bad_input')
      return context.callWorkflow(workflow_id, params)
    },
  },
]
