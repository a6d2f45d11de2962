// Suggestions of validation: the converting node, the intended name, and the accepted values.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import { ConversionHints } from '../../src/engine/compile/conversion-hints.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE, createEnumType, isAssignable, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry, createRegistry } from '../../src/nodes/registry.ts'
import { leastProcessorMs } from '../helpers/processor.ts'
import { errors, only } from './issues.ts'
import { graph, node, outputs, sink, source, testType, withTypes } from './kit.ts'

const messages = (list: { message: string }[]) => list.map((one) => one.message)

describe('conversions', () => {
  const conversions = new ConversionHints(builtinRegistry)
  const names = (from: string, to: string) =>
    conversions.findProposals(parseType(from), parseType(to)).map((one) => one.node_type)

  test('of each built-in type match its inputs and outputs', () => {
    const marked = builtinRegistry.all().filter((type) => type.converts)
    assert.ok(marked.length >= 10)
    for (const { node_type, converts, properties, outputs, supports_dynamic_inputs } of marked) {
      for (const { from, to, how } of converts!) {
        const given = to === 'item' ? ANY_TYPE : to
        assert.ok(
          supports_dynamic_inputs || properties.some((property) => isAssignable(from, property.type)),
          `${node_type} takes no ${from.type}`,
        )
        assert.ok(
          outputs.some((output) => isAssignable(output.type, given)),
          `${node_type} gives no ${given.type}`,
        )
        assert.match(how, /^[a-z].*[^.]$/)
      }
    }
  })

  test('are proposed with the best first', () => {
    const best: [string, string, string][] = [
      ['int', 'str', 'text.FromValue'],
      ['bool', 'str', 'text.FromValue'],
      ['union[int,str]', 'str', 'text.FromValue'],
      ['str', 'int', 'math.ParseNumber'],
      ['str', 'float', 'math.ParseNumber'],
      ['str', 'dict', 'json.Parse'],
      ['list', 'str', 'text.Join'],
      ['list[str]', 'str', 'text.Join'],
      ['list[dict]', 'str', 'json.Stringify'],
      ['dict', 'str', 'json.Stringify'],
      ['list[int]', 'int', 'control.ForEach'],
      ['dict', 'int', 'dict.Get'],
      ['dict', 'list[str]', 'dict.Keys'],
      ['float', 'bool', 'compare.Compare'],
      ['list', 'bool', 'compare.IsEmpty'],
    ]
    for (const [from, to, expected] of best) assert.equal(names(from, to)[0], expected, `${from} → ${to}`)
  })

  test('are not proposed if none helps', () => {
    assert.deepEqual(names('image', 'str'), [])
    assert.deepEqual(names('int', 'dict'), [])
    assert.ok(!names('list[str]', 'float').includes('control.ForEach'))
    assert.equal(conversions.describeProposals(parseType('image'), parseType('str')), '')
  })

  test('are both proposed if two are equally good', () => {
    assert.equal(
      conversions.describeProposals(parseType('list[dict]'), parseType('dict')),
      ' control.ForEach in between gives the items one by one, list.Get gives one of the items.',
    )
  })

  test('come only from the registry', () => {
    const image: NodeType = testType('test.Describe', {
      converts: [{ from: parseType('image'), to: parseType('str'), how: 'tells what can be seen' }],
    })
    assert.equal(
      new ConversionHints(createRegistry([image])).describeProposals(parseType('image'), parseType('str')),
      ' test.Describe in between tells what can be seen.',
    )
    assert.equal(new ConversionHints(createRegistry([])).describeProposals(parseType('int'), parseType('str')), '')
  })

  test('make the graph valid when the proposed node is put in between', async () => {
    const nodes = [node('in', 'input.List', { name: 'in', value: ['a', 'b'] }), node('n', 'text.Trim'), sink('out')]
    const wrong = graph(nodes, ['in.output->n.text', 'n.output->out.value'])
    assert.match(
      only(wrong, 'type_mismatch').message,
      /^Output "output" of node "in" is list\[any\], but input "text" of node "n" takes str\. text\.Join in between makes one text of the items\.$/,
    )
    const right = graph(
      [...nodes, node('join', 'text.Join')],
      ['in.output->join.list', 'join.output->n.text', 'n.output->out.value'],
    )
    assert.equal((await outputs(right)).out?.[0], 'ab')
  })

  test('shorten a type of the graph in messages', () => {
    const long = { type: 'enum', values: Array.from({ length: 200 }, (_, at) => `${at}${'x'.repeat(1000)}`) }
    const call = node('call', 'workflow.Call', { workflow_id: 'w' }, { dynamic_outputs: { a: long } })
    const { message } = only(graph([call, node('n', 'math.Round')], ['call.a->n.value']), 'type_mismatch')
    assert.match(message, /is enum\(0x+… \|/)
    assert.ok(message.length < 500)
  })
})

describe('suggestions of names', () => {
  const meant = (written: string) =>
    /Did you mean (.*)\?$/.exec(only(graph([node('n', written)], []), 'unknown_node').message)?.[1]

  test('name the node type for a common typo', () => {
    const slips: [string, string][] = [
      ['text.template', '"text.Template"'],
      ['Template', '"prompt.Template" or "text.Template"'],
      ['txt.Template', '"text.Template"'],
      ['string.Template', '"prompt.Template" or "text.Template"'],
      ['texts.Templates', '"text.Template"'],
      ['text_template', '"text.Template"'],
      ['text/Join', '"text.Join"'],
      ['for_each', '"control.ForEach"'],
      ['if', '"control.If"'],
      ['input.Str', '"input.String"'],
      ['input.Text', '"input.String"'],
      ['input.Number', '"input.Float"'],
    ]
    for (const [written, expected] of slips) assert.equal(meant(written), expected, written)
    assert.equal(meant('video.Transcode'), undefined)
    assert.equal(meant('x'.repeat(100_000)), undefined)
    assert.equal(meant('.'), undefined)
  })

  test('name up to three equally near node types', () => {
    const registry = createRegistry(['a.Same', 'b.Same', 'c.Same', 'd.Same'].map((name) => testType(name, {})))
    const { message } = only(graph([node('n', 'Same')], []), 'unknown_node', registry)
    assert.match(message, /Did you mean "a\.Same", "b\.Same" or "c\.Same"\?$/)
  })

  test('name the handle for a common typo', () => {
    const nodes = [
      source('in', true),
      node('if', 'control.If', { condition: true }),
      node('t', 'text.Trim', { text: '' }),
    ]
    const message = (text: string) => only(graph(nodes, [text]), 'unknown_handle').message
    assert.match(message('if.ifTrue->t.text'), /Did you mean "if_true"\?$/)
    assert.match(message('in.output->if.cond'), /Did you mean "condition"\?$/)
    assert.match(message('t.result->if.value'), /has no output "result"\. Available: "output"\.$/)
    assert.match(
      message('t.text->if.value'),
      /has no output "text"\. "text" is an input of it\. Available: "output"\.$/,
    )
    assert.match(
      message('in.output->t.output'),
      /has no input "output"\. "output" is an output of it\. Available: "text"/,
    )
    assert.match(
      message('t.->if.value'),
      /An edge out of node "t" \(text\.Trim\) names no output\. Available: "output"/,
    )
    assert.match(message('in.output->t.'), /An edge into node "t" \(text\.Trim\) names no input\. Available: "text"/)
  })

  test('name a value of a property', () => {
    const of = graph([node('n', 'text.Case', { text: 'x', to: 'Upper' })], [])
    assert.match(only(of, 'type_mismatch').message, /, got "Upper"\. Did you mean "upper"\?$/)
    const choice = testType('test.Choice', { properties: [{ name: 'op', type: createEnumType('!=', '==', '>=') }] })
    const sign = (op: unknown) =>
      only(graph([node('n', 'test.Choice', { op })], []), 'type_mismatch', withTypes(choice))
    assert.match(sign('=').message, /expected enum\(!= \| == \| >=\), got "="\. Did you mean "=="\?$/)
    assert.match(sign('').message, /got ""\.$/)
    assert.match(sign(5).message, /got 5\.$/)
  })
})

describe('long names that are nearly the same', () => {
  const alike = 'a'.repeat(53)
  const named = (at: number) => `${alike}${'b'.repeat(24)}${String(at).padStart(3, '0')}`
  const slip = (at: number) => `${alike}${'c'.repeat(24)}${String(at).padStart(3, '0')}`
  const slips = Array.from({ length: 20 }, (_, at) => slip(at))
  const names = Array.from({ length: 199 }, (_, at) => named(at))

  test('are found where a few letters are others', () => {
    const of = graph([node(named(0), 'text.Trim', { text: '' })], [`${named(0).replace('000', '0x0')}.output -> x.y`])
    assert.match(errors(of)[0]!.message, /Did you mean "a+b+000"\?/)
  })

  /** A stored graph of this size is compiled at once. */
  test('are compared in little time', () => {
    const script = node('code', 'code.JavaScript', { code: '' })
    const dynamic_outputs = Object.fromEntries(names.map((name) => [name, { type: 'str' }]))
    const trims = names.map((name) => node(name, 'text.Trim', { text: '' }))
    const of: Graph = {
      nodes: [{ ...script, dynamic_outputs }, ...trims],
      edges: slips.flatMap((name, at) => [
        { source: 'code', sourceHandle: name, target: named(at), targetHandle: 'text' },
        { source: name, sourceHandle: 'output', target: named(at + 50), targetHandle: 'text' },
      ]),
    }
    assert.equal(errors(of).length, 40)
    const took = leastProcessorMs(200, () => compileGraph(of, builtinRegistry))
    assert.ok(took < 200, `${took.toFixed(0)} ms of the processor`)
  })
})

test('a missing property is reported with the values that it takes', () => {
  const many = testType('test.Many', {
    properties: [
      { name: 'kind', type: createEnumType('a', 'b'), required: true, description: 'Which one. Not told: the rest.' },
      { name: 'count', type: parseType('int'), required: true },
      { name: 'value', type: ANY_TYPE, required: true, description: 'What to take.' },
      { name: 'plain', type: ANY_TYPE, required: true },
    ],
  })
  assert.deepEqual(messages(errors(graph([node('n', 'test.Many')], []), withTypes(many))), [
    'Input "kind" of node "n" needs a value or an edge. It takes one of a, b: Which one.',
    'Input "count" of node "n" needs a value or an edge. It takes int.',
    'Input "value" of node "n" needs a value or an edge. It takes any value: What to take.',
    'Input "plain" of node "n" needs a value or an edge.',
  ])
  const stream = only(graph([node('n', 'control.Collect')], []), 'missing_property').message
  assert.match(stream, /^Input "item" of node "n" needs a stream\. It takes any value: The items\./)
})
