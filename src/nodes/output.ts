// output.*: where a graph publishes values. The engine itself hands `value` to the run's host.
import type { NodeType } from '../engine/node-type.ts'
import { option, required } from './define.ts'

export const outputNodes: NodeType[] = [
  {
    node_type: 'output.Output',
    title: 'Output',
    description: 'Publishes a value, or each item of a stream, as a result of the run.',
    role: 'output',
    properties: [
      required('name', 'str', 'The name of the result.'),
      required('value', 'any', 'The value to publish.'),
      option('description', 'str', 'What the result is.', { default: '' }),
    ],
    outputs: [],
  },
]
