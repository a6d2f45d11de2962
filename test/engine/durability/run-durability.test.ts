// What the journal records of firings, and how a run continues from it: law 48 and following.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Journal } from '../../../src/engine/durability/journal.ts'
import type { InputValues } from '../../../src/engine/node-api/firing-forms.ts'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import type { Execution, RunOutcome } from '../../../src/engine/runtime/execution.ts'
import {
  Gate,
  graph,
  item,
  node,
  output,
  sink,
  source,
  start,
  testType,
  until,
  update,
  value,
  withTypes,
} from '../kit.ts'
import { MemoryJournal } from '../memory-journal.ts'

/** A type that counts how often its code began. */
class Counted {
  begun = 0
  readonly type: NodeType

  constructor(name: string, run: NonNullable<NodeType['run']>, rest: Partial<NodeType> = {}) {
    this.type = testType(name, {
      properties: [value],
      outputs: [output],
      ...rest,
      run: (inputs, context) => {
        this.begun++
        return run(inputs, context)
      },
    })
  }
}

const later = async ({ value: given }: InputValues) => ({ output: Number(given) + 1 })
const now = ({ value: given }: InputValues) => ({ output: Number(given) + 1 })
const through = (type: string): Graph =>
  graph([source('in', 1), node('n', type), sink('out')], ['in.output->n.value', 'n.output->out.value'])

function remembered(of: Graph, types: NodeType[], journal: MemoryJournal, seed = 1) {
  return start(of, withTypes(...types), { journal: journal.open(), seed })
}

async function outcomeOf(of: Graph, types: NodeType[], journal: MemoryJournal): Promise<RunOutcome> {
  return remembered(of, types, journal).execution.done
}

const completed = (out: unknown[]) => ({ status: 'completed', outputs: { out } })

function failed(outcome: RunOutcome, type: string, message: RegExp): void {
  assert.ok(outcome.status === 'failed', JSON.stringify(outcome))
  assert.deepEqual([outcome.error.type, message.test(outcome.error.message)], [type, true], outcome.error.message)
}

