// Compiled graphs are kept by content, within a bound of text rather than of number.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Store } from '../../src/db/store.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { Plans } from '../../src/workflows/plans.ts'

/** A graph of about `length` characters that differs from every other by its number. */
function graphOf(number: number, length: number) {
  const node = { id: 'in', type: 'input.String', data: { name: 'text', description: `${number}`.padEnd(length, '.') } }
  return { nodes: [node], edges: [] }
}

describe('Plans', () => {
  test('the same graph is compiled once, a stored one from its text', async () => {
    await using store = await Store.open(':memory:')
    const plans = new Plans(store, builtinNodes)
    const first = plans.compile(graphOf(1, 100))
    assert.equal(plans.compile(graphOf(1, 100)), first)
    assert.equal(plans.stored(first.sha256), first)
    assert.notEqual(plans.compile(graphOf(2, 100)), first)
  })

  test('many large graphs push out the oldest; the largest are not kept at all', async () => {
    await using store = await Store.open(':memory:')
    const plans = new Plans(store, builtinNodes)
    const small = plans.compile(graphOf(0, 100))
    const large = plans.compile(graphOf(1, 3 * 1024 * 1024))
    assert.notEqual(plans.compile(graphOf(1, 3 * 1024 * 1024)), large)
    assert.equal(plans.compile(graphOf(0, 100)), small)
    for (let number = 2; number < 8; number++) plans.compile(graphOf(number, 1_500_000))
    assert.notEqual(plans.compile(graphOf(0, 100)), small)
    const last = plans.compile(graphOf(7, 1_500_000))
    assert.equal(plans.compile(graphOf(7, 1_500_000)), last)
  })
})
