// output.*: nodes that publish values of a graph. The engine itself passes `value` to the host of the run.
import type { NodeType } from '../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty } from './shared/node-type-builders.ts'

export const outputNodes: NodeType[] = [
  {
    node_type: 'output.Output',
    title: 'Output',
    description: 'Publishes a value, or each item of a stream, as a result of the run.',
    role: 'output',
    properties: [
      requiredProperty('name', 'str', 'The name of the result.'),
      requiredProperty('value', 'any', 'The value to publish.'),
      optionalProperty('description', 'str', 'A description of the result.', { default: '' }),
    ],
    outputs: [],
  },
]