describe('the journal of a run', () => {
  const asks: NonNullable<NodeType['run']> = (inputs, { clock }) => ({ output: clock.now() > 0 && now(inputs).output })
  const CASES: [string, NonNullable<NodeType['run']>, Partial<NodeType>, number][] = [
    ['nothing of a synchronous firing', now, {}, 0],
    ['a firing that came later', later, {}, 1],
    ['one that looked at the clock', asks, {}, 1],
    ['one that took a service', (inputs, { services }) => (services ? now(inputs) : {}), {}, 1],
    ['one that has an effect', now, { effect: true }, 1],
    ['one that must not run twice', now, { retry_safe: false }, 1],
    ['nothing of one that rolled dice', (inputs, context) => (context.random() < 1 ? now(inputs) : {}), {}, 0],
  ]
  for (const [what, run, rest, ends] of CASES) {
    test(what, async () => {
      const counted = new Counted('test.It', run, rest)
      const journal = new MemoryJournal()
      assert.deepEqual(await outcomeOf(through('test.It'), [counted.type], journal), completed([2]))
      assert.equal(journal.of('end').length, ends)
      assert.deepEqual(await outcomeOf(through('test.It'), [counted.type], journal), completed([2]))
      assert.equal(counted.begun, ends === 0 ? 2 : 1)
    })
  }

  test('is not read if it is blank', async () => {
    const counted = new Counted('test.It', later)
    const journal = new MemoryJournal()
    const told = journal.open()
    const blank: Journal = {
      isBlank: true,
      recallFailure: () => assert.fail('it is asked'),
      fail: (error) => told.fail(error),
      recall: () => assert.fail('it is asked'),
      start: (node_id, path) => told.start(node_id, path),
      step: (node_id, path, name, call) => told.step(node_id, path, name, call),
      stepEnd: (node_id, path, name, given) => told.stepEnd(node_id, path, name, given),
      attempt: (node_id, path, attempts) => told.attempt(node_id, path, attempts),
      item: (node_id, path, given) => told.item(node_id, path, given),
      end: (node_id, path, end) => told.end(node_id, path, end),
      wait: (node_id, path, request) => told.wait(node_id, path, request),
      whenDurable: () => told.whenDurable(),
      formatName: (node_id, path) => told.formatName(node_id, path),
      forCall: (node_id, path, call) => told.forCall(node_id, path, call),
    }
    const { execution } = start(through('test.It'), withTypes(counted.type), { journal: blank })
    assert.deepEqual(await execution.done, completed([2]))
    assert.deepEqual(journal.of('end'), ['n@'])
  })

  test('records each start, and each failed attempt, of a firing with retries', async () => {
    const counted = new Counted(
      'test.It',
      (inputs) => {
        if (counted.begun === 1) throw new NodeError('not yet')
        return now(inputs)
      },
      { retry_safe: false },
    )
    const journal = new MemoryJournal()
    const retry = { attempts: 2, backoff_ms: 0 }
    const of = graph([source('in', 1), node('n', 'test.It', { retry }), sink('out')], through('test.It').edges)
    for (let runs = 0; runs < 2; runs++) assert.deepEqual(await outcomeOf(of, [counted.type], journal), completed([2]))
    assert.equal(counted.begun, 2)
    assert.deepEqual(
      journal.records.map(([kind]) => kind),
      ['start', 'attempt', 'start', 'end'],
    )
  })

  test('records firings that end after the run has failed, but no aborted ones', async () => {
    const gate = new Gate()
    const bad = new Counted('test.Bad', () => Promise.reject(new NodeError('bad')))
    const of = graph(
      [source('in', 1), node('gate', 'test.Gate'), node('bad', 'test.Bad')],
      ['in.output->gate.value', 'in.output->bad.value'],
    )
    for (const cancels of [false, true]) {
      const journal = new MemoryJournal()
      const { execution, abort, observer } = remembered(of, [gate.type, bad.type], journal)
      await until(() => gate.waiting.length === 1 && observer.statuses('bad').includes('error'))
      if (cancels) abort.abort()
      if (cancels) gate.waiting[0]!.fail(new Error('aborted'))
      else gate.waiting[0]!.open()
      failed(await execution.done, 'node_error', /bad/)
      assert.deepEqual(journal.of('end'), cancels ? [] : ['gate@'])
    }
  })

  test('records a failure that a Catch receives', async () => {
    const bad = new Counted('test.Bad', () => Promise.reject(new NodeError('no', 'odd')))
    const of = graph(
      [source('in', 1), node('n', 'test.Bad'), node('catch', 'control.Catch'), sink('out')],
      ['in.output->n.value', 'n.output->catch.value', 'catch.error->out.value'],
    )
    const journal = new MemoryJournal()
    const error = { node_id: 'n', node_type: 'test.Bad', type: 'odd', message: 'no' }
    for (let runs = 0; runs < 2; runs++) {
      const { execution, observer } = remembered(of, [bad.type], journal)
      assert.deepEqual(await execution.done, completed([error]))
      assert.deepEqual(observer.statuses('n'), ['running', 'error'])
    }
    assert.equal(bad.begun, 1)
  })

  test('fails its own run, and no other, when it fails', async () => {
    for (const type of [new Counted('test.It', later), new Counted('test.It', now, { retry_safe: false })]) {
      const journal = new MemoryJournal()
      journal.onRecord = () => {
        throw new Error('no room')
      }
      failed(await outcomeOf(through('test.It'), [type.type], journal), 'internal_error', /internal error/)
      assert.equal(type.begun, type.type.retry_safe === false ? 0 : 1)
    }
  })
})

