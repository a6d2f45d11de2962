// The laws of types and errors, one by one: which types fit, what is checked on arrival, and what an invalid firing causes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { edge, Gate, graph, node, outputs, run, sink, source, start, testType, until, value, withTypes } from './kit.ts'

/** A node that returns `given` as a `from`, and one that takes a `to` and passes it on. */
function fitting(from: string, to: string, given: unknown): [Graph, NodeType, NodeType] {
  const give = testType('test.Give', { outputs: [{ name: 'out', type: parseType(from) }], run: () => ({ out: given }) })
  const take = testType('test.Take', {
    properties: [{ name: 'in', type: parseType(to), required: true }],
    outputs: [{ name: 'out', type: ANY_TYPE }],
    run: (inputs) => ({ out: inputs.in }),
  })
  const of = graph(
    [node('give', 'test.Give'), node('take', 'test.Take'), sink('out')],
    ['give.out->take.in', 'take.out->out.value'],
  )
  return [of, give, take]
}

/** The value that arrives at the other end, or the error. */
async function arriving(from: string, to: string, given: unknown): Promise<unknown> {
  const [of, give, take] = fitting(from, to, given)
  const [issue] = compileGraph(of, withTypes(give, take)).issues
  if (issue) return issue.code
  const outcome = await run(of, withTypes(give, take))
  return outcome.status === 'completed' ? outcome.outputs.out![0] : outcome.status
}

describe('law 22: which types fit', () => {
  test('law 22: equal types, any, numbers, and members of a union fit', async () => {
    assert.equal(await arriving('str', 'str', 'x'), 'x')
    assert.equal(await arriving('str', 'any', 'x'), 'x')
    assert.equal(await arriving('int', 'float', 3), 3)
    assert.equal(await arriving('int', 'union[str,int]', 3), 3)
    assert.equal(await arriving('union[int,float]', 'float', 3), 3)
    assert.equal(await arriving('union[str,int]', 'int', 3), 'type_mismatch')
    assert.equal(await arriving('str', 'int', 'x'), 'type_mismatch')
    assert.equal(await arriving('bool', 'str', true), 'type_mismatch')
  })

  test('law 22: one value fits a list of it and becomes that list', async () => {
    assert.deepEqual(await arriving('int', 'list[int]', 3), [3])
    assert.deepEqual(await arriving('list[int]', 'list[int]', [3]), [3])
  })

  test('law 22: what cannot be decided before the run is checked when the value arrives', async () => {
    assert.equal(await arriving('any', 'int', 3), 3)
    assert.equal(await arriving('any', 'int', 'x'), 'failed')
    assert.equal(await arriving('float', 'int', 3), 3)
    assert.equal(await arriving('float', 'int', 3.5), 'failed')
    assert.equal(await arriving('any', 'union[str,int]', 'x'), 'x')
    assert.equal(await arriving('any', 'union[str,int]', [1]), 'failed')
  })

  test('law 22: a large value is checked like a small one, while other work has its turns', async () => {
    const type = 'list[union[list[str],list[float]]]'
    const items = Array.from({ length: 400_000 }, () => [1.5])
    let turns = 0
    const turn = setInterval(() => turns++, 0)
    assert.equal(await arriving('any', type, items), items)
    clearInterval(turn)
    assert.ok(turns > 2, String(turns))
    assert.equal(await arriving('any', type, [...items, [true]]), 'failed')
    assert.equal(await arriving('any', 'dict[str,list[str]]', { items: items.flat() }), 'failed')
    assert.deepEqual(await arriving('any', 'list[dict[str,any]]', { a: items }), [{ a: items }])
  })

  test('law 22: limits of a property hold for connected values too', async () => {
    const limited = testType('test.Limited', {
      properties: [{ name: 'value', type: parseType('int'), required: true, min: 1, max: 3 }],
      run: () => ({}),
    })
    for (const [given, status] of [
      [3, 'completed'],
      [4, 'failed'],
      [0, 'failed'],
    ] as const) {
      const of = graph([source('in', given), node('n', 'test.Limited')], ['in.output->n.value'])
      assert.equal((await run(of, withTypes(limited))).status, status, String(given))
    }
  })
})

