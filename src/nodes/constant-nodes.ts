// constant.*: values that stand in the graph itself. The params of a run enter through input.*.
import type { NodeType } from '../engine/node-api/node-type.ts'
import { optionalProperty, valueOutput } from './shared/node-type-builders.ts'

function defineConstant(name: string, type: string, title: string, what: string, value: unknown): NodeType {
  return {
    node_type: `constant.${name}`,
    title,
    description: `Gives ${what} that is stored in the graph.`,
    properties: [optionalProperty('value', type, 'The value to give.', { default: value })],
    cost: 0,
    outputs: [valueOutput('output', type)],
    gives_all: true,
    run: ({ value }) => ({ output: value }),
  }
}

export const constantNodes: NodeType[] = [
  defineConstant('String', 'str', 'Text', 'a text', ''),
  defineConstant('Integer', 'int', 'Integer', 'a whole number', 0),
  defineConstant('Float', 'float', 'Number', 'a number', 0),
  defineConstant('Boolean', 'bool', 'Yes or no', 'true or false', false),
  defineConstant('List', 'list[any]', 'List', 'a list', []),
  defineConstant('Object', 'dict[str,any]', 'Object', 'an object', {}),
]
