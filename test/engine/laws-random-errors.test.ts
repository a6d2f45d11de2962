// Errors over random graphs: a caught error reaches its Catch, any other error ends the run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Recorder } from './kit.ts'
import { Builder, recipes } from './random-graphs.ts'
import { MIXES } from './random-mixes.ts'
import { expectedOf, holds, judge, limits, scale, type Trial, tried } from './random-verdict.ts'

/** Calls back when a node reports a failure. */
class Watcher extends Recorder {
  onError: () => void = () => {}

  override nodeUpdated: Recorder['nodeUpdated'] = (at, status, detail) => {
    this.calls.push(['node', at.node_id, status, detail])
    if (status === 'error') this.onError()
  }
}

function publishedBy({ observer }: Trial): Map<string, unknown[]> {
  const published = new Map<string, unknown[]>()
  for (const [, , name, value] of observer.named('output') as [string, string, string, unknown][]) {
    published.set(name, [...(published.get(name) ?? []), value])
  }
  return published
}

const steps = [...MIXES.failures, ...MIXES.all, 'Fail', 'Fail', 'Break', 'Strict', 'Hasty', 'Catch']

describe('what an error reaches', () => {
  test('a caught error reaches its Catch; any other error ends the run, and earlier outputs remain', async () => {
    const seen = { completed: 0, failed: 0, held: 0 }
    await holds(fc.tuple(recipes(steps), limits), 1000, async ([recipe, limit]) => {
      const builder = new Builder(recipe)
      const expected = expectedOf(builder)
      const observer = new Watcher()
      let atError = -1
      const trial = tried(builder, { ...limit, observer }, ({ ledger }) => {
        observer.onError = () => {
          atError = ledger.total
        }
      })
      const outcome = await trial.execution.done
      const status = await judge({ ...trial, observer }, outcome, expected)
      seen[status]++
      const { certain, outputs } = expected.reference
      if (status === 'completed') {
        if (Object.values(certain).some((tally) => tally.held > 0)) seen.held++
        return
      }
      assert.equal(trial.ledger.total, atError, 'a firing began after the failure')
      const failed = builder.nodes.filter(({ id }) => observer.statuses(id).includes('error')).map(({ id }) => id)
      const unheld = failed.filter((id) => !expected.shape.holds(id))
      assert.ok(outcome.status === 'failed')
      assert.deepEqual(unheld, [outcome.error.node_id])
      for (const [name, values] of publishedBy({ ...trial, observer })) {
        assert.deepEqual(values, outputs[name]?.slice(0, values.length), name)
      }
    })
    assert.ok(seen.failed > 100 * scale && seen.held > 100 * scale, JSON.stringify(seen))
  })
})