describe('law 23: outputs are checked as well', () => {
  /** The outcome of a node that returns this. */
  async function returning(given: Record<string, unknown>): Promise<string> {
    const type = testType('test.N', {
      outputs: [
        { name: 'count', type: parseType('int') },
        { name: 'any', type: ANY_TYPE },
      ],
      run: () => given,
    })
    const outcome = await run(graph([node('n', 'test.N')], []), withTypes(type))
    return outcome.status === 'failed' ? `${outcome.error.node_id} ${outcome.error.type}` : outcome.status
  }

  function nested(depth: number): unknown {
    let given: unknown = 1
    for (let left = depth; left > 0; left--) given = [given]
    return given
  }

  test('law 23: an undeclared output, or one of another type, is an error of the node', async () => {
    assert.equal(await returning({ count: 1 }), 'completed')
    assert.match(await returning({ other: 1 }), /^n /)
    assert.match(await returning({ count: 'x' }), /^n /)
  })

  test('law 23: NaN and infinite numbers are of no type', async () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      assert.match(await returning({ any: bad }), /^n /)
    }
  })

  test('law 23: values nest at most 64 deep', async () => {
    assert.equal(await returning({ any: nested(64) }), 'completed')
    assert.equal(await returning({ any: nested(65) }), 'n too_deep')
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
    assert.equal(await returning({ any: [keys(100_001)] }), 'n too_large')
    assert.notEqual(await returning({ any: [keys(100_000)] }), 'n too_large')
  })
})

const bad = (error: unknown) =>
  testType('test.Bad', {
    properties: [value],
    outputs: [{ name: 'output', type: ANY_TYPE }],
    run() {
      throw error
    },
  })

describe('law 24: the first bad firing fails the run', () => {
  test('law 24: nothing new begins, work in flight settles, and later errors are not reported', async () => {
    const [slow, failing] = [new Gate(), new Gate('test.Failing')]
    const of = graph(
      [
        node('slow', 'test.Gate', { value: 1 }),
        node('behind', 'test.Gate'),
        node('one', 'test.Failing', { value: 1 }),
        node('two', 'test.Failing', { value: 2 }),
      ],
      [edge('slow.output->behind.value')],
    )
    const { execution, observer } = start(of, withTypes(slow.type, failing.type))
    await until(() => slow.waiting.length === 1 && failing.waiting.length === 2)
    const [one, two] = failing.waiting
    one!.fail(new NodeError('first', 'one'))
    await until(() => observer.named('node').some((call) => call[2] === 'error'))
    assert.equal(execution.outcome, null)
    two!.fail(new NodeError('second', 'two'))
    slow.waiting[0]!.open()
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed')
    assert.deepEqual(Object.keys(outcome.error).sort(), ['message', 'node_id', 'type'])
    assert.deepEqual([outcome.error.message, slow.started], ['first', 1])
    assert.equal(observer.named('node').filter((call) => call[2] === 'error').length, 1)
  })
})

describe('law 25: the public part of an error', () => {
  test('law 25: a NodeError shows its message, any other error a fixed sentence; the cause goes to the log', async () => {
    const of = graph([node('bad', 'test.Bad', { value: 1 })], [])
    const told = await run(of, withTypes(bad(new NodeError('No such page.', 'not_found'))))
    assert.ok(told.status === 'failed')
    assert.deepEqual(told.error, { node_id: 'bad', type: 'not_found', message: 'No such page.' })
    const cause = new Error('password is hunter2')
    const { execution, observer } = start(of, withTypes(bad(cause)))
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_failed')
    assert.doesNotMatch(JSON.stringify([outcome, observer.calls]), /hunter2/)
    assert.deepEqual(observer.faults, [cause])
  })
})

describe('law 26: an observer that throws', () => {
  test('law 26: fails its run, never another one', async () => {
    const of = graph([source('in', 1), sink('out')], ['in.output->out.value'])
    const throwing = start(of)
    const broken = {
      ...throwing.observer,
      output: () => {
        throw new Error('observer')
      },
    }
    const outcome = await run(of, withTypes(), { observer: Object.assign(Object.create(throwing.observer), broken) })
    assert.equal(outcome.status, 'failed')
    assert.deepEqual(await throwing.execution.done, { status: 'completed', outputs: { out: [1] } })
    assert.deepEqual(await outputs(of), { out: [1] })
  })
})
