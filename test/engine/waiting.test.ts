// Firings that wait for an outside event: when the run is suspended, what it reports then, and how it continues.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Counter, Gate, graph, HandClock, item, node, sink, source, testType, until, value } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { answer, remembered, waits } from './waiting.ts'

const one = graph(
  [source('in', 'a'), node('ask', 'test.Ask'), sink('out')],
  ['in.output->ask.value', 'ask.output->out.value'],
)
const each = (list: unknown[], data = {}) =>
  graph(
    [node('each', 'control.ForEach', { list }), node('ask', 'test.Ask', data), sink('out')],
    ['each.item->ask.value', 'ask.output->out.value'],
  )
const completed = (out: unknown[]) => ({ status: 'completed', outputs: { out } })

describe('a run that waits', () => {
  test('is suspended at once, and continues with the answer', async () => {
    const journal = new MemoryJournal()
    const { execution, observer } = remembered(one, journal)
    const request = { kind: 'value', name: 'a', message: null, schema: null, until: null }
    const waiting = [{ firing: 'ask@', node_id: 'ask', request }]
    assert.deepEqual(await execution.done, { status: 'suspended', waiting })
    assert.deepEqual(observer.statuses('ask'), ['running'])
    assert.equal(execution.answer('ask@', 'late'), false)
    assert.equal(execution.pushInput('in', 1), 'not_running')
    // Without an answer it waits for the same, and records that only once.
    assert.deepEqual(await remembered(one, journal).execution.done, { status: 'suspended', waiting })
    assert.equal(journal.size, 1)
    journal.answer('ask@', 'yes')
    for (let runs = 0; runs < 2; runs++)
      assert.deepEqual(await remembered(one, journal).execution.done, completed([['a', 'yes']]))
    assert.deepEqual(journal.of('end'), [])
  })

  test('lists firings in the order of the graph, then of their paths', async () => {
    const of = graph(
      [
        node('each', 'control.ForEach', { list: [...'abcdefghijkl'] }),
        source('in', 'z'),
        node('last', 'test.Ask'),
        node('first', 'test.Ask'),
      ],
      ['in.output->first.value', 'each.item->last.value'],
    )
    of.nodes.reverse()
    const names = [...'abcdefghijkl'].map((name) => `last ${name}`)
    assert.deepEqual(waits(await remembered(of, new MemoryJournal()).execution.done), ['first z', ...names])
  })

  test('takes answers in any order, and gives results in their own order', async () => {
    const journal = new MemoryJournal()
    let outcome = await remembered(each(['a', 'b', 'c']), journal).execution.done
    for (const name of ['c', 'a']) {
      answer(journal, outcome, name)
      outcome = await remembered(each(['a', 'b', 'c']), journal).execution.done
    }
    assert.deepEqual(waits(outcome), ['ask b'])
    answer(journal, outcome, 'b', 'no way')
    outcome = await remembered(each(['a', 'b', 'c']), journal).execution.done
    assert.deepEqual(
      outcome,
      completed([
        ['a', 'yes'],
        ['b', 'no way'],
        ['c', 'yes'],
      ]),
    )
  })

  test('has as many waiting firings as its buffer has room for, and the others after them', async () => {
    const journal = new MemoryJournal()
    const list = Array.from({ length: 150 }, (_, at) => at)
    for (const [from, to] of [
      [0, 64],
      [64, 128],
      [128, 150],
    ]) {
      const outcome = await remembered(each(list), journal, [], { concurrency: 2 }).execution.done
      assert.deepEqual(
        waits(outcome),
        list.slice(from, to).map((at) => `ask ${at}`),
      )
      for (const at of list.slice(from, to)) answer(journal, outcome, String(at))
    }
    assert.deepEqual(await remembered(each(list), journal).execution.done, completed(list.map((at) => [at, 'yes'])))
  })

  test('continues other work before it is suspended, and takes answers meanwhile', async () => {
    const gate = new Gate()
    const of = graph(
      [source('in', 'a'), node('gate', 'test.Gate'), node('ask', 'test.Ask'), node('too', 'test.Ask'), sink('out')],
      ['in.output->gate.value', 'in.output->ask.value', 'gate.output->too.value', 'ask.output->out.value'],
    )
    const journal = new MemoryJournal()
    const { execution, observer } = remembered(of, journal, [gate.type])
    await until(() => gate.waiting.length === 1)
    // The firings may begin in different turns of the event loop.
    await until(() => journal.of('wait').length === 1)
    assert.equal(execution.outcome, null)
    assert.equal(execution.answer('nobody@', 1), false)
    assert.equal(execution.answer('ask@', 'yes'), true)
    assert.equal(execution.answer('ask@', 'again'), false)
    await until(() => observer.named('output').length === 1)
    gate.waiting[0]!.open('b')
    assert.deepEqual(waits(await execution.done), ['too b'])
    // The test records the answer, as a host would.
    journal.answer('ask@', 'yes')
    journal.answer('too@', 'yes')
    assert.deepEqual(await remembered(of, journal, [gate.type]).execution.done, completed([['a', 'yes']]))
    assert.equal(gate.started, 1)
  })

  test('is suspended although a streamed input is open', async () => {
    const of = graph(
      [node('in', 'input.Any', { name: 'in', stream: true }), node('ask', 'test.Ask'), sink('out')],
      ['in.output->ask.value', 'ask.output->out.value'],
    )
    const journal = new MemoryJournal()
    const { execution } = remembered(of, journal)
    assert.equal(execution.outcome, null)
    execution.pushInput('in', 'a')
    assert.deepEqual(waits(await execution.done), ['ask a'])
    journal.answer('ask@0', 'yes')
    const again = remembered(of, journal)
    again.execution.pushInput('in', 'a')
    again.execution.endInput('in')
    assert.deepEqual(await again.execution.done, completed([['a', 'yes']]))
  })

  test('leaves no timer and no generator', async () => {
    const clock = new HandClock()
    const counter = new Counter()
    const of = graph(
      [node('count', 'test.Counter', { count: 1000 }), node('ask', 'test.Ask', { timeout_seconds: 5 }), sink('out')],
      ['count.item->ask.value', 'ask.output->out.value'],
    )
    const journal = new MemoryJournal()
    const { execution, abort } = remembered(of, journal, [counter.type], { clock, timeLimit: 60_000 })
    assert.equal(waits(await execution.done).length, 64)
    assert.deepEqual([clock.sleepers.size, counter.ended], [0, true])
    abort.abort()
    assert.equal((await execution.done).status, 'suspended')
  })

  test('is cancelled while other work continues', async () => {
    const gate = new Gate()
    const of = graph(
      [source('in', 'a'), node('gate', 'test.Gate'), node('ask', 'test.Ask')],
      ['in.output->gate.value', 'in.output->ask.value'],
    )
    const { execution, abort } = remembered(of, new MemoryJournal(), [gate.type])
    await until(() => gate.waiting.length === 1)
    abort.abort()
    assert.equal(execution.answer('ask@', 'yes'), false)
    gate.waiting[0]!.fail(new Error('aborted'))
    assert.deepEqual(await execution.done, { status: 'cancelled' })
  })
})