describe('random numbers', () => {
  const rolls = testType('test.Dice', {
    properties: [value],
    outputs: [output],
    run: (_inputs, context) => ({ output: [context.random(), context.random()] }),
  })
  const rolled = async (seed: number, of = through('test.Dice')) => {
    const outcome = await remembered(of, [rolls], new MemoryJournal(), seed).execution.done
    assert.ok(outcome.status === 'completed')
    return outcome.outputs.out
  }

  test('are the same for the same seed, node and path, and others for others', async () => {
    const [first] = (await rolled(1)) as number[][]
    assert.ok(first!.every((one) => one >= 0 && one < 1) && first![0] !== first![1])
    assert.deepEqual(await rolled(1), [first])
    assert.notDeepEqual(await rolled(2), [first])
    const stream = graph(
      [
        node('each', 'control.ForEach', { list: [1, 2, 3] }),
        node('n', 'test.Dice'),
        node('m', 'test.Dice'),
        sink('out'),
      ],
      ['each.item->n.value', 'each.item->m.value', 'n.output->out.value'],
    )
    const three = (await rolled(1, stream)) as number[][]
    assert.equal(new Set([...three.flat(), ...first!]).size, 8)
    const alone = graph(stream.nodes.slice(0, 2).concat(sink('out')), [stream.edges[0]!, stream.edges[2]!])
    assert.deepEqual(await rolled(1, alone), three)
  })

  test('are spread evenly', async () => {
    const list = Array.from({ length: 2000 }, (_, at) => at)
    const of = graph(
      [node('each', 'control.ForEach', { list }), node('n', 'test.Dice'), sink('out')],
      ['each.item->n.value', 'n.output->out.value'],
    )
    const all = ((await rolled(7, of)) as number[][]).flat()
    const tenths = Array.from({ length: 10 }, (_, at) => all.filter((one) => Math.floor(one * 10) === at).length)
    assert.ok(
      tenths.every((count) => count > 320 && count < 480),
      tenths.join(),
    )
  })
})

describe('a firing that must not run twice', () => {
  test('begins after its start is committed', async () => {
    const counted = new Counted('test.It', now, { retry_safe: false })
    const journal = new MemoryJournal()
    const committed = Promise.withResolvers<void>()
    journal.commit = () => committed.promise
    const { execution } = remembered(through('test.It'), [counted.type], journal)
    await until(() => journal.size === 1)
    assert.deepEqual([journal.of('start'), counted.begun], [['n@'], 0])
    committed.resolve()
    assert.deepEqual(await execution.done, completed([2]))
  })

  test('fails the run if it had begun and not ended, whatever would catch or retry it', async () => {
    const counted = new Counted('test.It', later, { retry_safe: ({ value: given }) => given !== 1 })
    const of = graph(
      [
        source('in', 1),
        node('n', 'test.It', { retry: { attempts: 3, backoff_ms: 0 } }),
        node('catch', 'control.Catch'),
        sink('out'),
      ],
      ['in.output->n.value', 'n.output->catch.value', 'catch.value->out.value'],
    )
    const journal = new MemoryJournal()
    assert.deepEqual(await outcomeOf(of, [counted.type], journal), completed([2]))
    const again = await outcomeOf(of, [counted.type], journal.cut(1))
    failed(again, 'node_interrupted', /^Node "n" was interrupted and is not safe to run twice\.$/)
    assert.ok(again.status === 'failed' && again.error.node_id === 'n')
    assert.equal(counted.begun, 1)
  })

  test('does not begin if the run stopped meanwhile', async () => {
    const counted = new Counted('test.It', now, { retry_safe: false })
    const journal = new MemoryJournal()
    const committed = Promise.withResolvers<void>()
    journal.commit = () => committed.promise
    const { execution, abort } = remembered(through('test.It'), [counted.type], journal)
    abort.abort()
    committed.resolve()
    assert.deepEqual([await execution.done, counted.begun], [{ status: 'cancelled' }, 0])
  })
})

