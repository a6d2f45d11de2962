// Law 0 over random graphs: outputs depend neither on the concurrency limit nor on the size of inboxes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Builder, recipes } from './random-graphs.ts'
import { MIXES } from './random-mixes.ts'
import { expectedOf, holds, tried } from './random-verdict.ts'

const LIMITS = [
  { concurrency: 1, inboxLimit: 1 },
  { concurrency: 3, inboxLimit: 2 },
  { concurrency: 2, inboxLimit: 64 },
  { concurrency: 64, inboxLimit: 5 },
]

describe('law 0: limits change no output', () => {
  test('a graph has the same outputs under any limits of concurrency and inboxes', async () => {
    await holds(recipes(MIXES.all, 14), 1000, async (recipe) => {
      const builder = new Builder(recipe)
      const outcomes = await Promise.all(LIMITS.map((limit) => tried(builder, limit).execution.done))
      const { doubtful, failing } = expectedOf(builder)
      // If an unwanted firing fails, or several fail, timing decides which is first.
      if (doubtful.length > 0) return
      if (failing.length > 0) assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['failed']))
      else for (const outcome of outcomes) assert.deepEqual(outcome, outcomes[0])
    })
  })
})
