// A map whose members come and go: its members, and that it releases deleted ones.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ChurnMap } from '../../src/shared/churn-map.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as (options?: { type: 'minor' }) => void

interface Members {
  set(key: number, value: object): void
  delete(key: number): void
}

/** How much the heap has grown after 10,000 members of a kilobyte came and went, and the young generation was collected. */
function growth(members: Members): number {
  for (let key = 0; key < 10; key++) members.set(key, {})
  // Everything that lives now belongs to the old generation from here on.
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let key = 10; key < 10_000; key++) {
    members.set(key, new Array(125).fill(key))
    members.delete(key - 10)
  }
  collectGarbage({ type: 'minor' })
  return process.memoryUsage().heapUsed - before
}

/** The maximum over several rounds: V8 may collect the old generation within a round, which then shows nothing. */
function mostKept(make: () => Members): number {
  let most = 0
  for (let round = 0; round < 20 && most <= 5e6; round++) most = Math.max(most, growth(make()))
  return most
}

describe('a map whose members come and go', () => {
  test('holds what was put in and not taken out', () => {
    const map = new ChurnMap<string, { at: number }>()
    map.set('a', { at: 1 })
    map.set('b', { at: 2 })
    map.set('a', { at: 3 })
    map.delete('b')
    map.delete('c')
    assert.deepEqual(map.get('a'), { at: 3 })
    assert.equal(map.get('b'), undefined)
    assert.equal(map.has('a'), true)
    assert.equal(map.has('b'), false)
    assert.equal(map.size, 1)
    assert.deepEqual([...map.values()], [{ at: 3 }])
  })

  test('yields members that are added during an iteration, but not deleted ones', () => {
    const map = new ChurnMap<number, { at: number }>()
    for (const at of [1, 2, 3]) map.set(at, { at })
    const seen: number[] = []
    for (const { at } of map.values()) {
      seen.push(at)
      map.delete(2)
      if (at === 3) map.set(4, { at: 4 })
    }
    assert.deepEqual(seen, [1, 3, 4])
  })

  test('releases deleted members, which a plain map keeps until the old generation is collected', () => {
    const plain = mostKept(() => new Map<number, object>())
    assert.ok(plain > 5e6, `a plain map kept ${plain} bytes at most`)
    const shifting = growth(new ChurnMap<number, object>())
    assert.ok(shifting < 2e6, `a shifting map kept ${shifting} bytes`)
  })
})