describe('a firing that waits', () => {
  test('fails like any other if the answer is refused, and a Catch receives that', async () => {
    const of = graph(
      [source('in', 'a'), node('ask', 'test.Ask'), node('catch', 'control.Catch'), sink('out')],
      ['in.output->ask.value', 'ask.output->catch.value', 'catch.error->out.value'],
    )
    for (const [made, expected] of [
      [one, { status: 'failed', error: { node_id: 'ask', type: 'odd', message: 'refused' } }],
      [of, completed([{ node_id: 'ask', node_type: 'test.Ask', type: 'odd', message: 'refused' }])],
    ] as const) {
      const journal = new MemoryJournal()
      await remembered(made, journal).execution.done
      journal.answer('ask@', 'no')
      assert.deepEqual(await remembered(made, journal).execution.done, expected)
    }
  })

  test('is answered only in the branch that was taken', async () => {
    const of = graph(
      [
        source('in', true),
        node('if', 'control.If', { value: 'v' }),
        node('yes', 'test.Ask'),
        node('no', 'test.Ask'),
        node('first', 'control.Coalesce'),
        sink('out'),
      ],
      ['in.output->if.condition', 'if.if_true->yes.value', 'if.if_false->no.value'].concat([
        'yes.output->first.a',
        'no.output->first.b',
        'first.output->out.value',
      ]),
    )
    const journal = new MemoryJournal()
    const outcome = await remembered(of, journal).execution.done
    assert.deepEqual(waits(outcome), ['yes v'])
    answer(journal, outcome, 'v')
    assert.deepEqual(await remembered(of, journal).execution.done, completed([['v', 'yes']]))
  })

  test('uses up neither time nor attempts', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const of = graph(
      [
        source('in', 'a'),
        node('gate', 'test.Gate'),
        node('ask', 'test.Ask', { timeout_seconds: 1, retry: { attempts: 3, backoff_ms: 1 } }),
        sink('out'),
      ],
      ['in.output->gate.value', 'in.output->ask.value', 'ask.output->out.value'],
    )
    const journal = new MemoryJournal()
    const { execution, observer } = remembered(of, journal, [gate.type], { clock })
    await until(() => journal.of('wait').length === 1 && clock.sleepers.size === 0)
    clock.turn(60_000)
    assert.equal(execution.answer('ask@', 'yes'), true)
    gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, completed([['a', 'yes']]))
    assert.deepEqual(observer.named('log'), [])
  })

  test('that becomes unwanted is not waited for', async () => {
    const of = graph(
      [
        node('each', 'control.ForEach', { list: ['a', 'b', 'c'] }),
        node('ask', 'test.Ask'),
        node('take', 'control.Take', { count: 1 }),
        sink('out'),
      ],
      ['each.item->ask.value', 'ask.output->take.item', 'take.item->out.value'],
    )
    const journal = new MemoryJournal()
    const outcome = await remembered(of, journal).execution.done
    assert.deepEqual(waits(outcome), ['ask a', 'ask b', 'ask c'])
    answer(journal, outcome, 'a')
    assert.deepEqual(await remembered(of, journal).execution.done, completed([['a', 'yes']]))
  })
})

