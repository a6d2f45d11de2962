// Steps of firings: whatever interrupts a run, no step that had ended is repeated, and outputs equal those of an uninterrupted run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { InputValues } from '../../../src/engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../../src/engine/node-api/node-context.ts'
import { NodeError, NodeInterruptedError } from '../../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import {
  graph,
  item,
  node,
  output,
  type Recorder,
  sink,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from '../kit.ts'
import { MemoryJournal } from '../memory-journal.ts'
import { holds, scale } from '../random-verdict.ts'
import { answer, ask, called } from '../waiting.ts'

const RUNS = 150

/** The work of a step: its own, or a call of a workflow, which may wait for an answer. */
type Kind = 'own' | 'call' | 'ask'
/** Steps of a round are taken concurrently, rounds one after the other. */
type Program = readonly (readonly Kind[])[]

/** Counts the work by name, and notes whether the step had begun before. */
class Done {
  readonly counts = new Map<string, number>()
  interrupted = 0

  add(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }
}

async function taken(context: NodeContext, name: string, kind: Kind, done: Done): Promise<unknown> {
  using step = await context.step(name)
  if (step.previousResult) return step.previousResult.value
  if (step.wasInterrupted) done.interrupted++
  done.add(`${context.node_id}/${name}`)
  await Promise.resolve()
  const given = kind === 'own' ? name : (await step.callWorkflow(kind, { in: name })).out
  await step.end(given)
  return given
}

async function* rounds(program: Program, context: NodeContext, done: Done) {
  for (const [number, kinds] of program.entries()) {
    const all = kinds.map((kind, at) => taken(context, `${number}.${at}`, kind, done))
    yield await Promise.all(all)
  }
}

function types(done: Done): NodeType[] {
  const single: NodeType = testType('test.Steps', {
    properties: [value],
    outputs: [output],
    async run({ value: program }, context) {
      const given: unknown[] = []
      for await (const round of rounds(program as Program, context, done)) given.push(round)
      return { output: given }
    },
  })
  const streamed: NodeType = testType('test.Stream', {
    properties: [value],
    outputs: [item],
    resumes: true,
    async *run({ value: program }: InputValues, context: NodeContext) {
      const before = context.previousItems.length
      let number = 0
      for await (const round of rounds(program as Program, context, done)) if (number++ >= before) yield { item: round }
    },
  })
  const counted = testType('test.Counted', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    async run({ value: given }) {
      done.add(`inner/${given}`)
      return { output: `called ${given}` }
    },
  })
  return [single, streamed, counted, ask]
}

const inner = (type: string) =>
  graph(
    [node('in', 'input.Any', { name: 'in' }), node('n', type), sink('out')],
    ['in.output->n.value', 'n.output->out.value'],
  )
const WORKFLOWS = { call: inner('test.Counted'), ask: inner('test.Ask') }

const main = (type: string, program: Program) =>
  graph(
    [source('in', program), node('s', type), sink('out')],
    ['in.output->s.value', type === 'test.Stream' ? 's.item->out.value' : 's.output->out.value'],
  )

/** Runs to the end, answering all waits. */
async function through(type: string, program: Program, journal: MemoryJournal, done: Done) {
  for (let count = 0; count < 100; count++) {
    const { execution, observer } = called({ main: main(type, program), ...WORKFLOWS }, journal, types(done))
    const outcome = await execution.done
    assert.deepEqual(observer.faults, [])
    if (outcome.status !== 'suspended') return outcome
    for (const { request } of outcome.waiting) answer(journal, outcome, request.name!)
  }
  return assert.fail('the run is suspended over and over')
}

