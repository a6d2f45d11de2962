// Issues of single nodes: their types, ids, names and own values.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { takesLess } from '../helpers/patience.ts'
import { errors, found, only } from './issues.ts'
import { control, edge, graph, node, run, sink, source, testType, withTypes } from './kit.ts'

describe('nodes', () => {
  test('an unknown type is reported with a suggestion', () => {
    const issue = only(graph([node('n', 'text.Templat')], []), 'unknown_node')
    assert.deepEqual([issue.node_id, issue.severity], ['n', 'error'])
    assert.equal(issue.message, 'There is no node type "text.Templat". Did you mean "text.Template"?')
    assert.match(
      only(graph([node('n', 'Template')], []), 'unknown_node').message,
      /Did you mean "prompt.Template" or "text.Template"\?/,
    )
    assert.doesNotMatch(only(graph([node('n', 'zzzzzzzzzz')], []), 'unknown_node').message, /Did you mean/)
  })

  test('edges of a node of unknown type cause no further issue', () => {
    only(graph([node('n', 'no.Such'), sink('out')], ['n.output->out.value']), 'unknown_node')
  })

  test('an edge with one invalid end has its other end checked all the same', () => {
    const pairs = (of: Graph) => errors(of).map((one) => [one.code, one.node_id, one.pin_name])
    const unknown = graph([node('n', 'no.Such'), node('t', 'text.Trim', { text: 'x' })], ['n.output->t.txt'])
    assert.deepEqual(pairs(unknown), [
      ['unknown_node', 'n', null],
      ['unknown_handle', 't', 'txt'],
    ])
    assert.deepEqual(pairs(graph([source('in', 1)], ['in.outptu->ghost.value'])), [
      ['dangling_edge', 'in', 'outptu'],
      ['unknown_handle', 'in', 'outptu'],
    ])
    assert.deepEqual(pairs(graph([node('t', 'text.Trim', { text: 'x' })], ['ghost.output->t.txt'])), [
      ['dangling_edge', 't', 'txt'],
      ['unknown_handle', 't', 'txt'],
    ])
  })

  test('hints stay cheap in a graph of misspelt handles', async () => {
    const names = Array.from({ length: 3000 }, (_, at) => `a_rather_long_name_of_an_output_${at}`)
    const wide = (count: number) =>
      graph(
        [
          node(
            'call',
            'workflow.Call',
            { workflow_id: 'x' },
            {
              dynamic_outputs: Object.fromEntries(names.slice(0, count).map((name) => [name, null])),
            },
          ),
          sink('out'),
        ],
        names.map((name) => edge(`call.${name.replace('rather', 'rahter')}->out.value`)),
      )
    const hinted = (count: number) => errors(wide(count)).filter((one) => /Did you mean/.test(one.message)).length
    await takesLess(3000, () => {
      assert.equal(hinted(100), 20)
      assert.equal(hinted(3000), 0)
    })
  })

  test('two nodes with one id, two outputs or two inputs with one name are reported', () => {
    assert.equal(
      only(graph([source('n', 1), node('n', 'input.Any', { name: 'x', value: 1 })], []), 'duplicate_id').node_id,
      'n',
    )
    const twice = (type: string) =>
      graph([node('a', type, { name: 'same', value: 1 }), node('b', type, { name: 'same', value: 1 })], [])
    assert.equal(only(twice('output.Output'), 'duplicate_id').pin_name, 'name')
    assert.match(only(twice('input.Any'), 'duplicate_id').message, /input nodes "a" and "b" have the same name "same"/)
    const both = [node('a', 'input.Any', { name: 'x', value: 1 }), node('b', 'output.Output', { name: 'x' })]
    assert.deepEqual(errors(graph(both, ['a.output->b.value'])), [])
  })

  test('a required property without an edge or a value is reported', () => {
    const issue = only(graph([node('n', 'list.Length')], []), 'missing_property')
    assert.deepEqual([issue.node_id, issue.pin_name], ['n', 'list'])
    only(graph([node('n', 'list.Length', { list: null })], []), 'missing_property')
    only(graph([node('n', 'control.Collect', { item: [1] })], []), 'missing_property')
    only(graph([node('n', 'input.String', { name: '' })], []), 'missing_property')
    const nameless = only(graph([node('n', 'input.String')], []), 'missing_property').message
    assert.match(nameless, /^Input "name" of node "n" needs a value\. It takes str: /)
    const output = graph([node('n', 'output.Output', { value: 1 })], [])
    assert.match(only(output, 'missing_property').message, /^Input "name" of node "n" needs a value\./)
    assert.deepEqual(errors(graph([node('n', 'list.Length', { list: [] })], [])), [])
  })

  test('an input that an edge under another name was meant for is not reported as missing as well', () => {
    const two = testType('test.Two', {
      properties: ['first', 'second'].map((name) => ({ name, type: parseType('int'), required: true })),
    })
    const told = (...names: string[]) => {
      const edges = names.map((name) => `in.output->n.${name}`)
      const all = errors(graph([source('in', 1), node('n', 'test.Two')], edges), withTypes(two))
      return all.filter((one) => one.code === 'missing_property').map((one) => one.pin_name)
    }
    assert.deepEqual(told(), ['first', 'second'])
    assert.deepEqual(told('frist'), ['second'])
    assert.deepEqual(told('other'), ['first', 'second'])
    assert.deepEqual(told('frist', 'other'), [])
    assert.deepEqual(told('first', 'other'), [])
    const signal = { ...control('in', 'n'), targetHandle: 'list' }
    only(graph([source('in', 1), node('n', 'list.Length')], [signal]), 'missing_property')
  })

  test('an own value of the wrong type or out of range is reported', () => {
    const issue = only(graph([node('n', 'control.Delay', { seconds: 'soon' })], []), 'type_mismatch')
    assert.equal(issue.message, 'Property "seconds" of node "n": expected a float, got a string.')
    assert.match(
      only(graph([node('n', 'control.Delay', { seconds: -1 })], []), 'out_of_range').message,
      /must be at least 0/,
    )
    assert.match(
      only(graph([node('n', 'text.Case', { text: 'x', to: 'loud' })], []), 'type_mismatch').message,
      /expected enum\(upper \| lower/,
    )
    assert.match(
      only(graph([node('n', 'text.Join', { list: 5, separator: 1 })], []), 'type_mismatch').message,
      /"separator"/,
    )
  })

  test('limits of an input that no value or not its own value can meet are reported', () => {
    const input = (data: object) => graph([node('n', 'input.Integer', { name: 'n', ...data })], [])
    const crossed = only(input({ min: 9, max: 1 }), 'out_of_range')
    assert.equal(crossed.message, 'Property "min" of node "n": must be at most 1, which is its max.')
    assert.equal(crossed.pin_name, 'min')
    assert.match(only(input({ value: 3, min: 4 }), 'out_of_range').message, /"value" of node "n": must be at least 4/)
    assert.match(only(input({ value: 3, max: 2 }), 'out_of_range').message, /"value" of node "n": must be at most 2/)
    assert.deepEqual(errors(input({ value: 3, min: 3, max: 3 })), [])
    assert.deepEqual(errors(input({ value: 3, max: 2, stream: true })), [])
  })

  test('a dynamic input cannot take the place of a property', () => {
    const of = graph([node('n', 'text.Template', { template: '' }, { dynamic_properties: { template: 5 } })], [])
    assert.deepEqual(errors(of), [])
    assert.deepEqual(compileGraph(of, builtinRegistry).plan?.nodes[0]?.constants, { template: '' })
  })

  test('a parent that is not a node is ignored', () => {
    assert.deepEqual(found(graph([node('n', 'text.Trim', { text: 'x' }, { parent_id: 'nowhere' })], [])), [])
  })

  test('a stale value under an edge is ignored', () => {
    assert.deepEqual(errors(graph([source('in', 'x'), node('n', 'text.Trim', { text: 5 })], ['in.output->n.text'])), [])
  })

  test('a dynamic input that the node type cannot take is reported', async () => {
    const formula = (more: object = {}) => node('n', 'math.Formula', { formula: 'a + 1' }, more)
    const text = graph([node('in', 'input.String', { name: 's', value: 'x' }), formula()], ['in.output->n.a'])
    assert.match(
      only(text, 'type_mismatch').message,
      /^Output "output" of node "in" is str, but input "a" of node "n" takes union\[float, bool\]\. math\.ParseNumber in between/,
    )
    assert.equal(
      only(graph([formula({ dynamic_properties: { a: 'x' } })], []), 'type_mismatch').message,
      'Dynamic input "a" of node "n": expected union[float, bool], got a string.',
    )
    const declared = (type: string) => ({ dynamic_properties: { a: { type } } })
    only(
      graph([node('in', 'input.String', { name: 's' }), formula(declared('str'))], ['in.output->n.a']),
      'type_mismatch',
    )
    for (const type of ['any', 'int', 'bool', 'float']) {
      const of = graph([source('in', 2), formula(declared(type))], ['in.output->n.a'])
      assert.deepEqual(errors(of), [])
      const outcome = await run(of)
      if (type === 'bool') assert.ok(outcome.status === 'failed' && outcome.error.type === 'type_mismatch')
      else assert.equal(outcome.status, 'completed')
    }
    const late = await run(graph([source('in', 'x'), formula()], ['in.output->n.a']))
    assert.ok(late.status === 'failed')
    assert.deepEqual(
      [late.error.type, late.error.message],
      ['type_mismatch', 'Input "a" of node "n": expected union[float, bool], got a string.'],
    )
  })

  test('a dynamic input whose value is not of its declared type is reported', () => {
    const typed = testType('test.Typed', { supports_dynamic_inputs: true, run: () => ({}) })
    const of = graph([node('n', 'test.Typed', { x: 'text' }, { dynamic_properties: { x: { type: 'int' } } })], [])
    assert.match(
      only(of, 'type_mismatch', withTypes(typed)).message,
      /Dynamic input "x" of node "n": expected an integer \(int\), got a string/,
    )
  })
})
