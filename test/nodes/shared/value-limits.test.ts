// No node type exceeds the output limits for inputs within the limits, and values at a limit still work.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type InputValues,
  ItemRequest,
  type OutputValues,
  STREAM_END,
  type StreamOperatorFiring,
} from '../../../src/engine/node-api/firing-forms.ts'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import type { NodeProperty, NodeType } from '../../../src/engine/node-api/node-type.ts'
import { conformsShallowly } from '../../../src/engine/node-api/values/type-conformance.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { LONGEST_LIST, LONGEST_TEXT, MOST_TOTAL_TEXT } from '../../../src/nodes/shared/value-limits.ts'
import { node, run } from '../../engine/kit.ts'
import { context, runWith } from '../context.ts'
import { outputOf } from '../fire.ts'

/** The inputs of a node: a value of each kind, at its limit. */
interface Hand {
  what: string
  text: string
  /** Separators, fillings and other inserted texts. */
  small: string
  list: unknown[]
  dicts: readonly [Record<string, unknown>, Record<string, unknown>]
  yes: boolean
}

/** Two such objects together have more keys than an object may have. */
function dictOf(name: string): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: LONGEST_LIST / 2 + 1 }, (_, at) => [`${name}${at}`, at]))
}

const dicts = [dictOf('a'), dictOf('b')] as const
const names = Object.keys(dicts[0])
const long = 'x'.repeat(LONGEST_TEXT)
/** For objects with more keys, only the number of values is checked: all of them are numbers. */
const SMALL_DICT = 1000

const HANDS: Hand[] = [
  {
    what: 'letters that grow in capitals, a list of numbers',
    text: 'ß'.repeat(LONGEST_TEXT),
    small: '',
    list: Array.from({ length: LONGEST_LIST }, (_, at) => at),
    dicts,
    yes: false,
  },
  {
    what: 'words and lines of one letter, a list of lists',
    text: 'aB,\n'.repeat(LONGEST_TEXT / 4),
    small: ',',
    list: Array(LONGEST_LIST).fill(['x', ['y', 'z']]),
    dicts: [{ list: [1] }, { list: { a: 1 } }],
    yes: true,
  },
  {
    what: 'a text short enough for patterns, long separators, a list of long texts',
    text: 'a '.repeat(500_000),
    small: "a$&$'$1",
    list: Array(1000).fill(long),
    dicts: [{ long, list: Array(1000).fill(long) }, { other: long }],
    yes: true,
  },
]

const SMALL = new Set([
  'separator',
  'find',
  'replacement',
  'fill',
  'part',
  'path',
  'by',
  'template',
  'pattern',
  'characters',
])
const OWN: Readonly<Record<string, string>> = {
  template: '{{a}}{{b}}{{a}}',
  pattern: '(a)|',
  formula: 'a',
  find: 'a',
  selector: 'a',
}

/** A table of two columns, `a` and `b`. */
const rows = Array(LONGEST_LIST).fill({ a: 1, b: 'x' })

/** Values by the property's type; `any` is tried as each of them. */
function candidates(hand: Hand, property: NodeProperty, side: number): unknown[] {
  const { type, name } = property
  const text = OWN[name] ?? (SMALL.has(name) ? hand.small : hand.text)
  const list = { str: names, float: HANDS[0]!.list, dict: rows }[type.type_args[0]?.type ?? ''] ?? hand.list
  const all = [text, list, hand.yes, property.max ?? LONGEST_LIST, ...(type.values ?? [])]
  if (type.type === 'dict') return [hand.dicts[side % 2]!]
  return all.filter((one) => type.type === 'any' || type.type === 'union' || conformsShallowly(one, type))
}

/** The inputs of several firings: the first candidates of all properties, then the second, and so on. */
function firings(type: NodeType, hand: Hand): InputValues[] {
  const columns = type.properties.map((property, side) => ({ property, values: candidates(hand, property, side) }))
  const most = Math.max(1, ...columns.map(({ values }) => values.length))
  const dynamic = type.node_type === 'math.Formula' ? { a: 1 } : { a: hand.text, b: hand.list }
  return Array.from({ length: most }, (_, at) => ({
    ...(type.supports_dynamic_inputs && type.node_type !== 'logic.Combine' ? dynamic : {}),
    ...Object.fromEntries(columns.map(({ property, values }) => [property.name, values[at % values.length] ?? null])),
  }))
}

