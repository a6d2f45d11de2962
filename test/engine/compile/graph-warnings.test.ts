// Warnings, which keep no graph from running, and their cost in graphs with many faults.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../../src/engine/compile/compiler.ts'
import { ANY_TYPE, parseType } from '../../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { processorMs } from '../../helpers/processor.ts'
import { only, warnings } from '../issues.ts'
import { edge, graph, node, outputs, sink, source, testType, withTypes } from '../kit.ts'

const messages = (list: { message: string }[]) => list.map((one) => one.message)

describe('warnings', () => {
  const codes = (of: Parameters<typeof warnings>[0]) => warnings(of).map((one) => [one.code, one.node_id, one.pin_name])

  test('report a key that is nearly a property', () => {
    const join = (data: object) => graph([node('n', 'text.Join', { list: [], ...data })], [])
    assert.deepEqual(messages(warnings(join({ seperator: ',' }))), [
      'Node "n" (text.Join) has no property "seperator", so its value is not used. Did you mean "separator"?',
    ])
    assert.deepEqual(codes(join({ timeout: 3 })), [['unknown_property', 'n', 'timeout']])
    assert.deepEqual(warnings(join({ seperator: ',', separator: ';' })), [])
    const asks = graph([node('n', 'http.Request', { url: 'http://localhost', retrys: 3 })], [])
    assert.match(messages(warnings(asks))[0]!, /Did you mean "retries"\?$/)
    assert.match(messages(warnings(join({ retrys: 3 })))[0]!, /Did you mean "retry"\?$/)
    assert.deepEqual(warnings(join({ comment: 'mine', color: 'red', retry: { attempts: 2 } })), [])
  })

  test('do not report a key beside an edge or a dynamic input', () => {
    const nodes = [source('in', 'x'), node('n', 'text.Trim', { txt: 5 }), sink('out')]
    assert.deepEqual(warnings(graph(nodes, ['in.output->n.text', 'n.output->out.value'])), [])
    const formula = node('n', 'math.Formula', { formula: '1', formul: 2 }, { dynamic_properties: { formul: null } })
    assert.deepEqual(warnings(graph([formula], [])), [])
  })

  test('report the wrong name of a required property, which is also missing', () => {
    const of = graph([node('n', 'text.Template', { templte: '' })], [])
    only(of, 'missing_property')
    assert.deepEqual(codes(of), [['unknown_property', 'n', 'templte']])
  })

  test('report a placeholder without an input', () => {
    const of = (template: string, more: (string | object)[] = [], type = 'text.Template') =>
      messages(
        warnings(
          graph(
            [source('in', 'x'), node('n', type, { template }), sink('out')],
            ['in.output->n.name', 'n.output->out.value', ...(more as string[])],
          ),
        ),
      )
    const told = (type: string, name: string, hint: string) =>
      `Property "template" of node "n" (${type}) uses "${name}", which is not an input of the node.${hint}`
    assert.deepEqual(of('Hi {{ nmae }}'), [told('text.Template', 'nmae', ' Did you mean "name"?')])
    assert.deepEqual(of('{{who.first}}', [], 'text.RenderHtml'), [
      told('text.RenderHtml', 'who.first', ' Available: "name".'),
    ])
    for (const fine of ['', '{{name}}', '{{ name.first[0] }}', '{{']) assert.deepEqual(of(fine), [], fine)
    assert.deepEqual(of('{{nmae}}', ['in.output->n.template']), [])
  })

  const call = (more: object) => graph([node('n', 'workflow.Call', { workflow_id: 'w' }, more)], [])

  test('report a dynamic output of unknown type', () => {
    const [text, list] = [{ type: 'string' }, { type: 'list', type_args: [{ type: 'number' }] }]
    const told = messages(warnings(call({ dynamic_outputs: { a: text, b: list, c: 'str', d: { type: 'teapot' } } })))
    assert.equal(told[0], 'Dynamic output "a" of node "n" (workflow.Call): "string" is no type. Did you mean "str"?')
    assert.match(told[1]!, /"number" is no type\. Did you mean "float"\?$/)
    assert.match(told[2]!, /a type is written \{"type": "str"\}/)
    assert.match(told[3]!, /"teapot" is no type\.$/)
    assert.deepEqual(warnings(call({ dynamic_outputs: { a: null, b: {}, c: { type: 'dict' } } })), [])
  })

  test('report a dynamic input whose type is taken for a value', () => {
    const near = warnings(call({ dynamic_properties: { a: { type: 'boolean' } } }))
    assert.deepEqual(
      near.map((one) => [one.code, one.pin_name]),
      [['unknown_type', 'a']],
    )
    assert.match(near[0]!.message, /"boolean" is no type, so the entry is taken as a value\. Did you mean "bool"\?$/)
    const values = { a: { type: 'circle' }, b: { type: 'string', radius: 1 }, c: 'string', d: { type: 'int' }, e: null }
    assert.deepEqual(warnings(call({ dynamic_properties: values })), [])
  })

  test('report dynamic handles that are ignored', () => {
    const dynamic_properties = JSON.parse('{"workflow_id": 1, "__proto__": 2, "fine": 3}')
    assert.deepEqual(codes(call({ dynamic_properties })), [
      ['ignored_handle', 'n', 'workflow_id'],
      ['ignored_handle', 'n', '__proto__'],
    ])
    const trim = node('n', 'text.Trim', { text: '' }, { dynamic_properties: { a: 1 }, dynamic_outputs: { output: {} } })
    assert.deepEqual(messages(warnings(graph([trim], []))), [
      'Dynamic input "a" of node "n" (text.Trim) is ignored: the node type takes no dynamic inputs.',
      'Dynamic output "output" of node "n" (text.Trim) is ignored: the node type has an output of that name itself.',
    ])
  })
})

