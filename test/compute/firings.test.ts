// Runs with firings in compute threads: their outcome is that of any other run, nothing of them is recorded, and a cancel ends them.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { InputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { ComputeAccess, ComputeTask } from '../../src/engine/node-api/services/compute.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { isHeavyFiring } from '../../src/engine/runtime/firings/cost.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node, outputs, run, sink, source, start, until } from '../engine/kit.ts'
import { MemoryJournal, type Record } from '../engine/memory-journal.ts'
import { takesLess } from '../helpers/patience.ts'
import { compute, inputsOf, SLOW } from './kit.ts'

after(() => compute[Symbol.asyncDispose]())

/** Services with compute threads that note the tasks sent to them. */
function watched(): { services: typeof noServices; tasks: ComputeTask[] } {
  const tasks: ComputeTask[] = []
  const access: ComputeAccess = {
    takes: (type) => compute.takes(type),
    run(task) {
      tasks.push(task)
      return compute.run(task)
    },
  }
  return { services: { ...noServices, owner: 'ada', compute: access }, tasks }
}

const COUNT = 20_000
const text = Array.from({ length: COUNT }, (_, at) => `w${at % 1_000}`).join(' ')

/** Counted and sorted words, and a caught error. */
const counted = graph(
  [
    source('text', text),
    node('words', 'text.Words'),
    node('unique', 'list.Unique'),
    node('sorted', 'list.Sort'),
    source('pattern', '('),
    node('bad', 'regex.FindAll'),
    node('caught', 'control.Catch'),
    sink('list'),
    sink('error'),
  ],
  [
    'text.output->words.text',
    'words.output->unique.list',
    'unique.output->sorted.list',
    'sorted.output->list.value',
    'text.output->bad.text',
    'pattern.output->bad.pattern',
    'bad.output->caught.value',
    'caught.error->error.value',
  ],
)

describe('a run with compute threads', () => {
  test('has the same outcome with and without them', async () => {
    const { services, tasks } = watched()
    assert.deepStrictEqual(await outputs(counted, builtinRegistry, { services }), await outputs(counted))
    const types = tasks.map(({ node_type }) => node_type).sort()
    assert.deepEqual(types, ['list.Unique', 'regex.FindAll', 'text.Words'])
  })

  test('records nothing of firings in threads: they give the same result again', async () => {
    const { services, tasks } = watched()
    const memory = new MemoryJournal()
    const records: Record[] = []
    memory.onRecord = (record) => records.push(record)
    const journal = memory.open()
    await outputs(counted, builtinRegistry, { services, journal })
    assert.ok(tasks.length > 0)
    assert.deepEqual(
      records.filter((record) => record[1].startsWith('words') || record[1].startsWith('unique')),
      [],
    )
  })

  test('is cancelled while a firing runs in a thread', async () => {
    const { services, tasks } = watched()
    const of = graph(
      [source('text', SLOW.text), node('match', 'regex.Match', { pattern: SLOW.pattern })],
      ['text.output->match.text'],
    )
    const { execution, abort } = start(of, builtinRegistry, { services })
    await until(() => tasks.length > 0)
    const from = performance.now()
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.ok(performance.now() - from < 5_000)
  })

  test('fails with the error of a firing in a thread', async () => {
    const { services, tasks } = watched()
    const of = graph(
      [
        source('text', SLOW.text.slice(0, 100_000)),
        source('pattern', `${SLOW.pattern}(`),
        node('match', 'regex.Match'),
      ],
      ['text.output->match.text', 'pattern.output->match.pattern'],
    )
    assert.deepEqual(await run(of, builtinRegistry, { services }), await run(of))
    assert.equal(tasks.length, 1)
  })
})

