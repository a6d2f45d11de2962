// control.*: loops, switches and failures.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outputOf } from '../fire.ts'
import { graph, node, outputs, run, sink, source } from '../streams.ts'

/** A loop whose rounds apply a formula to `x`, until a condition on the new value `y` holds. */
function looped(data: Record<string, unknown>, formula: string, until?: string) {
  return graph(
    [
      node('loop', 'control.Loop', data),
      node('step', 'math.Formula', { formula }),
      ...(until ? [node('test', 'math.Formula', { formula: until })] : []),
      node('values', 'control.Collect'),
      ...['result', 'rounds', 'all'].map((name) => sink(name)),
    ],
    [
      'loop.value->step.x',
      'step.output->loop.next',
      ...(until ? ['step.output->test.y', 'test.output->loop.until'] : []),
      'loop.value->values.item',
      'loop.result->result.value',
      'loop.rounds->rounds.value',
      'values.list->all.value',
    ],
  )
}

describe('control.Loop', () => {
  test('runs a number of rounds', async () => {
    const { result, rounds, all } = await outputs(looped({ initial: 1, times: 4 }, 'x * 2'))
    assert.deepEqual([result, rounds, all], [[16], [4], [[1, 2, 4, 8]]])
  })

  test('runs rounds until a condition holds', async () => {
    const root = looped({ initial: 10 }, '(x + 2 / x) / 2', 'abs(y * y - 2) < 1e-12')
    const { result } = await outputs(root)
    assert.ok(Math.abs(Number(result![0]) - Math.SQRT2) < 1e-9)
  })

  test('gives the first value after no rounds', async () => {
    const { result, rounds, all } = await outputs(looped({ initial: 7, times: 0 }, 'x'))
    assert.deepEqual([result, rounds, all], [[7], [0], [[]]])
  })

  test('ends if no value comes back', async () => {
    const of = graph(
      [
        node('loop', 'control.Loop', { initial: 5 }),
        node('less', 'math.Formula', { formula: 'x - 1' }),
        node('if', 'control.If'),
        sink('result'),
      ],
      [
        'loop.value->less.x',
        'less.output->if.condition',
        'less.output->if.value',
        'if.if_true->loop.next',
        'loop.result->result.value',
      ],
    )
    assert.deepEqual(await outputs(of), { result: [1] })
  })

  test('fails if it never ends', async () => {
    const outcome = await run(looped({ initial: 1, max_rounds: 50 }, 'x'))
    assert.match(JSON.stringify(outcome), /too_many_rounds.*50 rounds/)
  })

  test('runs once per item of a stream', async () => {
    const of = looped({ times: 2 }, 'x + 1')
    of.nodes.push(source('in', [1, 10]), node('each', 'control.ForEach'))
    of.edges.push(
      { source: 'in', sourceHandle: 'output', target: 'each', targetHandle: 'list' },
      { source: 'each', sourceHandle: 'item', target: 'loop', targetHandle: 'initial' },
    )
    const { result, all } = await outputs(of)
    assert.deepEqual(
      [result, all],
      [
        [3, 12],
        [
          [1, 2],
          [10, 11],
        ],
      ],
    )
  })

  test('must not wait for its own end', async () => {
    const of = looped({ initial: 1, times: 2 }, 'x + r')
    of.edges.push({ source: 'loop', sourceHandle: 'result', target: 'step', targetHandle: 'r' })
    await assert.rejects(run(of), /illegal_cycle.*waits for the end of that loop/s)
  })

  test('takes back one value a round', async () => {
    const outer = looped({ initial: 1, times: 2 }, 'x')
    outer.edges[1] = { ...outer.edges[1]!, source: 'in', sourceHandle: 'output' }
    outer.nodes.push(source('in', 3))
    await assert.rejects(run(outer), /incomparable_scopes.*takes one value of each round/s)
    const inner = looped({ initial: [1], times: 2 }, 'x')
    inner.nodes.push(node('each', 'control.ForEach'))
    inner.edges.push({ source: 'loop', sourceHandle: 'value', target: 'each', targetHandle: 'list' })
    inner.edges[1] = { ...inner.edges[1]!, source: 'each', sourceHandle: 'item' }
    await assert.rejects(run(inner), /incomparable_scopes.*one value a round/s)
  })
})

describe('control.Catch and control.Fail', () => {
  const caught = (message: string, condition: unknown) =>
    graph(
      [
        source('in', condition),
        node('fail', 'control.Fail', { value: 'fine', message }),
        node('catch', 'control.Catch'),
        sink('value'),
        sink('error'),
      ],
      ['in.output->fail.condition', 'fail.output->catch.value', 'catch.value->value.value', 'catch.error->error.value'],
    )

  test('a failure is caught and given as a value', async () => {
    const error = { node_id: 'fail', node_type: 'control.Fail', type: 'failed', message: 'No.' }
    assert.deepEqual(await outputs(caught('No.', true)), { value: [], error: [error] })
  })

  test('a value passes through', async () => {
    assert.deepEqual(await outputs(caught('No.', false)), { value: ['fine'], error: [] })
  })

  test('without a Catch the run fails', async () => {
    const outcome = await run(graph([node('fail', 'control.Fail', { message: 'No.' })], []))
    assert.deepEqual(outcome, { status: 'failed', error: { node_id: 'fail', type: 'failed', message: 'No.' } })
    const silent = await run(graph([node('fail', 'control.Fail', { message: ' ' })], []))
    assert.equal(silent.status === 'failed' && silent.error.message, 'The workflow ended itself.')
  })

  test('a Catch needs an edge or a value', async () => {
    await assert.rejects(run(graph([node('catch', 'control.Catch')], [])), /missing_property/)
  })
})

describe('control.Switch', () => {
  const chosen = (name: unknown) => {
    const of = graph(
      [
        { ...node('switch', 'control.Switch', { case: name, value: 1 }), dynamic_outputs: { red: {}, '7': {} } },
        ...['red', '7', 'otherwise'].map((one) => sink(one)),
      ],
      ['switch.red->red.value', 'switch.7->7.value', 'switch.otherwise->otherwise.value'],
    )
    return outputs(of)
  }

  test('sends the value to the output with that name, or to otherwise', async () => {
    assert.deepEqual(await chosen('red'), { red: [1], '7': [], otherwise: [] })
    assert.deepEqual(await chosen(7), { red: [], '7': [1], otherwise: [] })
    assert.deepEqual(await chosen('blue'), { red: [], '7': [], otherwise: [1] })
    assert.deepEqual(await chosen(''), { red: [], '7': [], otherwise: [1] })
  })

  test('needs a case', async () => {
    await assert.rejects(outputOf('control.Switch'), /missing_property/)
  })
})