describe('use of services that is not allowed', () => {
  test('fails in a plain generator that has yielded an item', async () => {
    for (const early of [true, false]) {
      const type = testType('test.Late', {
        outputs: [item],
        *run(_inputs, context) {
          if (early) context.clock.now()
          yield { item: 1 }
          yield { item: context.clock.now() > 0 ? 2 : 0 }
        },
      })
      const of = graph([node('n', 'test.Late'), sink('out')], ['n.item->out.value'])
      const outcome = await outcomeOf(of, [type], new MemoryJournal())
      if (early) assert.deepEqual(outcome, completed([1, 2]))
      else failed(outcome, 'node_error', /may not use the run.s services/)
    }
  })

  test('fails in stream operators and loops, with and without a journal', async () => {
    const weave = testType('test.Weave', {
      properties: [{ ...value, aggregate: true }],
      outputs: [item],
      // biome-ignore lint/correctness/useYield: it fails before.
      *streamOperator(_inputs, context) {
        return { output: context.clock.now() }
      },
    })
    const loop = testType('test.Loop', {
      properties: [{ name: 'next', type: value.type, feedback: true }],
      outputs: [item],
      loop: (_inputs, context) => ({
        first: () => ({ item: { item: context.services } }),
        next: () => ({ outputs: {} }),
      }),
    })
    const woven = graph(
      [node('each', 'control.ForEach', { list: [1] }), node('n', 'test.Weave')],
      ['each.item->n.value'],
    )
    const looped = graph([node('n', 'test.Loop')], ['n.item->n.next'])
    for (const made of [woven, looped]) {
      const plain: Execution = start(made, withTypes(weave, loop)).execution
      failed(await plain.done, 'node_error', /stream operators, loops/)
      failed(await outcomeOf(made, [weave, loop], new MemoryJournal()), 'node_error', /stream operators, loops/)
    }
  })
})

describe('changes of properties', () => {
  test('apply to the same firings again after an interruption', async () => {
    const gate = new Gate()
    const list = [1, 2, 3]
    const of = graph(
      [
        node('each', 'control.ForEach', { list }),
        node('gate', 'test.Gate'),
        node('say', 'text.Concat', { b: 'old' }),
        sink('out'),
      ],
      ['each.item->gate.value', 'gate.output->say.a', 'say.output->out.value'],
    )
    of.nodes[0]!.data = { list: ['a', 'b', 'c'] }
    const journal = new MemoryJournal()
    const started = remembered(of, [gate.type], journal)
    const { execution } = started
    await until(() => gate.waiting.length === 3)
    gate.waiting[0]!.open()
    await until(() => journal.size === 1)
    await new Promise((go) => setImmediate(go))
    const updated = update(started, 'say', { b: 'new' })
    assert.deepEqual(updated, { applied: ['b'], from: 1 })
    while (gate.waiting.length > 0) gate.waiting[0]!.open()
    const out = ['aold', 'bnew', 'cnew']
    assert.deepEqual(await execution.done, completed(out))
    const updates = [{ node_id: 'say', from: updated!.from, properties: { b: 'new' } }]
    const again = start(of, withTypes(gate.type), { journal: journal.open(), updates })
    assert.deepEqual(await again.execution.done, completed(out))
    assert.equal(gate.started, 3)
    assert.ok(update(again, 'say', { b: 'late' })!.from > 3)
  })

  test('made after an interruption apply after those made before it', async () => {
    const gate = new Gate()
    const of = graph(
      [
        node('each', 'control.ForEach', { list: ['a', 'b', 'c'] }),
        node('gate', 'test.Gate'),
        node('say', 'text.Concat', { b: 'old' }),
        sink('out'),
      ],
      ['each.item->gate.value', 'gate.output->say.a', 'say.output->out.value'],
    )
    const cases: [number, string[]][] = [
      [0, ['alate', 'blate', 'clate']],
      [2, ['aold', 'bold', 'clate']],
    ]
    for (const [from, out] of cases) {
      const updates = [{ node_id: 'say', from, properties: { b: 'new' } }]
      const started = start(of, withTypes(gate.type), { journal: new MemoryJournal().open(), updates })
      const { execution } = started
      await until(() => gate.waiting.length === 3)
      assert.deepEqual(update(started, 'say', { b: 'late' }), { applied: ['b'], from })
      while (gate.waiting.length > 0) gate.waiting[0]!.open()
      assert.deepEqual(await execution.done, completed(out))
    }
  })
})
