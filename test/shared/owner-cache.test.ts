// Values that are cached for each owner apart, under one limit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnerCache } from '../../src/shared/owner-cache.ts'
import { leastProcessorMs } from '../helpers/processor.ts'

test('a value is found by its owner alone', () => {
  const cache = new OwnerCache<number>(10)
  cache.set('ada', 'key', 1)
  assert.deepEqual(
    [cache.get('ada', 'key'), cache.get('bob', 'key'), cache.get('ada', 'other')],
    [1, undefined, undefined],
  )
  cache.set('bob', 'key', 2)
  cache.set('ada', 'key', 3)
  assert.deepEqual([cache.get('ada', 'key'), cache.get('bob', 'key')], [3, 2])
})

test('an owner with many values displaces its own oldest ones, and not those of others', () => {
  const cache = new OwnerCache<number>(10)
  for (let i = 0; i < 3; i++) cache.set('ada', `${i}`, i)
  for (let i = 0; i < 100; i++) cache.set('bob', `${i}`, i)
  const kept = (owner: string) =>
    Array.from({ length: 100 }, (_, i) => cache.get(owner, `${i}`)).filter((one) => one !== undefined)
  assert.deepEqual(kept('ada'), [0, 1, 2])
  assert.deepEqual(kept('bob'), [93, 94, 95, 96, 97, 98, 99])
})

test('an owner with few values finds room beside one with many', () => {
  const cache = new OwnerCache<number>(4)
  for (let i = 0; i < 4; i++) cache.set('bob', `${i}`, i)
  cache.set('ada', 'a', 1)
  cache.set('ada', 'b', 2)
  assert.deepEqual([cache.get('ada', 'a'), cache.get('ada', 'b')], [1, 2])
  assert.deepEqual([cache.get('bob', '1'), cache.get('bob', '2')], [undefined, 2])
})

test('as many owners as there is room for, and more, keep the limit', () => {
  const cache = new OwnerCache<number>(3)
  for (let i = 0; i < 10; i++) cache.set(`owner ${i}`, 'key', i)
  const kept = Array.from({ length: 10 }, (_, i) => cache.get(`owner ${i}`, 'key')).filter((one) => one !== undefined)
  assert.equal(kept.length, 3)
  assert.equal(kept.at(-1), 9)
})

test('a cache without room for two values holds the last one', () => {
  const cache = new OwnerCache<number>(1)
  cache.set('ada', 'a', 1)
  cache.set('ada', 'b', 2)
  assert.deepEqual([cache.get('ada', 'a'), cache.get('ada', 'b')], [undefined, 2])
})

test('a full cache makes room for a tenth of its limit, and keeps the latest values', () => {
  const cache = new OwnerCache<number>(100)
  const count = () => Array.from({ length: 300 }, (_, i) => cache.get('ada', `${i}`)).filter((one) => one !== undefined)
  for (let i = 0; i < 300; i++) {
    cache.set('ada', `${i}`, i)
    const kept = count()
    assert.ok(kept.length <= 100 && kept.length >= Math.min(i + 1, 91), `${kept.length} after ${i}`)
    assert.deepEqual([kept[0], kept.at(-1)], [i + 1 - kept.length, i])
  }
})

test('a replaced value takes no room from others', () => {
  const cache = new OwnerCache<number>(10)
  for (let i = 0; i < 10; i++) cache.set('ada', `${i}`, i)
  for (let i = 0; i < 10; i++) cache.set('ada', `${i}`, -i)
  for (let i = 0; i < 10; i++) assert.equal(cache.get('ada', `${i}`), -i)
})

test('owners with more entries than others give up theirs until they have equally many', () => {
  const cache = new OwnerCache<number>(100)
  const fill = (owner: string, entries: number) => {
    for (let i = 0; i < entries; i++) cache.set(owner, `${i}`, i)
  }
  const count = (owner: string) =>
    Array.from({ length: 100 }, (_, i) => cache.get(owner, `${i}`)).filter((one) => one !== undefined).length
  fill('one', 45)
  fill('two', 44)
  fill('small', 11)
  cache.set('new', '0', 0)
  assert.deepEqual(['one', 'two', 'small', 'new'].map(count), [39, 40, 11, 1])
  for (let i = 0; i < 1_000; i++) cache.set('one', `more ${i}`, i)
  assert.deepEqual(['small', 'new'].map(count), [11, 1])
  assert.ok(count('two') >= 39)
})

test('insertions of many owners into a full cache take little time', () => {
  const took = leastProcessorMs(2_000, () => {
    const cache = new OwnerCache<number>(50_000)
    for (let i = 0; i < 100_000; i++) cache.set(`owner ${i}`, 'key', i)
    assert.equal(cache.get('owner 99999', 'key'), 99_999)
  })
  assert.ok(took < 2_000, `${took} ms`)
})
