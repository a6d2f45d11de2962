// Property changes of a loaded job: changes of a node that take effect at the same firing are merged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeUpdate } from '../../../src/engine/durability/journal.ts'
import { MergedNodeUpdates } from '../../../src/jobs/journal/merged-node-updates.ts'
import { estimateUpdateWeight } from '../../../src/jobs/run/job-inputs.ts'

function joined(updates: readonly NodeUpdate[]) {
  const list: NodeUpdate[] = []
  const all = new MergedNodeUpdates(list)
  for (const update of updates) all.add(update)
  return { list, weight: all.weight }
}

const plain = (list: readonly NodeUpdate[]) =>
  list.map(({ node_id, from, properties }) => [node_id, from, Object.entries(properties)])

test('of changes of one node from the same firing on, the last of each value counts', () => {
  const { list } = joined([
    { node_id: 'a', from: 0, properties: { x: 1, y: 1 } },
    { node_id: 'b', from: 0, properties: { x: 2 } },
    { node_id: 'a', from: 0, properties: { y: 3 } },
    { node_id: 'a', from: 0, properties: { z: 4, x: 5 } },
  ])
  const a = [
    ['x', 5],
    ['y', 3],
    ['z', 4],
  ]
  assert.deepEqual(plain(list), [
    ['a', 0, a],
    ['b', 0, [['x', 2]]],
  ])
})

test('changes that take effect at different firings stay separate', () => {
  const updates = [0, 1, 1, 2].map((from, x) => ({ node_id: 'a', from, properties: { x } }))
  assert.deepEqual(plain(joined(updates).list), [
    ['a', 0, [['x', 0]]],
    ['a', 1, [['x', 2]]],
    ['a', 2, [['x', 3]]],
  ])
})

test('merged changes weigh as much as the single changes, and no change is modified', () => {
  const updates = [1, 2, 3].map((x) => ({
    node_id: 'a',
    from: 0,
    properties: Object.freeze({ x, text: 'x'.repeat(x) }),
  }))
  const weights = updates.map(({ properties }) => estimateUpdateWeight(properties))
  assert.equal(
    joined(updates).weight,
    weights.reduce((sum, one) => sum + one),
  )
})

test('a changed property may have any name', () => {
  const properties = (value: number) => JSON.parse(`{"__proto__": ${value}, "constructor": ${value}}`)
  const { list } = joined([1, 2].map((value) => ({ node_id: 'a', from: 0, properties: properties(value) })))
  const named = [
    ['__proto__', 2],
    ['constructor', 2],
  ]
  assert.deepEqual(plain(list), [['a', 0, named]])
})
