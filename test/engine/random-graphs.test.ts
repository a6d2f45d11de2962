// The engine against the reference evaluator, over random graphs with streams, branches, stream operators, loops and failures, in
// synchronous, asynchronous and slow nodes. `SVC_TEST_SCALE` multiplies the number of graphs; a failure prints its seed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Builder, recipes } from './random-graphs.ts'
import { MIXES } from './random-mixes.ts'
import { expectedOf, holds, judge, limits, scale, tried } from './random-verdict.ts'

/** A fifth of the property's 1,000 graphs. */
const RUNS = 200

/** `special`: the kinds of nodes of which a graph needs one to count for its mix. */
async function compare(steps: readonly string[], ...special: string[]) {
  const seen = { completed: 0, failed: 0, special: 0 }
  await holds(fc.tuple(recipes(steps), limits), RUNS, async ([recipe, limit]) => {
    const builder = new Builder(recipe)
    const expected = expectedOf(builder)
    const trial = tried(builder, limit)
    seen[await judge(trial, await trial.execution.done, expected)]++
    if (builder.nodes.some((node) => special.some((kind) => node.kind.startsWith(kind)))) seen.special++
  })
  assert.ok(seen.completed > 0.3 * RUNS * scale, `only ${seen.completed} runs completed`)
  assert.ok(seen.special > 0.2 * RUNS * scale, `only ${seen.special} graphs had a ${special.join(' or ')}`)
}

describe('outputs equal the reference, and each node fires once per index path', () => {
  test('streams, branches and aggregates', () => compare(MIXES.streams, 'Expand'))

  test('stream operators', () => compare(MIXES.weaves, 'Zip', 'Cross', 'Take'))

  test('loops', () => compare(MIXES.loops, 'Loop'))

  test('failures', () => compare(MIXES.failures, 'control.Catch'))

  test('all kinds of nodes', () => compare(MIXES.all, 'control.Catch'))
})
