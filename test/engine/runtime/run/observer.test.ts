// The events that a host receives from a run, and their order.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NodeError } from '../../../../src/engine/node-api/node-error.ts'
import { Counter, edge, graph, node, output, run, sink, source, start, testType, value, withTypes } from '../../kit.ts'

describe('observer', () => {
  test('receives nodes, edges and outputs of a simple run in order', async () => {
    const of = graph(
      [source('in', 'a'), node('up', 'text.Case', { to: 'upper', name: 'Loud' }), sink('out')],
      [edge('in.output->up.text', { id: 'e1' }), edge('up.output->out.value', { id: 'e2' })],
    )
    const { observer, execution } = start(of)
    await execution.done
    assert.deepEqual(observer.calls, [
      ['node', 'in', 'running', undefined],
      ['edge', 'e1', 'completed', 1],
      ['node', 'in', 'completed', { result: { output: 'a' }, streamed: new Set() }],
      ['node', 'up', 'running', undefined],
      ['edge', 'e2', 'completed', 1],
      ['node', 'up', 'completed', { result: { output: 'A' }, streamed: new Set() }],
      ['node', 'out', 'running', undefined],
      ['output', 'out', 'out', 'A'],
      ['node', 'out', 'completed', { result: {}, streamed: new Set() }],
      ['outputDone', 'out', 'out'],
    ])
  })

  test('receives each node once, however often it fires, with the outputs of its last firing', async () => {
    const of = graph(
      [source('in', [1, 2, 3]), node('each', 'control.ForEach'), node('say', 'text.FromValue'), sink('out')],
      ['in.output->each.list', 'each.item->say.value', 'say.output->out.value'],
    )
    const { observer, execution } = start(of)
    await execution.done
    const said = observer.calls.filter((call) => call[0] === 'node' && call[1] === 'say')
    assert.deepEqual(said, [
      ['node', 'say', 'running', undefined],
      ['node', 'say', 'completed', { result: { output: '3' }, streamed: new Set(['output']) }],
    ])
  })

  test('receives an edge at its first value and at its end, not at every value', () => {
    const counter = new Counter()
    const of = graph(
      [node('count', 'test.Counter', { count: 5000 }), sink('out')],
      [edge('count.item->out.value', { id: 'stream' })],
    )
    const { observer, execution } = start(of, withTypes(counter.type))
    return execution.done.then(() => {
      const edges = observer.named('edge')
      assert.deepEqual(edges[0], ['edge', 'stream', 'active', 1])
      assert.deepEqual(edges.at(-1), ['edge', 'stream', 'completed', 5000])
      assert.ok(edges.length < 50, `${edges.length} reports`)
    })
  })

  test('receives the end of each edge of a single value, also without a value: on a branch not taken, and after a failure', async () => {
    const bad = testType('test.Bad', {
      outputs: [output],
      run() {
        throw new NodeError('no', 'odd')
      },
    })
    const of = graph(
      [
        source('in', true),
        node('if', 'control.If', { value: 'a' }),
        sink('yes'),
        sink('no'),
        node('bad', 'test.Bad'),
        node('catch', 'control.Catch'),
        sink('held'),
      ],
      [
        edge('in.output->if.condition', { id: 'condition' }),
        edge('if.if_true->yes.value', { id: 'taken' }),
        edge('if.if_false->no.value', { id: 'not taken' }),
        edge('bad.output->catch.value', { id: 'failed' }),
        edge('catch.value->held.value', { id: 'caught' }),
      ],
    )
    const { observer, execution } = start(of, withTypes(bad))
    assert.equal((await execution.done).status, 'completed')
    const edges = Object.fromEntries(observer.named('edge').map(([, id, ...told]) => [id, told]))
    assert.deepEqual(edges, {
      condition: ['completed', 1],
      taken: ['completed', 1],
      'not taken': ['completed', 0],
      failed: ['completed', 0],
      caught: ['completed', 0],
    })
  })

  test('receives the name of a node, else the title of its type', async () => {
    const names: string[] = []
    const of = graph(
      [source('in', 1), node('say', 'text.FromValue'), sink('out')],
      ['in.output->say.value', 'say.output->out.value'],
    )
    await run(of, withTypes(), {
      observer: {
        nodeUpdated: (at, status) => status === 'running' && names.push(`${at.node_name} (${at.node_type})`),
        output() {},
        edgeUpdated() {},
        progress() {},
        chunk() {},
        log() {},
        fault() {},
      },
    })
    assert.deepEqual(names, ['in (input.Any)', 'Value to text (text.FromValue)', 'out (output.Output)'])
  })

  test('receives the calls of node code through its context', async () => {
    const talker = testType('test.Talker', {
      properties: [value],
      run(_inputs, context) {
        context.log('info', 'hello')
        context.progress(1.4, 3)
        context.chunk('abc', { done: true, content_type: 'text/markdown' })
        return {}
      },
    })
    const { execution, observer } = start(
      graph([source('in', 1), node('t', 'test.Talker')], ['in.output->t.value']),
      withTypes(talker),
    )
    await execution.done
    assert.deepEqual(observer.named('log'), [['log', 't', 'info', 'hello']])
    assert.deepEqual(observer.named('progress'), [['progress', 't', 1, 3]])
    assert.deepEqual(observer.named('chunk'), [
      ['chunk', 't', { content: 'abc', content_type: 'text/markdown', done: true, thinking: false }],
    ])
  })
})
