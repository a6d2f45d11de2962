// Nodes that wait for a person or for a value from outside the run. The engine's tests cover waiting itself.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { graph, HandClock, node, sink, start, until } from '../../engine/kit.ts'
import { MemoryJournal } from '../../engine/memory-journal.ts'
import { fire } from '../fire.ts'

const approval = graph(
  [node('ask', 'human.Approval', { message: 'Send it?', value: 'mail' }), sink('yes'), sink('no')],
  ['ask.approved->yes.value', 'ask.rejected->no.value'],
)
const waitFor = (data: Record<string, unknown>) =>
  graph([node('wait', 'control.WaitFor', data), sink('out')], ['wait.value->out.value'])
const delay = (seconds: number) =>
  graph([node('wait', 'control.Delay', { value: 'v', seconds }), sink('out')], ['wait.output->out.value'])

/** The first wait requests, and the outcome of the run once all are answered. */
async function asked(of: ReturnType<typeof graph>, answer: unknown, clock = new HandClock()) {
  const journal = new MemoryJournal()
  const first = await start(of, undefined, { journal: journal.open(), clock }).execution.done
  assert.equal(first.status, 'suspended')
  const waiting = first.status === 'suspended' ? first.waiting : []
  for (const { firing } of waiting) journal.answer(firing, answer)
  const outcome = await start(of, undefined, { journal: journal.open(), clock }).execution.done
  return { requests: waiting.map(({ request }) => request), outcome }
}

describe('human.Approval', () => {
  test('asks, and sends its value to approved or rejected', async () => {
    for (const [answer, outputs] of [
      [true, { yes: ['mail'], no: [] }],
      [false, { yes: [], no: ['mail'] }],
    ] as const) {
      const { requests, outcome } = await asked(approval, answer)
      const schema = { type: 'boolean' }
      assert.deepEqual(requests, [{ kind: 'approval', name: null, message: 'Send it?', schema, until: null }])
      assert.deepEqual(outcome, { status: 'completed', outputs })
    }
  })

  test('needs no message, and accepts only true and false', async () => {
    const { requests, outcome } = await asked(graph([node('ask', 'human.Approval')], []), 'yes')
    assert.deepEqual([requests[0]?.message], [null])
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'bad_answer', JSON.stringify(outcome))
  })

  test('cannot wait without a journal', async () => {
    await assert.rejects(fire('human.Approval'), /cannot_wait/)
    await assert.rejects(fire('control.WaitFor', { name: 'n' }), /cannot_wait/)
  })
})

describe('control.WaitFor', () => {
  test('asks for a value by its name', async () => {
    const schema = { type: 'integer' }
    const { requests, outcome } = await asked(waitFor({ name: 'count', schema }), 5)
    assert.deepEqual(requests, [{ kind: 'value', name: 'count', message: null, schema, until: null }])
    assert.deepEqual(outcome, { status: 'completed', outputs: { out: [5] } })
    assert.equal((await asked(waitFor({ name: 'any' }), null)).requests[0]?.schema, null)
  })

  test('needs a name, and an object as its schema', async () => {
    await assert.rejects(fire('control.WaitFor'), /missing_property/)
    await assert.rejects(fire('control.WaitFor', { name: '' }), /bad_input|missing_property/)
    await assert.rejects(fire('control.WaitFor', { name: 'n', schema: 'integer' }), /type_mismatch/)
    await assert.rejects(fire('control.WaitFor', { name: 'n', schema: [] }), /type_mismatch/)
  })
})

describe('control.Delay', () => {
  test('suspends the run if its time is long', async () => {
    const clock = new HandClock()
    clock.turn(1000)
    const { requests, outcome } = await asked(delay(31), 'whatever', clock)
    assert.deepEqual(requests, [{ kind: 'delay', name: null, message: null, schema: null, until: 32_000 }])
    assert.deepEqual(outcome, { status: 'completed', outputs: { out: ['v'] } })
    assert.equal(clock.sleepers.size, 0)
  })

  test('sleeps in the process if its time is short, or if there is no journal', async () => {
    for (const [seconds, journal] of [
      [30, new MemoryJournal().open()],
      [3600, undefined],
    ] as const) {
      const clock = new HandClock()
      const { execution } = start(delay(seconds), undefined, { clock, ...(journal ? { journal } : {}) })
      await until(() => clock.sleepers.size === 1, 'the delay')
      clock.turn(seconds * 1000)
      assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['v'] } })
    }
  })
})
