// `svc validate` reports every problem with its node, as lines and as JSON, and the inputs and outputs of a valid workflow.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { echo, graphOf } from '../cli/kit.ts'
import { svc } from '../helpers/process.ts'

const validate = (value: unknown, ...args: string[]) =>
  svc(['validate', '-', ...args], {}, { stdin: typeof value === 'string' ? value : JSON.stringify(value) })

const bad = graphOf(
  [
    { id: 'a', type: 'text.Templat', data: {} },
    { id: 'b', type: 'text.Template', data: {} },
    { id: 'out', type: 'output.Output', data: { name: 'x' } },
  ],
  ['b.outptu>out.value'],
)

describe('svc validate', () => {
  test('prints the size, inputs and outputs of a valid workflow, and ends with 0', async () => {
    const graph = echo(
      { name: 'name', type: 'String', data: { description: 'Who is meant.' } },
      { name: 'times', type: 'Integer', data: { value: 3 } },
      { name: 'lines', type: 'String', data: { stream: true } },
    )
    const { code, stdout, stderr } = await validate(graph)
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(
      stdout,
      [
        'standard input is valid: 6 nodes, 3 edges',
        'inputs:',
        '  name   str            required   Who is meant.',
        '  times  int            default 3',
        '  lines  stream of str',
        'outputs:',
        '  name   str',
        '  times  int',
        '  lines  stream of str',
        '',
      ].join('\n'),
    )
  })

  test('prints every problem with its node, handle and hint, then a total, and ends with 3', async () => {
    const { code, stdout, stderr } = await validate(bad)
    assert.deepEqual([code, stderr], [3, ''])
    assert.match(stdout, /^error a: .*Did you mean "text\.Template"\? \(unknown_node\)$/m)
    assert.match(stdout, /^error b\.outptu: .*"output".* \(unknown_handle\)$/m)
    assert.match(stdout, /^error b\.template: .* \(missing_property\)$/m)
    assert.match(stdout, /^standard input is not valid: \d errors$/m)
    assert.ok(!stdout.includes('\u001b'))
  })

  test('prints the errors in a schema, code and a pattern that take long to parse', async () => {
    const long = '//'.padEnd(70_000, 'x')
    const nodes = [
      { id: 'wait', type: 'control.WaitFor', data: { name: 'x', schema: { $ref: '#/$defs/none' } } },
      { id: 'code', type: 'code.JavaScript', data: { code: `${long}\nreturn {` } },
      { id: 'find', type: 'regex.FindAll', data: { text: '', pattern: `${'[a-\\x{10FFFF}]'.repeat(8)}(` } },
    ]
    const { code, stdout, stderr } = await validate(graphOf(nodes, []))
    assert.deepEqual([code, stderr], [3, ''])
    assert.match(stdout, /^error wait\.schema: .*\$defs\/none.* \(invalid_expression\)$/m)
    assert.match(stdout, /^error code\.code: .*SyntaxError: .*line 2\)? \(invalid_expression\)$/m)
    assert.match(stdout, /^error find\.pattern: .*missing closing.* \(invalid_expression\)$/m)
  })

  test('prints the issues and the interface as JSON', async () => {
    const refused = await validate(bad, '--json')
    const { valid, issues, inputs, outputs } = JSON.parse(refused.stdout)
    assert.deepEqual([refused.code, valid, inputs, outputs], [3, false, [], []])
    assert.deepEqual(Object.keys(issues[0]), ['severity', 'code', 'message', 'node_id', 'pin_name'])
    assert.ok(
      issues.some((issue: { code: string; node_id: string }) => issue.code === 'unknown_node' && issue.node_id === 'a'),
    )
    const taken = await validate(echo({ name: 'n', type: 'Integer', data: { min: 1 } }), '--json')
    const record = JSON.parse(taken.stdout)
    assert.deepEqual([taken.code, record.valid, record.issues], [0, true, []])
    assert.deepEqual(
      record.inputs.map((input: { name: string; type: string; min: number }) => [input.name, input.type, input.min]),
      [['n', 'int', 1]],
    )
    assert.deepEqual(record.outputs, [{ name: 'n', type: 'int', stream: false, description: '' }])
  })

  test('prints the wrong places of a file that is not a workflow, as lines and as JSON', async () => {
    const shape = await validate({ nodes: [{ id: 1 }], edges: [] })
    assert.equal(shape.code, 3)
    assert.match(shape.stdout, /^error \/nodes\/0\/id: must be string \(type\)$/m)
    const { issues } = JSON.parse((await validate('{"nodes": [,]}', '--json')).stdout)
    assert.equal(issues.length, 1)
    assert.equal(issues[0].code, 'not_a_workflow')
    assert.match(issues[0].message, /standard input:1:12: this is not JSON: Unexpected token ','/)
  })

  test('ends with 2 for a missing file', async () => {
    const { code, stdout, stderr } = await svc(['validate', 'nowhere.json'])
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^svc: there is no file "nowhere\.json"/)
  })

  test('escapes control characters in ids and names', async () => {
    const id = 'a\u001b[2J\u0007'
    const { stdout } = await validate(graphOf([{ id, type: 'no.\u001b[31mSuch', data: {} }], []))
    assert.match(stdout, /^error a: /)
    assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u)
  })
})
