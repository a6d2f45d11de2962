// constant.*: values that stand in the graph itself. What a run gives as params enters through input.*.
import type { NodeType } from '../engine/node-type.ts'
import { option, output } from './define.ts'

function constantType(name: string, type: string, title: string, what: string, value: unknown): NodeType {
  return {
    node_type: `constant.${name}`,
    title,
    description: `Gives ${what} that is written down in the graph.`,
    properties: [option('value', type, 'What to give.', { default: value })],
    cost: 0,
    outputs: [output('output', type)],
    gives_all: true,
    run: ({ value }) => ({ output: value }),
  }
}

export const constantNodes: NodeType[] = [
  constantType('String', 'str', 'Text', 'a text', ''),
  constantType('Integer', 'int', 'Integer', 'a whole number', 0),
  constantType('Float', 'float', 'Number', 'a number', 0),
  constantType('Boolean', 'bool', 'Yes or no', 'true or false', false),
  constantType('List', 'list[any]', 'List', 'a list', []),
  constantType('Object', 'dict[str,any]', 'Object', 'an object', {}),
]
