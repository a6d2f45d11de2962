// Laws of errors: what an invalid firing causes, which part of an error is public, and what counts as invalid.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AggregateFiring, OutputValues } from '../../../../src/engine/node-api/firing-forms.ts'
import { NodeError } from '../../../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../../../src/engine/node-api/node-type.ts'
import { ANY_TYPE, parseType } from '../../../../src/engine/node-api/values/type-metadata.ts'
import {
  Gate,
  graph,
  item,
  node,
  output,
  run,
  sink,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from '../../kit.ts'

function throwing(error: unknown): NodeType {
  return testType('test.Bad', {
    properties: [value],
    outputs: [output],
    run() {
      throw error
    },
  })
}

const bad = graph(
  [source('in', 1), node('bad', 'test.Bad'), sink('out')],
  ['in.output->bad.value', 'bad.output->out.value'],
)

/** The error of a graph whose only node returns or yields an invalid value. */
async function errorOf(type: Partial<NodeType>): Promise<string> {
  const outcome = await run(graph([node('n', 'test.N')], []), withTypes(testType('test.N', type)))
  assert.equal(outcome.status, 'failed')
  assert.equal(outcome.error.node_id, 'n')
  return `${outcome.error.type}: ${outcome.error.message}`
}

function returning(given: unknown): Promise<string> {
  return errorOf({ outputs: [{ name: 'count', type: parseType('int') }, item], run: () => given as OutputValues })
}

describe('errors', () => {
  test('a NodeError shows its message, with the node that threw it', async () => {
    const { execution, observer } = start(bad, withTypes(throwing(new NodeError('No such page.', 'not_found'))))
    const error = { node_id: 'bad', type: 'not_found', message: 'No such page.' }
    assert.deepEqual(await execution.done, { status: 'failed', error })
    assert.deepEqual(observer.statuses('bad'), ['running', 'error'])
    assert.deepEqual(observer.statuses('out'), [])
    assert.deepEqual(observer.faults, [])
  })

  test('any other error hides its cause; the observer receives the cause for the log', async () => {
    const cause = new TypeError('password is hunter2')
    const { execution, observer } = start(bad, withTypes(throwing(cause)))
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_failed')
    assert.doesNotMatch(JSON.stringify([outcome, observer.calls]), /hunter2/)
    assert.deepEqual(observer.faults, [cause])
  })

  test('the cause of a NodeError is only logged', async () => {
    const cause = new Error('secret')
    const { execution, observer } = start(bad, withTypes(throwing(new NodeError('It failed.', 'x', { cause }))))
    assert.doesNotMatch(JSON.stringify([await execution.done, observer.calls]), /secret/)
    assert.deepEqual(observer.faults, [cause])
  })

  test('the first bad firing starts nothing more; firings in flight settle before the run ends', async () => {
    const gate = new Gate()
    const failing = new Gate('test.Failing')
    const of = graph(
      [source('in', 1), node('a', 'test.Gate'), node('b', 'test.Failing'), node('after', 'test.Gate'), sink('out')],
      ['in.output->a.value', 'in.output->b.value', 'a.output->after.value', 'after.output->out.value'],
    )
    const { execution, observer } = start(of, withTypes(gate.type, failing.type))
    await until(() => gate.waiting.length === 1 && failing.waiting.length === 1)
    failing.waiting[0]!.fail(new NodeError('b failed'))
    await until(() => observer.statuses('b').includes('error'))
    assert.equal(execution.outcome, null)
    gate.waiting[0]!.open()
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.node_id === 'b')
    assert.equal(gate.started, 1)
    assert.deepEqual(observer.statuses('after'), [])
  })

  test('an error in a generator, a promise, an aggregate or its end fails the run', async () => {
    const oops = new NodeError('oops')
    const variants: Partial<NodeType>[] = [
      {
        outputs: [item],
        *run() {
          yield { item: 1 }
          throw oops
        },
      },
      {
        outputs: [item],
        async *run() {
          yield { item: 1 }
          throw oops
        },
      },
      { run: () => Promise.reject(oops) },
    ]
    for (const variant of variants) assert.equal(await errorOf(variant), 'node_error: oops')
    const fail = () => {
      throw oops
    }
    const aggregates: [AggregateFiring, string][] = [
      [{ push: fail, end: () => ({}) }, 'oops (at index 0)'],
      [{ push() {}, end: fail }, 'oops'],
      [{ push: async () => fail(), end: () => ({}) }, 'oops (at index 0)'],
      [{ push() {}, end: async () => fail() }, 'oops'],
    ]
    for (const [aggregate, message] of aggregates) {
      const type = testType('test.All', {
        properties: [{ name: 'item', type: ANY_TYPE, required: true, aggregate: true }],
        open: () => aggregate,
      })
      const of = graph(
        [source('in', [1]), node('each', 'control.ForEach'), node('all', 'test.All')],
        ['in.output->each.list', 'each.item->all.item'],
      )
      const outcome = await run(of, withTypes(type))
      assert.deepEqual(outcome, { status: 'failed', error: { node_id: 'all', type: 'node_error', message } })
    }
  })

  test('generators of an ended run are ended', async () => {
    let ended = 0
    const endless = testType('test.Endless', {
      outputs: [item],
      async *run() {
        try {
          for (let at = 0; ; at++) yield { item: at }
        } finally {
          ended++
        }
      },
    })
    const strict = testType('test.Strict', {
      properties: [value],
      run({ value: given }) {
        if (Number(given) > 5) throw new NodeError('enough')
        return {}
      },
    })
    const of = graph([node('endless', 'test.Endless'), node('strict', 'test.Strict')], ['endless.item->strict.value'])
    const outcome = await run(of, withTypes(endless, strict))
    assert.ok(outcome.status === 'failed' && outcome.error.message.startsWith('enough'))
    await until(() => ended === 1)
  })

  test('an observer that throws fails only its own run', async () => {
    const { execution } = start(graph([source('in', 1), sink('out')], ['in.output->out.value']), withTypes(), {
      observer: {
        nodeUpdated() {
          throw new Error('deaf')
        },
        output() {},
        edgeUpdated() {},
        progress() {},
        chunk() {},
        log() {},
        fault() {
          throw new Error('deafer')
        },
      },
    })
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'internal_error')
  })
})

