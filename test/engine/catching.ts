// Node types that fail, and the nodes behind them that the tests of Catch share.
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { item, mapType, node, output, sink, testType, value, withTypes } from './kit.ts'

export const error = (node_id: string, node_type: string, message: string) => ({
  node_id,
  node_type,
  type: 'odd',
  message,
})

export const odd = mapType('test.Odd', (given) => {
  if (Number(given) % 2 === 1) throw new NodeError(`${given} is odd`, 'odd')
  return given
})
export const same = mapType('test.Same', (given) => given)
/** Yields some items, then fails. */
export const broken = testType('test.Broken', {
  properties: [value],
  outputs: [item, { name: 'count', type: ANY_TYPE }],
  *run({ value: given }) {
    for (let at = 0; at < Number(given); at++) yield { item: at }
    throw new NodeError('broken', 'odd')
  },
})
export const pair = testType('test.Pair', {
  properties: [
    { name: 'a', type: ANY_TYPE, required: true },
    { name: 'b', type: ANY_TYPE, required: true },
  ],
  outputs: [output],
  run: ({ a, b }) => ({ output: [a, b] }),
})
export const types = withTypes(odd, same, broken, pair)

export const list = (id: string, given: unknown[]) => node(id, 'control.ForEach', { list: given })

/** Leads `from` into a Catch, whose value goes to `out` and whose error goes to `failed`. */
export const caught = [node('caught', 'control.Catch'), sink('out'), sink('failed')]
export const told = ['caught.value->out.value', 'caught.error->failed.value']