/** Firings that first load a file or a seed, and then compute long. */
const LINES = Array.from({ length: 5_000 }, (_, at) => at)
const PREPARED: { readonly [node_type: string]: InputValues } = {
  'data.ReadCsv': { file: Buffer.from(`a,b\n${LINES.map((at) => `${at},x`).join('\n')}`) },
  'data.ReadJsonLines': { file: Buffer.from(LINES.map((a) => JSON.stringify({ a })).join('\n')) },
  'document.HtmlText': { document: Buffer.from(LINES.map((at) => `<p>${at}</p>`).join('')) },
  'random.Shuffle': { list: Array.from({ length: 100_000 }, (_, at) => at) },
  'random.Sample': { list: Array.from({ length: 100_000 }, (_, at) => at), count: 5 },
  'random.Choice': { list: Array(100_000).fill('a'), weights: Array(100_000).fill(1) },
  'random.Text': { length: 100_000 },
}

describe('a firing that prepares inputs from its context', () => {
  for (const [type, data] of Object.entries(PREPARED)) {
    test(`runs apart behind that, and gives the same: ${type}`, async () => {
      const { services, tasks } = watched()
      const [handle] = builtinRegistry.get(type)!.outputs.map(({ name }) => name)
      const values = Object.entries(data)
      const of = graph(
        [...values.map(([name, given]) => source(name, given)), node('n', type), sink('out')],
        [...values.map(([name]) => `${name}.output->n.${name}`), `n.${handle}->out.value`],
      )
      const drawn = { random: () => 0.3 }
      const apart = await outputs(of, builtinRegistry, { services, ...drawn })
      assert.deepEqual(
        tasks.map(({ node_type }) => node_type),
        [type],
      )
      assert.deepStrictEqual(apart, await outputs(of, builtinRegistry, drawn))
    })
  }

  test('draws the same random numbers again after an interruption', async () => {
    const { services, tasks } = watched()
    const of = graph(
      [source('list', PREPARED['random.Shuffle']!.list), node('n', 'random.Shuffle'), sink('out')],
      ['list.output->n.list', 'n.output->out.value'],
    )
    const memory = new MemoryJournal()
    const first = await outputs(of, builtinRegistry, { services, journal: memory.open() })
    assert.deepStrictEqual(await outputs(of, builtinRegistry, { services, journal: memory.open() }), first)
    assert.ok(tasks.length > 0)
  })
})

