// The record of called workflows, and how a run waits when one of them does.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { Journal } from '../../src/engine/durability/journal.ts'
import { Gate, graph, HandClock, node, output, sink, someTurns, source, testType, until, value } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { answer, called, waits } from './waiting.ts'

const dynamic = { dynamic_properties: { in: { type: 'any' } }, dynamic_outputs: { out: { type: 'any' } } }
const call = (id: string, workflow_id: string, data = {}) =>
  node(id, 'workflow.Call', { workflow_id, ...data }, dynamic as never)

/** Calls `inner` with each item of a list. */
const mainOf = (list: unknown[], data = {}): Graph =>
  graph(
    [node('each', 'control.ForEach', { list }), call('call', 'inner', data), sink('out')],
    ['each.item->call.in', 'call.out->out.value'],
  )
/** Passes its param to one node of that type. */
const innerOf = (type: string): Graph =>
  graph(
    [node('in', 'input.Any', { name: 'in' }), node('n', type), sink('out')],
    ['in.output->n.value', 'n.output->out.value'],
  )
/** Calls `deep` with its param. */
const callingInner: Graph = graph(
  [node('in', 'input.Any', { name: 'in' }), call('call', 'deep'), sink('out')],
  ['in.output->call.in', 'call.out->out.value'],
)
const completed = (out: unknown[]) => ({ status: 'completed', outputs: { out } })

/** Counts its firings, and must not run twice. */
function once() {
  const done: unknown[] = []
  const type = testType('test.Once', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    run({ value: given }) {
      done.push(given)
      return { output: [given, 'done'] }
    },
  })
  return { done, type }
}

describe('a called workflow', () => {
  test('continues where it was, and is not called again once it has ended', async () => {
    const { done, type } = once()
    const journal = new MemoryJournal()
    const workflows = { main: mainOf(['a', 'b']), inner: innerOf('test.Once') }
    const out = completed(
      [
        ['a', 'done'],
        ['b', 'done'],
      ].map((pair) => pair),
    )
    assert.deepEqual(await called(workflows, journal, [type]).execution.done, out)
    const kinds = (name: string) => journal.of('end').indexOf(name)
    assert.ok(kinds('call@0#0/n@') < kinds('call@0') && kinds('call@0#0/n@') >= 0)
    for (let size = journal.size; size >= 0; size--) {
      const rest = journal.cut(size)
      const lost = rest.of('start').some((name) => !rest.of('end').includes(name))
      const [before, begun] = [done.length, rest.of('start').length]
      const outcome = await called(workflows, rest, [type]).execution.done
      if (!lost) {
        assert.deepEqual(outcome, out)
        assert.equal(done.length - before, 2 - begun)
      } else {
        assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_interrupted', JSON.stringify(outcome))
        assert.match(outcome.error.message, /^Workflow "inner" failed at node "n": Node "n" was interrupted/)
      }
    }
  })

  test('fails the whole run if it was interrupted and must not continue, whatever would catch that', async () => {
    const { done, type } = once()
    const main = graph(
      [
        source('in', 'a'),
        call('call', 'inner', { retry: { attempts: 3, backoff_ms: 0 } }),
        node('catch', 'control.Catch'),
        sink('out'),
      ],
      ['in.output->call.in', 'call.out->catch.value', 'catch.value->out.value'],
    )
    const journal = new MemoryJournal()
    await called({ main, inner: innerOf('test.Once') }, journal, [type]).execution.done
    const outcome = await called({ main, inner: innerOf('test.Once') }, journal.cut(1), [type]).execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_interrupted', JSON.stringify(outcome))
    assert.equal(done.length, 1)
  })

  test('has random numbers of its own', async () => {
    const dice = testType('test.Dice', {
      properties: [value],
      outputs: [output],
      run: (_inputs, context) => ({ output: context.random() }),
    })
    const workflows = { main: mainOf([1, 2]), inner: innerOf('test.Dice') }
    const outputs = []
    for (let runs = 0; runs < 2; runs++)
      outputs.push(await called(workflows, new MemoryJournal(), [dice]).execution.done)
    assert.deepEqual(outputs[0], outputs[1])
    const [first] = outputs
    assert.ok(first?.status === 'completed' && first.outputs.out![0] !== first.outputs.out![1])
  })

  test('has not failed if it was halted with its caller', async () => {
    const gate = new Gate()
    const bad = testType('test.Bad', { properties: [value], run: ({ value: given }) => Promise.reject(given) })
    const main = graph(
      [
        source('in', 'a'),
        call('call', 'inner'),
        node('catch', 'control.Catch'),
        node('gate', 'test.Gate'),
        node('bad', 'test.Bad'),
      ],
      ['in.output->call.in', 'call.out->catch.value', 'in.output->gate.value', 'gate.output->bad.value'],
    )
    const journal = new MemoryJournal()
    const { execution, observer } = called({ main, inner: innerOf('test.Gate') }, journal, [gate.type, bad])
    await until(() => gate.waiting.length === 2)
    gate.waiting[0]!.open()
    await until(() => observer.statuses('bad').includes('error'))
    gate.waiting[0]!.open()
    assert.equal((await execution.done).status, 'failed')
    assert.deepEqual(journal.of('end').sort(), ['call@#0/n@', 'gate@'])
  })
})