/** All different firings. Equal inputs give equal outputs, so each is kept once. */
function allFirings(type: NodeType): { what: string; inputs: InputValues }[] {
  const all: { what: string; inputs: InputValues }[] = []
  for (const hand of HANDS) {
    for (const inputs of firings(type, hand)) {
      const names = Object.keys(inputs)
      if (all.some((one) => names.every((name) => one.inputs[name] === inputs[name]))) continue
      all.push({ what: hand.what, inputs })
    }
  }
  return all
}

/** The text or list in a value that is too long, in the value itself or one level below; else null. */
function tooLong(value: unknown, levels = 2): string | null {
  if (typeof value === 'string') return value.length > LONGEST_TEXT ? `a text of ${value.length}` : null
  if (typeof value !== 'object' || value === null) return null
  const count = Array.isArray(value) ? value.length : Object.keys(value).length
  if (count > LONGEST_LIST) return `${count} items`
  if (levels === 0 || (count > SMALL_DICT && !Array.isArray(value))) return null
  let last: unknown
  for (const one of Array.isArray(value) ? value : Object.values(value)) {
    // Many lists contain the same value a million times.
    const found = one === last ? null : tooLong(one, levels - 1)
    if (found) return found
    last = one
  }
  return null
}

/** Items of a stream that are checked: other items are similar, and the stream may be endless. */
const ENOUGH = 5

/** The output of a stream operator that is too long, if each of its streams has as many items as a list may have. */
function operatorOutputs(operator: StreamOperatorFiring, inputs: InputValues): OutputValues {
  const read = new Map<string, number>()
  let step = operator.next()
  for (let given = 0; !step.done && given < ENOUGH; ) {
    const { value } = step
    if (value instanceof ItemRequest) {
      const count = (read.get(value.input) ?? 0) + 1
      read.set(value.input, count)
      step = operator.next(count > LONGEST_LIST ? STREAM_END : inputs[value.input])
    } else {
      given++
      if (tooLong(value)) return value
      step = operator.next()
    }
  }
  return {}
}

async function given(type: NodeType, inputs: InputValues): Promise<OutputValues> {
  if (type.streamOperator) return operatorOutputs(type.streamOperator(inputs, context), inputs)
  if (type.loop) {
    const step = type.loop(inputs, context).first()
    return 'item' in step ? step.item : step.outputs
  }
  if (type.open) {
    const aggregate = type.open(inputs, context)
    for (let count = 0; count <= LONGEST_LIST; count++) aggregate.push(inputs.item)
    return aggregate.end()
  }
  const made = await runWith(type, inputs, context)
  if (!(Symbol.iterator in made)) return made as OutputValues
  let looked = 0
  for (const item of made as Generator<OutputValues>) {
    if (tooLong(item)) return item
    if (++looked === ENOUGH) break
  }
  return {}
}

describe('no node gives more than the limits', () => {
  for (const type of builtinRegistry.all().filter((one) => one.role !== 'output')) {
    test(type.node_type, async () => {
      for (const { what, inputs } of allFirings(type)) {
        try {
          assert.equal(tooLong(await given(type, inputs)), null, what)
        } catch (error) {
          if (!(error instanceof NodeError)) throw error
          assert.ok(error.message.length < 1000, 'the message is short')
        }
      }
    })
  }
})