describe('invalid results of node code', () => {
  test('an undeclared output, with a suggestion', async () => {
    assert.match(
      await returning({ cuont: 1 }),
      /^bad_output: .*"cuont", which it doesn't have\. Did you mean "count"\?/,
    )
  })

  test('a value of the wrong type for its output', async () => {
    assert.match(await returning({ count: 'one' }), /gave str on "count", which is int/)
    assert.match(await returning({ count: Number.NaN }), /gave NaN on "count", which is int/)
    assert.match(await returning({ count: 1.5 }), /gave float on "count"/)
  })

  test('a result that is no record of outputs', async () => {
    assert.match(await returning([1]), /returned list instead of its outputs by name/)
    assert.match(await returning('x'), /returned str/)
    assert.match(await returning(42), /returned int/)
  })

  test('a returned stream, a yielded single output, and an item that is no record', async () => {
    assert.match(await returning({ item: 1 }), /returned its stream "item" instead of yielding it/)
    const outputsOf = [{ name: 'count', type: parseType('int') }, item]
    const yielding = (given: unknown) =>
      errorOf({
        outputs: outputsOf,
        *run() {
          yield given as OutputValues
        },
      })
    assert.match(await yielding({ count: 1 }), /yielded its single output "count"/)
    assert.match(await yielding(7), /yielded int instead of values by handle/)
  })

  test('a value that does not fit its input at run time names node, input and both types', async () => {
    const of = graph(
      [source('in', 'text'), node('sum', 'math.Round'), sink('out')],
      ['in.output->sum.value', 'sum.output->out.value'],
    )
    const outcome = await run(of)
    const message = 'Input "value" of node "sum": expected a float, got a string.'
    assert.deepEqual(outcome, { status: 'failed', error: { node_id: 'sum', type: 'type_mismatch', message } })
  })

  test('a connected value outside of the limits of its property is refused', async () => {
    const of = graph(
      [source('in', -1), node('wait', 'control.Delay'), sink('out')],
      ['in.output->wait.seconds', 'wait.output->out.value'],
    )
    const outcome = await run(of)
    assert.ok(outcome.status === 'failed')
    assert.deepEqual(
      [outcome.error.type, outcome.error.message],
      ['out_of_range', 'Input "seconds" of node "wait": must be at least 0.'],
    )
  })

  test('one value where a list is expected becomes a list of it', async () => {
    const of = graph(
      [source('in', 5), node('count', 'list.Length'), sink('out')],
      ['in.output->count.list', 'count.output->out.value'],
    )
    assert.deepEqual(await run(of), { status: 'completed', outputs: { out: [1] } })
  })
})

