// input.*: nodes through which the params of a run enter a graph. The engine puts the param, or else the node's own value, into `value`.
import type { NodeProperty, NodeType } from '../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'

const RANGE_PROPERTIES = [
  optionalProperty('min', 'float', 'The least value that is accepted.'),
  optionalProperty('max', 'float', 'The greatest value that is accepted.'),
]

function defineInput(name: string, type: string, title: string, what: string, limits: NodeProperty[] = []): NodeType {
  return {
    node_type: `input.${name}`,
    title,
    description: `Takes ${what} from the params of the run.`,
    role: 'input',
    properties: [
      requiredProperty('name', 'str', 'The name of the param.'),
      optionalProperty('value', type, 'The default if the run has no such param. Without it the param is required.'),
      optionalProperty('description', 'str', 'The purpose of the input.', { default: '' }),
      ...limits,
      optionalProperty('stream', 'bool', 'Accepts any number of values, also during the run.', { default: false }),
    ],
    outputs: [valueOutput('output', type)],
    gives_all: true,
    run: ({ value }) => ({ output: value }),
  }
}

export const inputNodes: NodeType[] = [
  defineInput('String', 'str', 'Text input', 'a text'),
  defineInput('Integer', 'int', 'Integer input', 'a whole number', RANGE_PROPERTIES),
  defineInput('Float', 'float', 'Number input', 'a number', RANGE_PROPERTIES),
  defineInput('Boolean', 'bool', 'Yes or no input', 'true or false'),
  defineInput('List', 'list[any]', 'List input', 'a list'),
  defineInput('Object', 'dict[str,any]', 'Object input', 'an object'),
  defineInput('Any', 'any', 'Any input', 'a value of any type'),
]