describe('a called workflow that waits', () => {
  const workflows = { main: mainOf(['a', 'b']), inner: innerOf('test.Ask') }

  test('suspends the whole run, with the calling node in the list', async () => {
    const journal = new MemoryJournal()
    const first = await called(workflows, journal).execution.done
    assert.deepEqual(waits(first), ['call a', 'call b'])
    assert.ok(first.status === 'suspended')
    assert.deepEqual(
      first.waiting.map(({ firing }) => firing),
      ['call@0#0/n@', 'call@1#0/n@'],
    )
    answer(journal, first, 'b')
    const second = await called(workflows, journal).execution.done
    assert.deepEqual(waits(second), ['call a'])
    assert.deepEqual(journal.of('end'), ['call@1'])
    answer(journal, second, 'a')
    assert.deepEqual(
      await called(workflows, journal).execution.done,
      completed(
        [
          ['a', 'yes'],
          ['b', 'yes'],
        ].map((pair) => pair),
      ),
    )
  })

  test('is answered while another one continues, at any depth', async () => {
    const gate = new Gate()
    const main = graph(
      [source('in', 'a'), node('gate', 'test.Gate'), call('call', 'middle'), sink('out')],
      ['in.output->call.in', 'in.output->gate.value', 'call.out->out.value'],
    )
    const middle = graph(
      [node('in', 'input.Any', { name: 'in' }), call('deeper', 'inner'), sink('out')],
      ['in.output->deeper.in', 'deeper.out->out.value'],
    )
    const journal = new MemoryJournal()
    const all = { main, middle, inner: innerOf('test.Ask') }
    const { execution, observer } = called(all, journal, [gate.type])
    await until(() => journal.of('wait').length === 1)
    assert.equal(execution.outcome, null)
    assert.equal(execution.answer('call@#0/deeper@#0/n@', 'yes'), true)
    await until(() => observer.named('output').length === 1)
    gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, completed([['a', 'yes']]))
    const outcome = await called(all, journal.cut(1), [gate.type]).execution
    await until(() => gate.waiting.length === 1)
    gate.waiting[0]!.open()
    assert.deepEqual(waits(await outcome.done), ['call a'])
  })

  test('keeps its permit: further calls wait until it has ended', async () => {
    const list = Array.from({ length: 40 }, (_, at) => at)
    const journal = new MemoryJournal()
    const seen: number[] = []
    for (let outcome = await called({ ...workflows, main: mainOf(list) }, journal).execution.done; ; ) {
      if (outcome.status === 'completed') {
        assert.deepEqual(
          outcome.outputs.out,
          list.map((at) => [at, 'yes']),
        )
        break
      }
      seen.push(waits(outcome).length)
      for (const name of waits(outcome)) answer(journal, outcome, name.slice(5))
      outcome = await called({ ...workflows, main: mainOf(list) }, journal).execution.done
    }
    assert.deepEqual(seen, [16, 16, 8])
  })

  test('does not use up the time limit of its caller', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const main = graph(
      [source('in', 'a'), node('gate', 'test.Gate'), call('call', 'inner', { timeout_seconds: 1 }), sink('out')],
      ['in.output->call.in', 'in.output->gate.value', 'call.out->out.value'],
    )
    const journal = new MemoryJournal()
    const { execution } = called({ main, inner: innerOf('test.Ask') }, journal, [gate.type], { clock })
    await until(() => journal.of('wait').length === 1 && gate.waiting.length === 1 && clock.sleepers.size === 1)
    await someTurns()
    for (let seconds = 0; seconds < 5; seconds++) {
      clock.turn(1000)
      await until(() => clock.sleepers.size === 1, 'the limit, set anew')
    }
    execution.answer('call@#0/n@', 'yes')
    gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, completed([['a', 'yes']]))
    assert.equal(clock.sleepers.size, 0)
  })

  test('uses up the time limit of its caller while it works, however deep', async () => {
    for (const inner of [innerOf('test.Gate'), callingInner]) {
      const clock = new HandClock()
      const gate = new Gate()
      const main = graph(
        [source('in', 'a'), call('call', 'inner', { timeout_seconds: 1 }), sink('out')],
        ['in.output->call.in', 'call.out->out.value'],
      )
      const journal = new MemoryJournal()
      const workflows = { main, inner, deep: innerOf('test.Gate') }
      const { execution } = called(workflows, journal, [gate.type], { clock })
      await until(() => gate.waiting.length === 1 && clock.sleepers.size === 1)
      clock.turn(1000)
      await until(() => gate.waiting[0]!.signal.aborted)
      gate.waiting[0]!.open()
      const outcome = await execution.done
      assert.deepEqual(outcome.status === 'failed' && [outcome.error.node_id, outcome.error.type], [
        'call',
        'timed_out',
      ])
    }
  })

  test('does not use up the time limit of its caller while its own calls wait', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const main = graph(
      [source('in', 'a'), node('gate', 'test.Gate'), call('call', 'inner', { timeout_seconds: 1 }), sink('out')],
      ['in.output->call.in', 'in.output->gate.value', 'call.out->out.value'],
    )
    const journal = new MemoryJournal()
    const workflows = { main, inner: callingInner, deep: innerOf('test.Ask') }
    const { execution } = called(workflows, journal, [gate.type], { clock })
    await until(() => journal.of('wait').length === 1 && gate.waiting.length === 1 && clock.sleepers.size === 1)
    await someTurns()
    clock.turn(1000)
    await until(() => clock.sleepers.size === 1, 'the limit, set anew')
    execution.answer(journal.of('wait')[0]!, 'yes')
    gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, completed([['a', 'yes']]))
  })

  test('is suspended without leaving a timer or an end of its caller', async () => {
    const clock = new HandClock()
    const main = graph(
      [source('in', 'a'), call('call', 'inner', { timeout_seconds: 1 }), node('catch', 'control.Catch'), sink('out')],
      ['in.output->call.in', 'call.out->catch.value', 'catch.value->out.value'],
    )
    const journal = new MemoryJournal()
    const { execution } = called({ main, inner: innerOf('test.Ask') }, journal, [], { clock })
    assert.deepEqual(waits(await execution.done), ['call a'])
    await until(() => clock.sleepers.size === 0)
    assert.deepEqual(
      journal.records.map(([kind]) => kind),
      ['wait'],
    )
  })

  test('is halted if no consumer wants its outputs', async () => {
    const main = graph(
      [
        node('each', 'control.ForEach', { list: ['a', 'b'] }),
        call('call', 'inner'),
        node('take', 'control.Take', { count: 1 }),
        sink('out'),
      ],
      ['each.item->call.in', 'call.out->take.item', 'take.item->out.value'],
    )
    const journal = new MemoryJournal()
    const all = { main, inner: innerOf('test.Ask') }
    const outcome = await called(all, journal).execution.done
    assert.deepEqual(waits(outcome), ['call a', 'call b'])
    answer(journal, outcome, 'a')
    assert.deepEqual(await called(all, journal).execution.done, completed([['a', 'yes']]))
  })
})