describe('the estimate of what a firing takes', () => {
  const heavy = (type: string, given: object) => isHeavyFiring(builtinRegistry.get(type)!, inputsOf(type, { ...given }))
  const letters = (count: number) => 'é'.repeat(count)
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)

  test('recognizes firings that take long', () => {
    assert.equal(heavy('regex.Match', { text: letters(300), pattern: '(\\p{L}{30}){30}x$' }), true)
    assert.equal(heavy('text.WordFrequency', { text: 'a b '.repeat(100_000) }), true)
    assert.equal(heavy('list.GroupBy', { list: numbers(50_000) }), true)
    assert.equal(heavy('text.Similarity', { a: letters(5_000), b: letters(5_000) }), true)
    assert.equal(heavy('text.Diff', { a: 'a\n'.repeat(2_000), b: 'b\n'.repeat(2_000) }), true)
    assert.equal(heavy('list.Calculate', { list: numbers(1_000), formula: Array(500).fill('x').join('+') }), true)
    assert.equal(heavy('date.Range', { from: '2000-01-01', to: '2040-01-01' }), true)
    for (const from of ['2016-12-31T23:59:60Z', '2016-12-31T00:00:00,5'])
      assert.equal(heavy('date.Range', { from, to: '2030-01-01' }), true, from)
    assert.equal(
      heavy('data.Join', { left: numbers(1_000).map((k) => ({ k })), right: numbers(1_000).map((k) => ({ k })) }),
      true,
    )
  })

  test('recognizes many values with few characters', () => {
    for (const type of ['list.Sort', 'list.Unique', 'list.GroupBy'])
      assert.equal(heavy(type, { list: Array(50_000).fill('') }), true, type)
    assert.equal(heavy('list.Chunk', { list: Array(100_000).fill('0'), size: 1 }), true)
    assert.equal(heavy('list.Chunk', { list: numbers(100_000), size: 1_000 }), false)
    assert.equal(heavy('text.Repeat', { text: 'a', times: 1_000_000, separator: '' }), true)
    assert.equal(heavy('text.Similarity', { a: letters(500_000), b: '' }), true)
  })

  test('recognizes patterns that take long for a short text, or for none', () => {
    const matches = { text: letters(1_000), pattern: 'é.*b|é' }
    for (const type of ['regex.FindAll', 'regex.Replace', 'regex.Split']) assert.equal(heavy(type, matches), true)
    assert.equal(heavy('regex.FindAll', { text: letters(200), pattern: '\\w+' }), false)
    assert.equal(heavy('regex.Match', matches), false)
    const everywhere = { text: letters(50_000), pattern: '' }
    for (const type of ['regex.FindAll', 'regex.Replace', 'regex.Split']) assert.equal(heavy(type, everywhere), true)
    for (const end of ['\u{10ffff}', '\\x{10ffff}']) {
      const pattern = `[a-${end}]`.repeat(50)
      assert.equal(heavy('regex.Match', { text: 'a', pattern, ignore_case: true }), true)
      assert.equal(heavy('data.Filter', { rows: [{ a: 'b' }], matches: { a: pattern }, ignore_case: true }), true)
    }
    assert.equal(heavy('regex.Match', { text: 'a', pattern: '[a-z0-9\\-\\.]+', ignore_case: true }), false)
  })

  test('counts the work for each word, letter and key', () => {
    assert.equal(heavy('text.Case', { text: 'a '.repeat(50_000), to: 'title' }), true)
    assert.equal(heavy('text.Case', { text: letters(300_000), to: 'upper' }), true)
    assert.equal(heavy('text.Case', { text: letters(50_000), to: 'upper' }), false)
    const dict = Object.fromEntries(numbers(50_000).map((at) => [`k${at}`, at]))
    assert.equal(heavy('dict.Remove', { dict, path: 'k1' }), true)
  })

  test('recognizes small inputs with large outputs', () => {
    assert.equal(heavy('text.Repeat', { text: letters(100), times: 100_000 }), true)
    assert.equal(heavy('text.Pad', { text: '', length: 100_000 }), false)
    assert.equal(heavy('text.Pad', { text: letters(3_000_000), length: 100_000 }), true)
    const sparse = `${','.repeat(2_000)}\n${'a\n'.repeat(900)}`
    assert.equal(heavy('text.ParseCsv', { text: sparse }), true)
    assert.equal(heavy('data.ReadCsv', { file: { bytes: Buffer.from(sparse) } }), true)
    const rows = numbers(700).map((at) => ({ [`c${at}`]: 1 }))
    for (const type of ['text.FormatCsv', 'data.WriteCsv', 'data.Describe', 'data.Unpivot'])
      assert.equal(heavy(type, { rows }), true, type)
    const cells = numbers(500).map((at) => ({ a: at, b: at, c: 1 }))
    assert.equal(heavy('data.Pivot', { rows: cells, index: ['a'], columns: 'b', values: 'c' }), true)
  })

  test('counts each cell of a table, filled or not', () => {
    const lines = (line: string, end: string) => [line, ...Array(4_000).fill('a')].join(end)
    const commas = ','.repeat(100)
    for (const [text, more] of [
      [`${lines('a', '\n')}\n${commas}`, { header: false }],
      [lines(`\n${commas}`, '\n'), {}],
      [lines(commas, '\r'), {}],
      [lines(`"a\n"${commas}`, '\n'), {}],
      [lines('→'.repeat(100), '\n'), { separator: '→' }],
    ] as const) {
      assert.equal(heavy('text.ParseCsv', { text, ...more }), true)
      assert.equal(heavy('data.ReadCsv', { file: { bytes: Buffer.from(text) }, ...more }), true)
    }

    const wide = Object.fromEntries(numbers(1_000).map((at) => [`c${at}`, 1]))
    const columns = Object.keys(wide)
    const few = numbers(50).map(() => ({}))
    const byColumn = (value: unknown) => Object.fromEntries(columns.map((column) => [column, value]))
    const conditions = { where: byColumn(1), present: columns, contains: byColumn('1') }
    for (const [type, inputs] of [
      ['text.FormatCsv', { rows: few, columns }],
      ['data.WriteCsv', { rows: few, columns }],
      ['data.Select', { rows: [wide, ...few] }],
      ['data.Distinct', { rows: [wide, ...few] }],
      ['data.Convert', { rows: [wide, ...few], kinds: byColumn('str') }],
      ['data.Fill', { rows: few, values: wide }],
      ['data.Sort', { rows: few, by: columns }],
      ['data.Group', { rows: few, by: columns }],
      ['data.Group', { rows: few, aggregate: byColumn('max') }],
      ['data.Join', { left: [wide, ...few], right: few }],
      ['data.Join', { left: few, right: few, on: columns }],
      ['data.Unpivot', { rows: [wide], columns: columns.slice(500), keep: columns.slice(0, 500) }],
      ['data.Pivot', { rows: few, index: columns }],
      ...Object.entries(conditions).map(([name, given]) => ['data.Filter', { rows: few, [name]: given }] as const),
      ['data.Filter', { rows: few, where: { a: columns } }],
    ] as const)
      assert.equal(heavy(type, inputs), true, `${type} ${Object.keys(inputs)}`)
  })

  test('counts texts that are repeated for each of many items', () => {
    const items = numbers(100)
    const nested = '{{#a}}{{#a}}x{{/a}}{{/a}}'
    assert.equal(heavy('prompt.Template', { template: nested, a: items }), true)
    assert.equal(heavy('prompt.Template', { system: nested, a: { b: [items] } }), true)
    assert.equal(heavy('prompt.Template', { template: nested, a: Array(1_000).fill('') }), true)
    const inner = Object.fromEntries(items.map((at) => [`c${at}`, 1]))
    assert.equal(heavy('dict.Flatten', { dict: { ['k'.repeat(10_000)]: inner } }), true)
    assert.equal(heavy('dict.Flatten', { dict: { [`k`.repeat(2_000)]: { a: Array(1_000).fill('') } } }), true)
  })

  test('does not read a long text as a date', async () => {
    const [from, to] = ['![', '[!'].map((unit) => unit.repeat(5_000_000))
    await takesLess(50, () => assert.equal(heavy('date.Range', { from, to }), false))
  })

  test('keeps small firings on the main thread', () => {
    assert.equal(
      heavy('prompt.Template', { template: '{{#a}}{{.}}, {{/a}}{{b}}', a: numbers(50), b: letters(5_000) }),
      false,
    )
    assert.equal(heavy('dict.Flatten', { dict: { a: { b: numbers(500) } } }), false)
    assert.equal(heavy('text.Repeat', { text: '-', times: 80 }), false)
    assert.equal(heavy('text.ParseCsv', { text: 'a,b,c\n1,2,3\n'.repeat(100) }), false)
    const rows = numbers(200).map((a) => ({ a, b: 'x', c: null }))
    for (const type of ['text.FormatCsv', 'data.WriteCsv', 'data.Describe', 'data.Unpivot', 'data.Pivot'])
      assert.equal(heavy(type, { rows }), false, type)
    for (const type of ['data.Select', 'data.Fill', 'data.Distinct', 'data.Group', 'data.Sort', 'data.Filter'])
      assert.equal(heavy(type, { rows, by: ['a', 'b'], values: { c: 1 }, where: { b: 'x' } }), false, type)
    assert.equal(heavy('data.Join', { left: rows.slice(0, 100), right: rows.slice(0, 100), on: ['a'] }), false)
    assert.equal(heavy('regex.Match', { text: letters(500), pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), false)
    assert.equal(heavy('text.WordFrequency', { text: 'a b '.repeat(1_000) }), false)
    assert.equal(heavy('list.GroupBy', { list: numbers(1_000) }), false)
    assert.equal(heavy('list.Slice', { list: numbers(100_000) }), false)
    assert.equal(heavy('date.Range', { from: '2000-01-01', to: '2000-03-01' }), false)
    assert.equal(heavy('date.Range', { from: 'no date', to: '' }), false)
  })
})
