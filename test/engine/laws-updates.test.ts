// Property changes during a run, over random graphs: at no moment and with no value do they break the run, and nodes that they cannot reach
// give the same outputs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { until, update } from './kit.ts'
import { Builder, recipes } from './random-graphs.ts'
import { MIXES } from './random-mixes.ts'
import { expectedOf, holds, limits, scale, tried } from './random-verdict.ts'

const strange = fc.constantFrom<unknown>(null, undefined, Number.NaN, 'text', [1, [2]], { a: 1 }, true, -7, 3, 8, 22)

/** A change at a firing, or at a turn of the event loop. */
const changes = fc.array(
  fc.record({
    at: fc.nat(12),
    by: fc.constantFrom('firing', 'turn'),
    node: fc.nat(20),
    properties: fc.dictionary(fc.constantFrom('a', 'b', 'b', 'c', 'seed', 'count', 'times', 'nonsense'), strange, {
      minKeys: 1,
      maxKeys: 4,
    }),
  }),
  { minLength: 1, maxLength: 8 },
)

/** The nodes downstream of these. */
function behind(builder: Builder, from: Iterable<string>): Set<string> {
  const found = new Set(from)
  for (const id of found) for (const edge of builder.edges) if (edge.source === id) found.add(edge.target)
  return found
}

describe('changes of properties', () => {
  test('never break a run, and do not affect nodes that they do not reach', async () => {
    const steps = [...MIXES.calm, 'Expand', 'Add', 'Need'].filter((kind) => kind !== 'BuiltLoop')
    let applied = 0
    await holds(
      fc.tuple(recipes(steps, 14, ['slow', 'async', 'slow']), limits, changes),
      1000,
      async ([recipe, limit, list]) => {
        const builder = new Builder(recipe)
        const { reference, shape } = expectedOf(builder)
        const ids = builder.nodes.filter(({ publishes }) => publishes === null).map(({ id }) => id)
        const changed = new Set<string>()
        let change: (by: string, at: number) => void = () => {}
        const trial = tried(builder, limit, ({ ledger }) => {
          ledger.onFire = () => change('firing', ledger.total)
        })
        const { execution, ledger, observer } = trial
        change = (by, at) => {
          for (const one of list) {
            if (one.by !== by || one.at !== at) continue
            const id = one.node === 0 ? 'none' : ids[one.node % ids.length]!
            const names = update(trial, id, one.properties)?.applied ?? null
            assert.equal(names === null, !shape.nodes.has(id) || execution.outcome !== null)
            if (names && names.length > 0) changed.add(id)
            for (const name of names ?? []) assert.ok(Object.hasOwn(one.properties, name))
          }
        }
        for (let turn = 0; !execution.outcome; turn++) {
          assert.ok(turn < 5000, 'the run does not end')
          change('turn', turn)
          await new Promise((resolve) => setImmediate(resolve))
        }
        const { outcome } = execution
        assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
        await until(() => ledger.open === 0, 'firings that are still open')
        if (changed.size > 0) applied++
        const reached = behind(builder, changed)
        assert.ok(outcome.status === 'completed')
        for (const { id, publishes } of builder.nodes) {
          assert.match(observer.statuses(id).join(), /^(skipped|running,completed)$/)
          if (publishes !== null && !reached.has(id)) assert.deepEqual(outcome.outputs[id], reference.outputs[id], id)
        }
      },
    )
    assert.ok(applied > 50 * scale, `only ${applied} runs were changed`)
  })
})