describe('work that cannot resume after a suspension', () => {
  const list = (count: number, rest = {}) => {
    const seen = { opened: 0 }
    const type = testType('test.List', {
      outputs: [item],
      ...rest,
      async *run() {
        seen.opened++
        for (let at = 0; at < count; at++) yield { item: at }
      },
    })
    return { seen, type }
  }

  test('a stream that does not repeat is fetched to its end before its run is suspended', async () => {
    for (const rest of [{}, { retry_safe: false }]) {
      const { seen, type } = list(500, rest)
      const of = graph(
        [node('n', 'test.List'), node('ask', 'test.Ask'), sink('out')],
        ['n.item->ask.value', 'ask.output->out.value'],
      )
      const journal = new MemoryJournal()
      for (let left = 500; left > 0; left -= Math.min(left, 64)) {
        const outcome = await remembered(of, journal, [type]).execution.done
        assert.deepEqual([waits(outcome).length, journal.of('end')], [Math.min(left, 64), ['n@']])
        for (const name of waits(outcome)) answer(journal, outcome, name.slice(4))
      }
      assert.equal((await remembered(of, journal, [type]).execution.done).status, 'completed')
      assert.equal(seen.opened, 1)
    }
  })

  test('a stream that repeats is opened again', async () => {
    const { seen, type } = list(200, { repeats: true })
    const of = graph(
      [node('n', 'test.List'), node('ask', 'test.Ask'), sink('out')],
      ['n.item->ask.value', 'ask.output->out.value'],
    )
    const journal = new MemoryJournal()
    let outcome = await remembered(of, journal, [type]).execution.done
    assert.deepEqual([journal.of('end'), journal.of('item').length < 200], [[], true])
    while (outcome.status === 'suspended') {
      for (const name of waits(outcome)) answer(journal, outcome, name.slice(4))
      outcome = await remembered(of, journal, [type]).execution.done
    }
    assert.equal(outcome.status, 'completed')
    assert.ok(seen.opened > 1)
  })

  test('a stream without an end that does not repeat fails its run before the run is suspended', async () => {
    const { type } = list(Number.POSITIVE_INFINITY)
    const of = graph([node('n', 'test.List'), node('ask', 'test.Ask')], ['n.item->ask.value'])
    const outcome = await remembered(of, new MemoryJournal(), [type]).execution.done
    assert.ok(outcome.status === 'failed', JSON.stringify(outcome))
    assert.deepEqual([outcome.error.node_id, outcome.error.type], ['n', 'node_interrupted'])
  })

  test('an aggregate that must not run twice fails its run before the run is suspended', async () => {
    const sum = testType('test.Sum', {
      properties: [{ ...value, aggregate: true }],
      outputs: [],
      retry_safe: false,
      open: () => ({ push() {}, end: () => ({}) }),
    })
    const of = graph(
      [
        node('each', 'control.ForEach', { list: ['a', 'b'] }),
        node('ask', 'test.Ask'),
        node('n', 'test.Sum'),
        node('one', 'control.If', { condition: true }),
      ],
      ['each.item->one.value', 'one.if_true->ask.value', 'ask.output->n.value'],
    )
    const journal = new MemoryJournal()
    const live = remembered(of, journal, [sum]).execution
    assert.deepEqual(waits(await live.done), ['ask a', 'ask b'])
    journal.answer('ask@0', 'yes')
    const outcome = await remembered(of, journal, [sum]).execution.done
    assert.ok(outcome.status === 'failed', JSON.stringify(outcome))
    const message = 'The run must wait, but node "n" cannot resume from its current state.'
    assert.deepEqual(outcome.error, { node_id: 'n', type: 'node_interrupted', message })
  })
})