describe('warnings about unused outputs', () => {
  const row = [source('in', 'x'), sink('out'), node('a', 'text.FromValue'), node('b', 'text.Trim')]
  const used = ['in.output->out.value']

  test('report the last node of an unused chain, and an unused input', () => {
    const dead = graph(row, [...used, 'in.output->a.value', 'a.output->b.text'])
    assert.deepEqual(messages(warnings(dead)), [
      'Nothing uses the outputs of node "b" (text.Trim), so it does not contribute to the result.',
    ])
    const unused = graph([...row.slice(0, 2), node('x', 'input.Any', { name: 'spare', value: 1 })], used)
    assert.deepEqual(messages(warnings(unused)), ['Nothing uses the input "spare" (node "x").'])
    const ordered = { source: 'b', target: 'out', edge_type: 'control' as const }
    assert.deepEqual(warnings(graph(row, [...used, 'in.output->a.value', 'a.output->b.text', ordered])), [])
  })

  test('are absent if a node has an effect, without output nodes, and in an invalid graph', () => {
    const call = node('call', 'workflow.Call', { workflow_id: 'w' })
    assert.deepEqual(warnings(graph([...row.slice(0, 2), call], [...used, 'in.output->call.text'])), [])
    assert.deepEqual(warnings(graph([source('in', 1), node('a', 'text.FromValue')], ['in.output->a.value'])), [])
    const fail = node('f', 'control.Fail', { condition: false })
    assert.deepEqual(warnings(graph([...row.slice(0, 2), fail], [...used, 'in.output->f.value'])), [])
    assert.deepEqual(warnings(graph([...row, node('z', 'no.Such')], [...used, 'a.output->b.text'])), [])
    const unsafe = testType('test.Send', {
      retry_safe: false,
      outputs: [{ name: 'output', type: ANY_TYPE }],
      run: () => ({}),
    })
    assert.deepEqual(warnings(graph([...row.slice(0, 2), node('s', 'test.Send')], used), withTypes(unsafe)), [])
    const asks = testType('test.Ask', {
      retry_safe: () => true,
      outputs: [{ name: 'output', type: ANY_TYPE }],
      run: () => ({}),
    })
    assert.deepEqual(warnings(graph([...row.slice(0, 2), node('s', 'test.Ask')], used), withTypes(asks)), [])
    const sends = testType('test.Post', {
      required_settings: ['KEY'],
      outputs: [{ name: 'output', type: ANY_TYPE }],
      run: () => ({}),
    })
    assert.deepEqual(warnings(graph([...row.slice(0, 2), node('s', 'test.Post')], used), withTypes(sends)), [])
  })

  test('report an output node that may do without a value and has none', () => {
    const optional = testType('test.Show', {
      role: 'output',
      properties: [
        { name: 'name', type: parseType('str'), required: true },
        { name: 'value', type: ANY_TYPE },
      ],
    })
    const of = graph([node('n', 'test.Show', { name: 'shown' })], [])
    assert.deepEqual(messages(warnings(of, withTypes(optional))), [
      'Output "shown" (node "n") never gets a value: no edge leads to it.',
    ])
  })

  test('list only the first, and the number of further ones', () => {
    const idle = Array.from({ length: 50 }, (_, at) => node(`n${at}`, 'text.Trim', { text: '' }))
    const all = warnings(graph([...row.slice(0, 2), ...idle], used))
    assert.equal(all.length, 21)
    assert.deepEqual(all.at(-1), {
      severity: 'warning',
      code: 'unreachable_output',
      message: 'There are 30 more warnings of this kind.',
      node_id: null,
      pin_name: null,
    })
  })
})