describe('nested values', () => {
  const nested = (levels: number): unknown => {
    let made: unknown = 1
    for (let level = 0; level < levels; level++) made = level % 2 ? [made] : { in: made }
    return made
  }
  const errorIn = async (of: Parameters<typeof run>[0], types: NodeType[] = [], params = {}) => {
    const outcome = await run(of, withTypes(...types), { params })
    return outcome.status === 'failed' ? [outcome.error.node_id, outcome.error.type] : outcome.status
  }

  test('of a node may nest up to 64 deep, returned, promised or yielded', async () => {
    for (const levels of [64, 65, 20_000]) {
      const kinds: Partial<NodeType>[] = [
        { outputs: [output], run: () => ({ output: nested(levels) }) },
        { outputs: [output], run: async () => ({ output: nested(levels) }) },
        {
          outputs: [item],
          *run() {
            yield { item: nested(levels) }
          },
        },
        {
          outputs: [item],
          async *run() {
            yield { item: nested(levels) }
          },
        },
      ]
      for (const kind of kinds) {
        const found = await errorIn(graph([node('n', 'test.N')], []), [testType('test.N', kind)])
        assert.deepEqual(found, levels <= 64 ? 'completed' : ['n', 'too_deep'])
      }
    }
  })

  test('among the params, the items of a stream and the own value of an output have the same limit', async () => {
    const single = graph([node('in', 'input.Any', { name: 'in' }), sink('out')], ['in.output->out.value'])
    const stream = graph([node('in', 'input.Any', { name: 'in', stream: true }), sink('out')], ['in.output->out.value'])
    for (const levels of [64, 65]) {
      const expected = (id: string) => (levels <= 64 ? 'completed' : [id, 'too_deep'])
      assert.deepEqual(await errorIn(single, [], { in: nested(levels) }), expected('in'))
      assert.deepEqual(await errorIn(stream, [], { in: [nested(levels)] }), expected('in'))
      const own = graph([node('out', 'output.Output', { name: 'out', value: nested(levels) })], [])
      assert.deepEqual(await errorIn(own), expected('out'))
    }
  })

  test('that are shared many times are measured once, and refused if they are too large', async () => {
    const outcomeOf = (levels: number) => {
      let shared: unknown = [1]
      for (let level = 0; level < levels; level++) shared = [shared, shared]
      const type = testType('test.N', { outputs: [output], run: () => ({ output: shared }) })
      return run(graph([node('n', 'test.N')], []), withTypes(type))
    }
    assert.equal((await outcomeOf(20)).status, 'completed')
    const refused = await outcomeOf(60)
    assert.equal(refused.status === 'failed' && refused.error.type, 'too_large')
  })

  test('numbers that are not finite are of no type, any included', async () => {
    const single = graph([node('in', 'input.Any', { name: 'in' }), sink('out')], ['in.output->out.value'])
    for (const given of [Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.deepEqual(await errorIn(single, [], { in: given }), ['in', 'input_mismatch'])
      const type = testType('test.N', { outputs: [output], run: () => ({ output: given }) })
      assert.deepEqual(await errorIn(graph([node('n', 'test.N')], []), [type]), ['n', 'bad_output'])
    }
  })
})
