// A type that waits for a value of its name, and runs that are answered by name, for the tests of waiting.
import assert from 'node:assert/strict'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { Wait } from '../../src/engine/node-api/wait.ts'
import { type ExecuteOptions, executePlan, type RunOutcome } from '../../src/engine/runtime/execution.ts'
import { output, planOf, Recorder, start, testType, withTypes } from './kit.ts'
import type { MemoryJournal } from './memory-journal.ts'

/** Waits for the name in its value, and returns both; refuses the answer "no". */
export const ask = testType('test.Ask', {
  properties: [{ name: 'value', type: ANY_TYPE, required: true }],
  outputs: [output],
  run: ({ value }) => new Wait({ kind: 'value', name: String(value), message: null, schema: null, until: null }),
  onAnswer({ value }, answer) {
    if (answer === 'no') throw new NodeError('refused', 'odd')
    return { output: [value, answer] }
  },
})

export function remembered(
  of: Graph,
  journal: MemoryJournal,
  types: NodeType[] = [],
  options: Partial<ExecuteOptions> = {},
) {
  return start(of, withTypes(ask, ...types), { journal: journal.open(), seed: 1, ...options })
}

/** The outcome of a run of the workflow `main`. */
export function called(
  workflows: Record<string, Graph>,
  journal: MemoryJournal,
  types: NodeType[] = [],
  options: Partial<ExecuteOptions> = {},
) {
  const plans = new Map(Object.entries(workflows).map(([id, of]) => [id, planOf(of, withTypes(ask, ...types))]))
  const observer = new Recorder()
  const abort = new AbortController()
  const execution = executePlan(plans.get('main')!, {
    params: {},
    signal: abort.signal,
    observer,
    journal: journal.open(),
    seed: 1,
    loadPlan: async (id) => plans.get(id)!,
    ...options,
  })
  return { execution, observer, abort }
}

/** The waits of a run that must be suspended: node and name of each. */
export function waits(outcome: RunOutcome): string[] {
  assert.ok(outcome.status === 'suspended', JSON.stringify(outcome))
  return outcome.waiting.map(({ node_id, request }) => `${node_id} ${request.name}`)
}

/** Answers the wait of that name. */
export function answer(journal: MemoryJournal, outcome: RunOutcome, name: string, value: unknown = 'yes'): void {
  assert.ok(outcome.status === 'suspended', JSON.stringify(outcome))
  const one = outcome.waiting.find(({ request }) => request.name === name)
  assert.ok(one, `nothing waits for ${name}`)
  journal.answer(one.firing, value)
}