test('a graph with warnings runs', async () => {
  const nodes = [source('in', 'x'), sink('out'), node('n', 'text.Trim', { text: '', sde: 'start' })]
  const of = graph(nodes, ['in.output->out.value'])
  assert.equal(compileGraph(of, builtinRegistry).issues.length, 2)
  assert.deepEqual((await outputs(of)).out, ['x'])
})

describe('warnings in a graph with ten thousand faults', () => {
  const many = (make: (at: number) => ReturnType<typeof node>) => Array.from({ length: 10_000 }, (_, at) => make(at))
  const hostile: [string, () => ReturnType<typeof graph>][] = [
    [
      'unknown types',
      () =>
        graph(
          many((at) => node(`n${at}`, `text.Templte${at}`)),
          [],
        ),
    ],
    [
      'keys',
      () =>
        graph(
          many((at) => node(`n${at}`, 'text.Join', { list: [], [`separator${at}`]: 1 })),
          [],
        ),
    ],
    [
      'types that do not fit',
      () =>
        graph(
          [node('in', 'input.String', { name: 's' }), ...many((at) => node(`n${at}`, 'math.Round'))],
          many((at) => node(`n${at}`, '')).map(({ id }) => edge(`in.output->${id}.value`)),
        ),
    ],
    [
      'types of many parts',
      () => {
        const parts = Array.from({ length: 5000 }, (_, at) => ({ type: `t${at}` }))
        const outputs = { a: { type: 'union', type_args: [...parts, { type: 'str' }] } }
        const inputs = { type: 'union', type_args: parts.toReversed() }
        const ends = Array.from({ length: 100 }, (_, at) =>
          node(`n${at}`, 'workflow.Call', { workflow_id: 'w' }, { dynamic_properties: { x: inputs } }),
        )
        const call = node('call', 'workflow.Call', { workflow_id: 'w' }, { dynamic_outputs: outputs })
        const edges = Array.from({ length: 10_000 }, (_, at) => edge(`call.a->n${at % 100}.x`))
        return graph([call, ...ends], edges)
      },
    ],
  ]
  for (const [what, make] of hostile) {
    test(`${what} are found in less than a second of processor time`, () => {
      const of = make()
      let issues: ReturnType<typeof compileGraph>['issues'] = []
      const took = processorMs(() => {
        issues = compileGraph(of, builtinRegistry).issues
      })
      assert.ok(issues.length > 0)
      assert.ok(issues.every((one) => one.message.length < 1000))
      assert.ok(took < 1000, `${Math.round(took)} ms`)
    })
  }
})
