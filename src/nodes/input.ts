// input.*: where a run's params enter a graph. The engine puts the param, or else the node's own value, into `value`.
import type { NodeProperty, NodeType } from '../engine/node-type.ts'
import { option, output, required } from './define.ts'

const LIMITS = [
  option('min', 'float', 'The least value that is accepted.'),
  option('max', 'float', 'The greatest value that is accepted.'),
]

function inputType(name: string, type: string, title: string, what: string, limits: NodeProperty[] = []): NodeType {
  return {
    node_type: `input.${name}`,
    title,
    description: `Takes ${what} from the params of the run.`,
    role: 'input',
    properties: [
      required('name', 'str', 'The name of the param.'),
      option('value', type, 'What the input is where the run gives nothing. Without it the param is required.'),
      option('description', 'str', 'What the input is for.', { default: '' }),
      ...limits,
      option('stream', 'bool', 'Takes any number of values, also while the run goes on.', { default: false }),
    ],
    outputs: [output('output', type)],
    gives_all: true,
    run: ({ value }) => ({ output: value }),
  }
}

export const inputNodes: NodeType[] = [
  inputType('String', 'str', 'Text input', 'a text'),
  inputType('Integer', 'int', 'Integer input', 'a whole number', LIMITS),
  inputType('Float', 'float', 'Number input', 'a number', LIMITS),
  inputType('Boolean', 'bool', 'Yes or no input', 'true or false'),
  inputType('List', 'list[any]', 'List input', 'a list'),
  inputType('Object', 'dict[str,any]', 'Object input', 'an object'),
  inputType('Any', 'any', 'Any input', 'a value of any type'),
]
