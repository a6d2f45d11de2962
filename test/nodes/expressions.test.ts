// Formulas, code, patterns, paths, templates and schemas in a node's own values: they are checked before a run, and invalid ones are
// refused.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { compileGraph, isRunnable } from '../../src/engine/compile/compiler.ts'
import type { GraphIssue } from '../../src/engine/compile/graph.ts'
import { validatePendingExpressions } from '../../src/engine/compile/pending-expressions.ts'
import type { BackgroundExpressionReader } from '../../src/engine/node-api/node-facts.ts'
import { parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { requireAcceptedPlan, requireRunnablePlan } from '../../src/workflows/invalid-graph-error.ts'
import { compute } from '../compute/kit.ts'
import { found } from '../engine/issues.ts'
import { graph, node, source, testType, withTypes } from '../engine/kit.ts'
import { PATIENCE_MS } from '../helpers/patience.ts'
import { leastProcessorMs } from '../helpers/processor.ts'

/** By node type: a property, a valid value, an invalid value, and other required properties. */
const CASES: readonly (readonly [type: string, property: string, good: unknown, bad: unknown, more?: object])[] = [
  ['math.Formula', 'formula', '1 + 2 * 3', '1 +* 2'],
  ['math.Formula', 'formula', 'max(1, 2)', 'mix(1, 2)'],
  ['control.Reduce', 'formula', 'total + item', 'total +'],
  ['list.Calculate', 'formula', 'x * 2', 'x ** ', { list: [] }],
  ['dict.MapValues', 'formula', 'x * 2', '(x', { dict: {} }],
  ['data.AddColumn', 'formula', 'price * count', 'price *', { rows: [], name: 'total' }],
  ['data.Filter', 'formula', '', 'price >', { rows: [] }],
  ['data.Filter', 'matches', { a: 'b+' }, { a: 'b', c: '(' }, { rows: [] }],
  ['regex.Match', 'pattern', '(a|b)+', '(?<=a)b', { text: '' }],
  ['regex.FindAll', 'pattern', '', '[', { text: '' }],
  ['regex.Replace', 'pattern', 'a', '*', { text: '' }],
  ['regex.Split', 'pattern', ',', ')', { text: '' }],
  ['date.Format', 'format', 'dd.MM.yyyy', 'DD.MM.YYYY', { date: '2026-01-01' }],
  ['date.Format', 'format', 'long', "'open", { date: '2026-01-01' }],
  ['date.Parse', 'format', '', 'YYYY', { text: '' }],
  ['dict.Get', 'path', '', 'a..b', { dict: {} }],
  ['dict.Set', 'path', 'a.b[0]', '', { dict: {} }],
  ['dict.Remove', 'path', 'a', '', { dict: {} }],
  ['list.Sort', 'by', 'a.b', 'a..b', { list: [] }],
  ['list.Filter', 'by', '', 'a..b', { list: [] }],
  ['list.Unique', 'by', '', 'a..b', { list: [] }],
  ['list.GroupBy', 'by', 'a', 'a..b', { list: [] }],
  ['list.Compare', 'by', '', 'a..b', { a: [], b: [] }],
  ['list.IndexBy', 'by', 'a', 'a..b', { list: [] }],
  ['list.IndexBy', 'value', '', 'a..b', { list: [], by: 'a' }],
  ['list.Pluck', 'path', 'a.b', 'a..b', { list: [] }],
  ['http.Pages', 'items_path', '', 'a..b', { url: 'http://localhost' }],
  ['http.Pages', 'cursor_path', '', 'a..b', { url: 'http://localhost', mode: 'cursor' }],
  ['text.ParseHtml', 'selector', 'a > b', 'a >> b', { html: '' }],
  ['prompt.Template', 'template', '{{#a}}x{{/a}}', '{{#a}}x'],
  ['control.WaitFor', 'schema', { type: 'string' }, { type: 'strng' }, { name: 'x' }],
  ['chat.Structured', 'schema', { type: 'object' }, { type: 'array' }, { model: 'a/b', prompt: 'x' }],
  ['code.JavaScript', 'code', 'return {}', 'return {'],
]

function of(type: string, data: object, edges: readonly string[] = []) {
  const nodes = [source('in', 'x'), node('n', type, data as Record<string, unknown>)]
  return graph(edges.length === 0 ? nodes.slice(1) : nodes, [...edges])
}

const unread = (...given: Parameters<typeof of>) =>
  found(of(...given)).filter(({ code }) => code === 'invalid_expression')

/** Values that take long to check: a valid and an invalid one. */
const WIDE = '[a-\\x{10FFFF}]'.repeat(8)
const REPEATED = 'a{1000}'.repeat(280)
const CLASSES = '\\pL'.repeat(660)
const CLASSES_IN_CODE = `let a;${'/\\p{L}/u;'.repeat(100)}`
const LONG = '//'.padEnd(70_000, 'x')
const LONG_CASES: readonly (readonly [type: string, property: string, good: unknown, bad: unknown, more?: object])[] = [
  ['control.WaitFor', 'schema', { $ref: '#/$defs/a', $defs: { a: {} } }, { $ref: '#/$defs/b' }, { name: 'x' }],
  ['control.WaitFor', 'schema', { pattern: '^a' }, { pattern: '(?<=a)b' }, { name: 'x' }],
  [
    'chat.Structured',
    'schema',
    { type: 'object', patternProperties: { a: {} } },
    { type: 'object', properties: { a: { $ref: 'https://elsewhere.example/a' } } },
    { model: 'a/b', prompt: 'x' },
  ],
  ['regex.Match', 'pattern', WIDE, `${WIDE}(`, { text: '' }],
  ['regex.FindAll', 'pattern', WIDE, `${WIDE}(`, { text: '', ignore_case: true }],
  ['regex.Match', 'pattern', REPEATED, `${REPEATED}(`, { text: '' }],
  ['regex.Match', 'pattern', CLASSES, `${CLASSES}(`, { text: '', ignore_case: true }],
  ['regex.Replace', 'pattern', WIDE, `${WIDE}(`, { text: '' }],
  ['regex.Split', 'pattern', WIDE, `${WIDE}(`, { text: '' }],
  ['data.Filter', 'matches', { a: WIDE }, { a: `${WIDE}(` }, { rows: [] }],
  ['code.JavaScript', 'code', `${CLASSES_IN_CODE}; return {}`, `${CLASSES_IN_CODE}; return {`],
  ['code.JavaScript', 'code', `${LONG}\nreturn {}`, `${LONG}\nreturn {`],
  ['code.JavaScript', 'code', `${LONG}\nfor (;;) {}`, '//'.padEnd(1_000_001, 'x')],
]

describe('slow expressions', () => {
  const sandbox = createCodeSandbox({ workers: 1 })
  after(() => Promise.all([compute[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]))
  const services = { compute, sandbox, owner: 'ada', turn: async () => {} }

  async function read(...given: Parameters<typeof of>) {
    const compiled = compileGraph(of(...given), builtinRegistry)
    assert.deepEqual([compiled.issues, compiled.pendingExpressions.size], [[], 1])
    await validatePendingExpressions(compiled, services)
    assert.equal(compiled.pendingExpressions.size, 0)
    return compiled.issues
  }

  for (const [type, property, good, bad, more = {}] of LONG_CASES)
    test(`are checked in a worker: ${type}.${property}`, async () => {
      assert.deepEqual(await read(type, { ...more, [property]: good }), [])
      const [issue, ...others] = await read(type, { ...more, [property]: bad })
      assert.deepEqual(
        [issue?.severity, issue?.code, issue?.node_id, issue?.pin_name, others],
        ['error', 'invalid_expression', 'n', property, []],
      )
      assert.match(issue!.message, /^Node "n": .{10,2100}\.?$/s)
    })

  test('are all in the list of cases, by property', () => {
    const listed = new Set(LONG_CASES.map(([type, property]) => `${type} ${property}`))
    for (const { node_type, slowExpressions, costlyExpressions, expressions } of builtinRegistry.all())
      for (const property of Object.keys({ ...slowExpressions, ...costlyExpressions })) {
        assert.ok(listed.has(`${node_type} ${property}`), `${node_type} ${property}`)
        assert.ok(expressions && property in expressions)
      }
  })

  /** A compiled graph of one node for each reader. */
  function compiledWith(...readers: BackgroundExpressionReader[]) {
    const own = { name: 'own', type: parseType('str') }
    const types = readers.map((reader, at) =>
      testType(`test.${at}`, {
        properties: [own],
        expressions: { own: () => {} },
        slowExpressions: { own: () => reader },
      }),
    )
    const nodes = types.map(({ node_type }) => node(node_type, node_type, { own: 'x' }))
    return compileGraph(graph(nodes, []), withTypes(...types))
  }
  const nodesOf = ({ issues }: { issues: readonly GraphIssue[] }) => issues.map(({ node_id }) => node_id)

  test('are left to the firing if a reader fails', async () => {
    const compiled = compiledWith(
      async () => Promise.reject(new Error('there is no thread')),
      async () => 'It is wrong.',
    )
    await validatePendingExpressions(compiled, services)
    assert.deepEqual([nodesOf(compiled), compiled.pendingExpressions.size], [['test.1'], 0])
  })

  test('stay pending at the deadline, and the next call continues them', async () => {
    let isSlow = true
    const compiled = compiledWith(
      async () => 'It is wrong.',
      () => (isSlow ? new Promise(() => {}) : Promise.resolve('It is wrong.')),
      async () => null,
    )
    await validatePendingExpressions(compiled, services, AbortSignal.timeout(50))
    assert.deepEqual([nodesOf(compiled), compiled.pendingExpressions.size], [['test.0'], 2])
    isSlow = false
    await validatePendingExpressions(compiled, services)
    assert.deepEqual([nodesOf(compiled), compiled.pendingExpressions.size], [['test.0', 'test.1'], 0])
  })

  test('that are schemas are all read, however many of one user are read at the same time', async () => {
    const wrong = (at: number) => of('control.WaitFor', { name: 'x', schema: { title: `${at}`, $ref: '#/$defs/none' } })
    const all = Array.from({ length: 40 }, (_, at) => compileGraph(wrong(at), builtinRegistry))
    await Promise.all(all.map((one) => validatePendingExpressions(one, services, AbortSignal.timeout(PATIENCE_MS))))
    assert.deepEqual(all.flatMap(nodesOf), Array(40).fill('n'))
  })

  test('give one issue each if several callers read them at the same time, also if one of them gives up', async () => {
    const gate = Promise.withResolvers<string>()
    const compiled = compiledWith(() => gate.promise)
    const patient = [1, 2].map(() => validatePendingExpressions(compiled, services))
    await validatePendingExpressions(compiled, services, AbortSignal.timeout(20))
    assert.equal(compiled.pendingExpressions.size, 1)
    gate.resolve('It is wrong.')
    await Promise.all(patient)
    assert.deepEqual([nodesOf(compiled), compiled.pendingExpressions.size], [['test.0'], 0])
  })

  test('give at most a hundred issues', async () => {
    const compiled = compiledWith(...Array.from({ length: 150 }, () => async () => 'It is wrong.'))
    await validatePendingExpressions(compiled, services)
    assert.deepEqual([compiled.issues.length, compiled.pendingExpressions.size], [100, 0])
  })
})

describe('an expression', () => {
  for (const [type, property, good, bad, more = {}] of CASES)
    test(`that is invalid is refused: ${type}.${property} ${JSON.stringify(bad)}`, () => {
      assert.deepEqual(unread(type, { ...more, [property]: good }), [])
      const [issue, ...others] = unread(type, { ...more, [property]: bad })
      assert.deepEqual([issue?.severity, issue?.node_id, issue?.pin_name, others], ['error', 'n', property, []])
    })

  test('is in this list for every such property', () => {
    const listed = new Set(CASES.map(([type, property]) => `${type} ${property}`))
    for (const { node_type, expressions = {} } of builtinRegistry.all())
      for (const property of Object.keys(expressions))
        assert.ok(listed.has(`${node_type} ${property}`), `${node_type} ${property}`)
  })

  test('is checked before a run in every property with such a name', () => {
    const names = /^(?:formula|pattern|code|selector|schema|by|.*path)$/
    for (const { node_type, properties, expressions = {}, problem } of builtinRegistry.all())
      for (const { name, type } of properties)
        if (names.test(name) && ['str', 'dict'].includes(type.type) && !problem)
          assert.ok(name in expressions, `${node_type}.${name}`)
  })

  test('is not checked in a property that the node does not use', () => {
    assert.deepEqual(unread('http.Pages', { url: 'http://localhost', mode: 'link', cursor_path: 'a..b' }), [])
  })

  test('is not checked if it comes along an edge', () => {
    assert.deepEqual(unread('math.Formula', { formula: '1 +* 2' }, ['in.output->n.formula']), [])
  })

  test('that is invalid stops new runs, but no run that was accepted before', () => {
    const compiled = compileGraph(of('math.Formula', { formula: '1 +* 2' }), builtinRegistry)
    assert.equal(isRunnable(compiled), false)
    assert.throws(() => requireRunnablePlan(compiled), { code: 'INVALID_WORKFLOW_GRAPH' })
    assert.equal(requireAcceptedPlan(compiled), compiled.plan)
  })

  test('is checked quickly, however long it is', () => {
    const long: [string, object][] = [
      ['code.JavaScript', { code: `${'['.repeat(60_000)}` }],
      ['code.JavaScript', { code: 'x'.repeat(10_000_000) }],
      ['code.JavaScript', { code: '/\\p{RGI_Emoji}/v;'.repeat(4_000) }],
      ['math.Formula', { formula: '('.repeat(9_999) }],
      ['regex.Match', { text: '', pattern: CLASSES, ignore_case: true }],
      ['regex.Match', { text: '', pattern: REPEATED }],
      ['regex.Match', { text: '', pattern: '[a-\\x{10FFFF}]'.repeat(130), ignore_case: true }],
    ]
    for (const [type, data] of long) assert.ok(leastProcessorMs(100, () => found(of(type, data))) < 100, type)
  })

  const MANY: readonly (readonly [what: string, count: number, type: string, data: (at: number) => object])[] = [
    ['patterns of Unicode classes', 90, 'regex.Match', (at) => ({ pattern: `${CLASSES}${at}`, ignore_case: true })],
    ['patterns that repeat', 400, 'regex.Match', (at) => ({ pattern: `(aa){1000}|${at}` })],
    ['code with Unicode classes', 400, 'code.JavaScript', (at) => ({ code: `${'/\\p{RGI_Emoji}/v;'.repeat(8)}${at}` })],
    [
      'formulas with spaces',
      25,
      'math.Formula',
      (at) => ({ formula: `${at}${'+1'.repeat(2_450)}${' '.repeat(5_000)}` }),
    ],
  ]
  for (const [what, count, type, data] of MANY)
    test(`is checked quickly, however many a graph has: ${what}`, () => {
      let round = 0
      // Compiled patterns and formulas are cached, so each round uses new ones.
      const compile = () => {
        const from = round++ * count
        const nodes = Array.from({ length: count }, (_, at) => node(`n${at}`, type, { text: '', ...data(from + at) }))
        return compileGraph(graph(nodes, []), builtinRegistry)
      }
      const took = leastProcessorMs(150, compile)
      assert.ok(took < 150, `${took} ms`)
    })
})