describe('at a limit', () => {
  const half = 'x'.repeat(LONGEST_TEXT / 2)
  const items = Array.from({ length: LONGEST_LIST / 2 }, (_, at) => at)

  test('texts may be as long as that, and not one character longer', async () => {
    assert.equal(((await outputOf('text.Concat', { a: half, b: half })) as string).length, LONGEST_TEXT)
    const longer = /too_large: The text would have more than 10,000,000 characters/
    await assert.rejects(outputOf('text.Concat', { a: half, b: `${half}x` }), longer)
    const filled = (await outputOf('text.Template', { template: '{{a}}{{a}}' }, { a: half })) as string
    assert.equal(filled.length, LONGEST_TEXT)
    await assert.rejects(outputOf('text.Template', { template: '{{a}}{{a}}.' }, { a: half }), longer)
    await assert.rejects(outputOf('text.Template', { template: '.{{a}}{{a}}' }, { a: half }), longer)
    const joined = (await outputOf('text.Join', { list: [half, half.slice(1)], separator: ',' })) as string
    assert.equal(joined.length, LONGEST_TEXT)
    await assert.rejects(outputOf('text.Join', { list: [half, half], separator: ',' }), longer)
    await assert.rejects(outputOf('text.Case', { text: 'ß'.repeat(LONGEST_TEXT), to: 'upper' }), longer)
    await assert.rejects(outputOf('text.FromValue', { value: [half, half] }), longer)
    await assert.rejects(outputOf('json.Stringify', { value: Array(1_000_000).fill(1.25), indent: 10 }), longer)
    const value = [half, half.slice('["",""]'.length)]
    assert.equal(((await outputOf('json.Stringify', { value })) as string).length, LONGEST_TEXT)
  })

  test('lists may be as long as that, and not one item longer', async () => {
    assert.equal(((await outputOf('list.Concat', { a: items, b: items })) as unknown[]).length, LONGEST_LIST)
    const longer = /too_large: .* more than 1,000,000 items/
    await assert.rejects(outputOf('list.Concat', { a: items, b: [...items, 1] }), longer)
    assert.equal(((await outputOf('list.Flatten', { list: [items, items] })) as unknown[]).length, LONGEST_LIST)
    await assert.rejects(outputOf('list.Flatten', { list: [items, items, 1] }), longer)
    const text = 'x'.repeat(LONGEST_LIST)
    assert.equal(((await outputOf('text.Split', { text, separator: '' })) as unknown[]).length, LONGEST_LIST)
    await assert.rejects(outputOf('text.Split', { text: `${text}x`, separator: '' }), longer)
    await assert.rejects(outputOf('text.Split', { text: ','.repeat(LONGEST_LIST) }), longer)
    await assert.rejects(outputOf('text.Lines', { text: '\n'.repeat(LONGEST_LIST + 2) }), longer)
    await assert.rejects(outputOf('text.Words', { text: 'x '.repeat(LONGEST_LIST + 1) }), longer)
  })

  test('control.Collect takes no more items and no more text', () => {
    const open = () => builtinRegistry.get('control.Collect')!.open!({}, context)
    const [many, much] = [open(), open()]
    for (let count = 0; count < LONGEST_LIST; count++) many.push(null)
    assert.throws(() => many.push(null), /more than 1,000,000 items/)
    for (let length = 0; length < MOST_TOTAL_TEXT; length += LONGEST_TEXT) much.push(long)
    assert.throws(() => much.push('x'), /more than 100,000,000 characters together/)
  })

  test('regex.Replace and regex.FindAll fail before the text is made', async () => {
    const text = 'a'.repeat(1000)
    const of = (replacement: string) => outputOf('regex.Replace', { text, pattern: 'a', replacement })
    assert.equal(((await of('b'.repeat(10_000))) as string).length, LONGEST_TEXT)
    await assert.rejects(of('b'.repeat(10_001)), /too_large/)
    await assert.rejects(of("$'".repeat(1000)), /too_large/)
    const pattern = `a${'()'.repeat(20)}`
    const groups = outputOf('regex.FindAll', { text: 'a'.repeat(50_001), pattern })
    await assert.rejects(groups, /too_large: The matches have more than 1,000,000 groups/)
  })

  test('list.Unique of deep values takes no more than their size', async () => {
    let deep: unknown = ['"']
    for (let level = 0; level < 50; level++) deep = [deep]
    assert.deepEqual(await outputOf('list.Unique', { list: [deep, structuredClone(deep)] }), [deep])
  })
})

test('a text that each node doubles fails at the node that exceeds the limit', async () => {
  const doubling = (at: number) =>
    node(`t${at}`, 'text.Template', { template: '{{a}}{{a}}' }, { dynamic_properties: { a: 'x' } })
  const nodes = [
    node('t0', 'text.Repeat', { text: 'x', times: 1_000_000 }),
    ...Array.from({ length: 9 }, (_, at) => doubling(at + 1)),
    node('split', 'text.Split', { separator: '' }),
    node('out', 'output.Output', { name: 'out' }),
  ]
  const edges = nodes.slice(1).map(({ id }, at) => ({
    source: nodes[at]!.id,
    sourceHandle: 'output',
    target: id,
    targetHandle: id === 'split' ? 'text' : id === 'out' ? 'value' : 'a',
  }))
  const outcome = await run({ nodes, edges })
  assert.ok(outcome.status === 'failed')
  assert.deepEqual([outcome.error.type, outcome.error.node_id], ['too_large', 't4'])
})