describe('steps of a firing', () => {
  for (const type of ['test.Steps', 'test.Stream']) {
    test(`${type}: wherever a run is interrupted, none that had ended is taken again`, async () => {
      const kind = fc.constantFrom<Kind>('own', 'own', 'call', 'ask')
      const program = fc.array(fc.array(kind, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
      const cuts = fc.array(fc.nat(1000), { minLength: 1, maxLength: 4 })
      const seen = { skipped: 0, interrupted: 0, lost: 0 }
      await holds(fc.tuple(program, cuts), RUNS, async ([given, places]) => {
        let journal = new MemoryJournal()
        const outcome = await through(type, given, journal, new Done())
        assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
        for (const place of places) {
          journal = journal.cut(Math.round((((place * 617) % 1001) / 1000) * journal.size))
          const over = journal.records.flatMap((record) => (record[0] === 'done' ? [`s/${record[2]}`] : []))
          const ended = new Set(journal.of('end'))
          const lost = journal.of('start').some((firing) => !ended.has(firing))
          const done = new Done()
          const again = await through(type, given, journal, done)
          for (const name of over) assert.equal(done.counts.get(name), undefined, `${name} was taken again`)
          seen.skipped += over.length
          seen.interrupted += done.interrupted
          // A node of a called workflow that must not run twice had begun.
          if (lost) {
            seen.lost++
            assert.ok(again.status === 'failed' && again.error.type === 'node_interrupted', JSON.stringify(again))
            return
          }
          assert.deepEqual(again, outcome)
        }
      })
      assert.ok(seen.skipped > RUNS * scale && seen.interrupted > 0.2 * RUNS * scale, JSON.stringify(seen))
      assert.ok(seen.lost > 0, 'no call was lost')
    })
  }

  test('continue the workflow that a step called, whichever steps had ended before it', async () => {
    const done = new Done()
    const journal = new MemoryJournal()
    const outcome = await through('test.Steps', [['call', 'call'], ['call']], journal, done)
    assert.equal(outcome.status, 'completed')
    const records = journal.records
    const last = records.findLastIndex(([kind, firing]) => kind === 'end' && firing.endsWith('n@'))
    assert.deepEqual(await through('test.Steps', [['call', 'call'], ['call']], journal.cut(last + 1), done), outcome)
    assert.deepEqual(
      [...done.counts].filter(([name]) => name.startsWith('inner/')).map(([, count]) => count),
      [1, 1, 1],
    )
  })

  test('that had ended are known to the next attempt, which repeats all others', async () => {
    const done = new Done()
    let failures = 2
    const frail = testType('test.Frail', {
      properties: [value],
      outputs: [output],
      async run(_inputs, context) {
        const first = await taken(context, 'first', 'call', done)
        using step = await context.step('second')
        assert.equal(step.wasInterrupted, false)
        const { out } = await step.callWorkflow('call', { in: `second ${failures}` })
        if (failures-- > 0) throw new NodeError('not yet')
        await step.end(out)
        return { output: [first, out] }
      },
    })
    const of = graph(
      [source('in', 1), node('s', 'test.Frail', { retry: { attempts: 3, backoff_ms: 0 } }), sink('out')],
      ['in.output->s.value', 's.output->out.value'],
    )
    const run = (journal: MemoryJournal) =>
      called({ main: of, ...WORKFLOWS }, journal, [...types(done), frail]).execution.done
    const journal = new MemoryJournal()
    const outcome = await run(journal)
    assert.deepEqual(outcome, { status: 'completed', outputs: { out: [['called first', 'called second 0']] } })
    assert.deepEqual([...done.counts.values()], [1, 1, 1, 1, 1])
    const counts = () => done.counts.get('s/first')
    const attempt = journal.records.findIndex(([kind]) => kind === 'attempt')
    failures = 1
    assert.deepEqual(await run(journal.cut(attempt + 1)), outcome)
    assert.equal(counts(), 1)
  })

  test('kept values are known to every attempt, also from an aborted attempt and after an interruption', async () => {
    const seen: unknown[] = []
    const late = testType('test.Late', {
      properties: [value],
      outputs: [output],
      async run(_inputs, context) {
        const { signal } = context
        const known = context.findKept('late')
        seen.push(known?.value ?? null)
        if (known) return { output: known.value }
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        await context.keep('late', 'it took a while')
        throw signal.reason
      },
    })
    const policy = { timeout_seconds: 0.01, retry: { attempts: 2, backoff_ms: 1 } }
    const of = graph(
      [source('in', 1), node('s', 'test.Late', policy), sink('out')],
      ['in.output->s.value', 's.output->out.value'],
    )
    const run = (journal: MemoryJournal) => called({ main: of }, journal, [late]).execution.done
    const journal = new MemoryJournal()
    const outcome = { status: 'completed', outputs: { out: ['it took a while'] } }
    assert.deepEqual(await run(journal), outcome)
    assert.deepEqual(seen, [null, 'it took a while'])
    const kept = journal.records.findIndex(([kind]) => kind === 'done')
    assert.deepEqual(await run(journal.cut(kept + 1)), outcome)
    assert.deepEqual(seen, [null, 'it took a while', 'it took a while'])
  })

  test('two kept values of one name are an error of the node', async () => {
    const type = testType('test.Twice', {
      run: async (_inputs, context) => {
        for (const _ of [1, 2]) await context.keep('a', 1)
        return {}
      },
    })
    const { execution, observer } = called({ main: graph([node('s', 'test.Twice')], []) }, new MemoryJournal(), [type])
    assert.equal((await execution.done).status, 'failed')
    assert.match(String((observer as Recorder).faults[0]), /two values under the name "a"/)
  })

  test('a node may continue after an interruption within a call', async () => {
    const done = new Done()
    const wary = testType('test.Wary', {
      properties: [value],
      outputs: [output],
      async run(_inputs, context) {
        using step = await context.step('call')
        try {
          return { output: (await step.callWorkflow('call', { in: 'x' })).out }
        } catch (error) {
          assert.ok(error instanceof NodeInterruptedError)
          await step.end('unknown')
          return { output: 'nobody knows' }
        }
      },
    })
    const of = graph(
      [source('in', 1), node('s', 'test.Wary'), sink('out')],
      ['in.output->s.value', 's.output->out.value'],
    )
    const run = (journal: MemoryJournal) =>
      called({ main: of, ...WORKFLOWS }, journal, [...types(done), wary]).execution.done
    const journal = new MemoryJournal()
    await run(journal)
    const begun = journal.records.findIndex(([kind]) => kind === 'start')
    const outcome = await run(journal.cut(begun + 1))
    assert.deepEqual(outcome, { status: 'completed', outputs: { out: ['nobody knows'] } })
    assert.equal(done.counts.get('inner/x'), 1)
  })

  test('are committed before they are taken, and their end before the firing continues', async () => {
    const journal = new MemoryJournal()
    const commits: (() => void)[] = []
    journal.commit = () => new Promise((resolve) => commits.push(resolve))
    const done = new Done()
    const { execution } = start(main('test.Steps', [['own'], ['own']]), withTypes(...types(done)), {
      journal: journal.open(),
    })
    for (let number = 1; number <= 4; number++) {
      await until(() => commits.length === number)
      assert.equal(done.counts.size, Math.floor(number / 2))
      assert.equal(journal.of('step').length, Math.ceil(number / 2))
      commits.at(-1)!()
    }
    assert.equal((await execution.done).status, 'completed')
  })

  test('of one name, calls outside of steps, and a second call in one are errors of the node', async () => {
    const mistakes: ((inputs: InputValues, context: NodeContext) => Promise<void>)[] = [
      async (_inputs, context) => {
        await context.step('a')
        await context.step('a')
      },
      async (_inputs, context) => {
        await context.step('a')
        await context.callWorkflow('call', { in: 1 })
      },
      async (_inputs, context) => {
        using step = await context.step('a')
        for (const _ of [1, 2]) await step.callWorkflow('call', { in: 1 })
      },
    ]
    for (const run of mistakes) {
      const type = testType('test.Bad', { run: async (inputs, context) => (await run(inputs, context)) ?? {} })
      const { execution, observer } = called(
        { main: graph([node('s', 'test.Bad')], []), ...WORKFLOWS },
        new MemoryJournal(),
        [...types(new Done()), type],
      )
      const outcome = await execution.done
      assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_failed', JSON.stringify(outcome))
      assert.match(String((observer as Recorder).faults[0]), /step|steps/)
    }
  })

  test('in a run without a journal are taken once, and call workflows', async () => {
    const done = new Done()
    const { execution } = called(
      { main: main('test.Steps', [['own', 'call']]), ...WORKFLOWS },
      new MemoryJournal(),
      types(done),
      {
        journal: undefined,
      } as never,
    )
    assert.deepEqual(await execution.done, {
      status: 'completed',
      outputs: { out: [[['0.0', 'called 0.1']]] },
    })
  })
})
