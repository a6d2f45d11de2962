// Agents whose process is killed at any commit of their run: a tool call that may have taken effect is not repeated, and no time limit
// starts anew.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Execution, RunOutcome } from '../../src/engine/runtime/execution.ts'
import { createToolAccess } from '../../src/workflows/tools/access.ts'
import { graph, HandClock, node, output, planOf, sink, testType, until, value, withTypes } from '../engine/kit.ts'
import type { Record } from '../engine/memory-journal.ts'
import { MemoryJournal } from '../engine/memory-journal.ts'
import { called } from '../engine/waiting.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { services } from './chat-kit.ts'

const UNKNOWN = /^Error: The call was interrupted, and nobody knows whether it took effect/

const SEND = graph(
  [node('in', 'input.Any', { name: 'in' }), node('n', 'test.Once'), sink('out')],
  ['in.output->n.value', 'n.output->out.value'],
)

/** Runs to the outcome, and ends every pause at once. */
async function ended({ done }: Execution, clock: HandClock): Promise<RunOutcome> {
  let outcome: RunOutcome | null = null
  done.then((one) => {
    outcome = one
  })
  await until(() => {
    clock.turn(0)
    return outcome !== null
  }, 'the end')
  return done
}

/**
 * An agent in one process. With `hangs`, its tool hangs until the attempt times out, which happens when the clock advances by a second.
 */
function sends(journal: MemoryJournal, hangs: boolean) {
  const seen = { made: 0 }
  const once = testType('test.Once', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    async run(_inputs, { signal }) {
      seen.made++
      if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return { output: 'sent' }
    },
  })
  const provider = agentProvider((request) => {
    const [told] = toolTexts(request)
    return told === undefined ? { calls: [{ name: 'send', args: { in: 1 } }] } : { say: [told] }
  })
  const data = { model: 'agent/brain', prompt: 'x', tools: ['workflow/send'], timeout_seconds: 1 }
  const retry = { attempts: 3, backoff_ms: 0 }
  const main = graph([node('agent', 'agent.Run', { ...data, retry }), sink('answer')], ['agent.answer->answer.value'])
  const clock = new HandClock()
  if (!hangs) clock.turn(1_000)
  const registry = withTypes(once)
  const { inputs } = planOf(SEND, registry)
  const tools = createToolAccess({ registry, workflow: async () => ({ name: 'send', description: '', inputs }) })
  const lent = services([provider], { tools })
  const { execution } = called({ main, send: SEND }, journal, [once], { clock, services: lent })
  return { done: ended(execution, clock), clock, seen }
}

/** The journal of a run whose first attempt timed out during a call, with the positions at which the process may have died. */
async function cutOff(): Promise<{ journal: MemoryJournal; deaths: ReadonlySet<number> }> {
  const journal = new MemoryJournal()
  const deaths = new Set<number>()
  journal.commit = async () => {
    // Records that are written together are committed together.
    await Promise.resolve()
    deaths.add(journal.size)
  }
  const { done, clock, seen } = sends(journal, true)
  await until(() => seen.made === 1, 'the call')
  clock.turn(1_000)
  await done
  assert.equal(seen.made, 1)
  return { journal, deaths }
}

const isMade = ([kind, firing]: Record) => kind === 'start' && firing.includes('#')