test('each firing of a called workflow has a name of its own', async () => {
  const names: string[] = []
  const journal = new MemoryJournal()
  const spied = (inner: Journal): Journal => ({
    recallFailure: () => inner.recallFailure(),
    fail: (error) => inner.fail(error),
    recall: (node_id, path) => {
      names.push(inner.formatName(node_id, path))
      return inner.recall(node_id, path)
    },
    start: (node_id, path) => inner.start(node_id, path),
    step: (node_id, path, name, number) => inner.step(node_id, path, name, number),
    stepEnd: (node_id, path, name, given) => inner.stepEnd(node_id, path, name, given),
    attempt: (node_id, path, attempts) => inner.attempt(node_id, path, attempts),
    item: (node_id, path, given) => inner.item(node_id, path, given),
    end: (node_id, path, end) => inner.end(node_id, path, end),
    wait: (node_id, path, request) => inner.wait(node_id, path, request),
    whenDurable: () => inner.whenDurable(),
    formatName: (node_id, path) => inner.formatName(node_id, path),
    forCall: (node_id, path, number) => spied(inner.forCall(node_id, path, number)),
  })
  const twice = testType('test.Twice', {
    properties: [value],
    outputs: [output],
    async run({ value: given }, context) {
      const [first, second] = await Promise.all([1, 2].map(() => context.callWorkflow('inner', { in: given })))
      return { output: [first!.out, second!.out] }
    },
  })
  const main = graph(
    [node('each', 'control.ForEach', { list: ['a', 'b'] }), node('n', 'test.Twice'), sink('out')],
    ['each.item->n.value', 'n.output->out.value'],
  )
  const options = { journal: spied(journal.open()) }
  const { execution } = called({ main, inner: innerOf('test.Ask') }, journal, [twice], options)
  assert.deepEqual(waits(await execution.done), ['n a', 'n a', 'n b', 'n b'])
  assert.equal(new Set(names).size, names.length)
  assert.ok(
    ['n@0#0/n@', 'n@0#1/n@', 'n@1#0/n@', 'n@1#1/n@'].every((name) => names.includes(name)),
    names.join(),
  )
})
