// input.*, output.*, control.*, workflow.*: each node alone. The rules behind them are tested with the engine.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { graph, HandClock, node, outputs, run, sink, source, start, until } from '../../engine/kit.ts'
import { fire } from '../fire.ts'

describe('input', () => {
  const CASES: [string, unknown, unknown, unknown][] = [
    ['input.String', 'text', '', 5],
    ['input.Integer', 5, 0, 1.5],
    ['input.Float', 1.5, 0, 'x'],
    ['input.Boolean', true, false, 'true'],
    ['input.List', [1], [], undefined],
    ['input.Object', { a: 1 }, {}, [1]],
    ['input.Any', 'anything', [], undefined],
  ]
  for (const [type, normal, empty, bad] of CASES) {
    test(type, async () => {
      const of = (value: unknown) =>
        graph([node('in', type, { name: 'x', value }), sink('out')], ['in.output->out.value'])
      assert.deepEqual(await outputs(of(normal)), { out: [normal] })
      assert.deepEqual(await outputs(of(empty)), { out: [empty] })
      const missing = await run(of(undefined))
      assert.ok(missing.status === 'failed' && missing.error.type === 'missing_input')
      if (bad === undefined) return
      const outcome = await run(of(normal), undefined, { params: { x: bad } })
      assert.ok(outcome.status === 'failed' && outcome.error.type === 'input_mismatch')
      await assert.rejects(fire(type, { name: 'x', value: bad }), /type_mismatch/)
    })
  }
})

describe('output', () => {
  test('output.Output', async () => {
    const { observer, execution } = start(graph([node('out', 'output.Output', { name: 'o', value: 'own' })], []))
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { o: ['own'] } })
    assert.deepEqual(observer.named('output'), [['output', 'out', 'o', 'own']])
    await assert.rejects(fire('output.Output', { name: 'o' }), /missing_property/)
    assert.ok((await fire('output.Output', { name: 'o', value: '' })) !== undefined)
    await assert.rejects(fire('output.Output', { value: 1 }), /missing_property.*"name"/)
  })
})

describe('control', () => {
  test('If', async () => {
    for (const [condition, handle] of [
      [true, 'if_true'],
      [false, 'if_false'],
      [2, 'if_true'],
      [0, 'if_false'],
    ]) {
      assert.deepEqual(await fire('control.If', { condition, value: 'v' }), { [String(handle)]: 'v' })
    }
    assert.deepEqual(await fire('control.If', { condition: true }), { if_true: null })
    await assert.rejects(fire('control.If', { condition: 'yes' }), /type_mismatch/)
    await assert.rejects(fire('control.If', { value: 1 }), /missing_property/)
    assert.equal((await run(graph([node('if', 'control.If', { condition: true })], []))).status, 'completed')
  })

  test('Coalesce', async () => {
    assert.deepEqual(await fire('control.Coalesce', { a: 0, b: 1 }), { output: 0 })
    assert.deepEqual(await fire('control.Coalesce', { b: 1 }), { output: 1 })
    assert.deepEqual(await fire('control.Coalesce'), { output: null })
    assert.deepEqual(await fire('control.Coalesce', { a: 'a' }, { c: 'c' }), { output: 'a' })
    assert.deepEqual(await fire('control.Coalesce', {}, { z: null, y: { type: 'str' }, x: false, w: 'w' }), {
      output: false,
    })
    await assert.rejects(fire('control.Coalesce', { c: 5 }, { c: { type: 'str' } }), /type_mismatch.*"c"/)
    const bad = graph([source('in', 1), node('c', 'control.Coalesce'), sink('out')], ['c.output->out.value'])
    assert.deepEqual(await outputs(bad), { out: [null] })
  })

  test('ForEach and Collect', async () => {
    const of = (list: unknown) =>
      graph(
        [source('in', list), node('each', 'control.ForEach'), node('all', 'control.Collect'), sink('out')],
        ['in.output->each.list', 'each.item->all.item', 'all.list->out.value'],
      )
    assert.deepEqual(await outputs(of([1, 'a', null])), { out: [[1, 'a', null]] })
    assert.deepEqual(await outputs(of([])), { out: [[]] })
    assert.deepEqual(await outputs(of('one')), { out: [['one']] })
    await assert.rejects(fire('control.ForEach'), /missing_property/)
    await assert.rejects(fire('control.Collect'), /missing_property/)
  })

  test('Delay', async () => {
    const clock = new HandClock()
    const of = (data: Record<string, unknown>) =>
      graph([node('wait', 'control.Delay', data), sink('out')], ['wait.output->out.value'])
    const { execution } = start(of({ value: 'v', seconds: 2.5 }), undefined, { clock })
    await until(() => clock.sleepers.size === 1)
    clock.turn(2499)
    assert.equal(clock.sleepers.size, 1)
    clock.turn(1)
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['v'] } })
    assert.deepEqual(await outputs(of({ value: 'at once', seconds: 0 })), { out: ['at once'] })
    await assert.rejects(fire('control.Delay', { seconds: -1 }), /must be at least 0/)
    await assert.rejects(fire('control.Delay', { seconds: 'soon' }), /type_mismatch/)
  })
})

describe('workflow', () => {
  test('workflow.Call', async () => {
    await assert.rejects(fire('workflow.Call', { workflow_id: 'x' }), /no_workflows/)
    await assert.rejects(fire('workflow.Call', { workflow_id: '' }), /No workflow is named/)
    await assert.rejects(fire('workflow.Call'), /missing_property/)
  })
})