describe('a tool call that must not run twice, in an attempt that is over', () => {
  test('is made once, wherever the process dies', async () => {
    const { journal, deaths } = await cutOff()
    let [before, after] = [0, 0]
    for (const size of deaths) {
      const left = journal.cut(size)
      const made = left.records.some(isMade)
      const { done, seen } = sends(left, false)
      const outcome = await done
      assert.ok(outcome.status === 'completed', JSON.stringify(outcome))
      const answer = String(outcome.outputs.answer)
      assert.equal(seen.made, made ? 0 : 1, `${size}: ${answer}`)
      if (made) assert.match(answer, UNKNOWN)
      if (made) after++
      else before++
    }
    assert.ok(before > 3 && after > 3, `${before} ${after}`)
  })

  test('is made once if the job is retried, wherever the process of the retry dies', async () => {
    const { journal } = await cutOff()
    const begun = journal.records.findIndex(isMade) + 1
    const again = journal.cut(begun).records.flatMap((record): Record[] => {
      if (record[1].includes('#') || record[0] === 'start') return []
      const [kind, firing, name, call] = record
      const ended = journal.cut(begun).records.some((one) => one[0] === 'done' && one[2] === name)
      return kind === 'step' ? [['step', firing, name, call, ended]] : [record]
    })
    const next = new MemoryJournal(again.map((record) => JSON.stringify(record)))
    const deaths = new Set([next.size])
    next.commit = async () => {
      await Promise.resolve()
      deaths.add(next.size)
    }
    assert.equal((await sends(next, false).done).status, 'completed')
    for (const size of deaths) {
      const { done, seen } = sends(next.cut(size), false)
      const outcome = await done
      assert.ok(outcome.status === 'completed', JSON.stringify(outcome))
      assert.equal(seen.made, 0)
      assert.match(String(outcome.outputs.answer), UNKNOWN)
    }
    assert.ok(deaths.size > 1)
  })
})

/** An agent in one process that never gets an answer from its model or its tool. It resumes from the journal of earlier processes. */
function hangs(journal: MemoryJournal, where: 'turn' | 'call') {
  const clock = new HandClock()
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const seen = { calls: 0 }
  const slow = testType('test.Slow', {
    properties: [value],
    outputs: [output],
    async run(_inputs, { signal }) {
      seen.calls++
      return never(signal)
    },
  })
  const provider = agentProvider(() =>
    where === 'turn' ? { waits: { before: 0, for: never } } : { calls: [{ name: 'slow', args: { in: 1 } }] },
  )
  const main = graph(
    [node('agent', 'agent.Run', { model: 'agent/brain', prompt: 'x', tools: ['workflow/slow'], max_seconds: 2 })],
    [],
  )
  const inner = graph(
    [node('in', 'input.Any', { name: 'in' }), node('n', 'test.Slow'), sink('out')],
    ['in.output->n.value', 'n.output->out.value'],
  )
  const registry = withTypes(slow)
  const { inputs } = planOf(inner, registry)
  const tools = createToolAccess({ registry, workflow: async () => ({ name: 'slow', description: '', inputs }) })
  const lent = services([provider], { tools })
  const { execution, abort } = called({ main, slow: inner }, journal, [slow], { clock, services: lent })
  const asked = () => (where === 'turn' ? provider.requests.length : seen.calls)
  /** Kills the process, and returns the journal that it leaves. */
  const killed = async () => {
    const left = journal.cut(journal.size)
    abort.abort()
    await execution.done
    return left
  }
  return { done: execution.done, clock, asked, killed }
}

/** Advances the clock by steps of a quarter of a second, each once some code sleeps. */
async function pass(clock: HandClock, slices: number): Promise<void> {
  for (let slice = 0; slice < slices; slice++) {
    await until(() => clock.sleepers.size > 0, 'a sleeper')
    clock.turn(250)
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('the time of an agent', () => {
  for (const where of ['turn', 'call'] as const)
    test(`does not start anew if the process dies in a ${where}`, async () => {
      let journal = new MemoryJournal()
      for (const slices of [3, 3]) {
        const { clock, asked, killed } = hangs(journal, where)
        await until(() => asked() === 1, 'the request')
        await pass(clock, slices)
        journal = await killed()
      }
      const { done, clock, asked } = hangs(journal, where)
      await until(() => asked() === 1, 'the request')
      await pass(clock, 2)
      const outcome = await done
      assert.ok(outcome.status === 'failed' && outcome.error.type === 'limit_reached', JSON.stringify(outcome))
      const told = journal.records.filter(([kind]) => kind !== 'failure')
      const late = hangs(new MemoryJournal(told.map((record) => JSON.stringify(record))), where)
      assert.deepEqual(await late.done, outcome)
      assert.equal(late.asked(), 0)
    })
})
