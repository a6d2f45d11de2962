// Which connections are read from next, where those that are here have used a turn.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type PausableConnection, ReadThrottle } from '../../src/net/read-throttle.ts'
import { recordIncomingConnection } from '../../src/shared/time-slices.ts'

/** Longer than reading gets of one turn. */
function takeApart(): void {
  const until = performance.now() + 10
  while (performance.now() < until);
}

function noted() {
  const turn = new ReadThrottle()
  const resumed: string[] = []
  const paused = new Set<string>()
  const line = (name: string): PausableConnection => ({
    origin: name[0]!,
    pause: () => void paused.add(name),
    resume() {
      paused.delete(name)
      resumed.push(name)
    },
  })
  const add = (...names: string[]) =>
    names.map((name) => {
      const one = line(name)
      turn.add(one)
      return one
    })
  const use = (one: PausableConnection) => {
    turn.recordRead(one)
    takeApart()
    turn.recordRead(one)
  }
  return { turn, resumed, paused, add, use }
}

describe('connections that wait to be read', () => {
  test('come in the order in which they were read from, and before them the first of each origin that was, and that was not yet', async () => {
    const { resumed, add, use } = noted()
    const [first] = add('a1', 'a2', 'a3')
    add('b1', 'b2')
    use(first!)
    await nextTurn()
    assert.deepEqual(resumed, ['b1', 'a2', 'a1', 'b2', 'a3'])
  })

  test('that bring very much are read from once in each turn, and others go on', async () => {
    const { turn, resumed, paused, add } = noted()
    const [flood, other] = add('a1', 'b1')
    const much = Object.assign(flood!, { isFlood: true })
    turn.recordRead(much)
    turn.recordRead(other!)
    assert.deepEqual([...paused], ['a1'])
    await nextTurn()
    assert.deepEqual([resumed, [...paused]], [['a1'], []])
    turn.recordRead(much)
    turn.remove(much)
    await nextTurn()
    assert.deepEqual(resumed, ['a1'])
  })

  test('that were read from are in order among themselves', async () => {
    const { resumed, add, use, turn } = noted()
    const [first, second, third] = add('a1', 'a2', 'a3')
    for (const one of [second!, first!, third!]) turn.recordRead(one)
    await nextTurn()
    use(second!)
    await nextTurn()
    assert.deepEqual(resumed, ['a1', 'a3', 'a2'])
  })

  test('are joined by those that come meanwhile', async () => {
    const { resumed, paused, add, use } = noted()
    const [first] = add('a1', 'a2')
    use(first!)
    add('b1')
    await Promise.resolve()
    assert.deepEqual([...paused].sort(), ['a1', 'a2', 'b1'])
    await nextTurn()
    assert.deepEqual(resumed, ['a2', 'a1', 'b1'])
    assert.equal(paused.size, 0)
  })

  test('wait while connections come in one behind the other, but for two turns in a row of 64', async () => {
    const { resumed, add, use } = noted()
    const [first] = add('a1', 'a2')
    recordIncomingConnection()
    await nextTurn()
    recordIncomingConnection()
    use(first!)
    for (let turns = 2; turns < 63; turns++) {
      await nextTurn()
      recordIncomingConnection()
    }
    assert.deepEqual(resumed, [])
    await nextTurn()
    recordIncomingConnection()
    await nextTurn()
    assert.deepEqual(resumed, ['a2', 'a1'])
  })

  test('are read from in the turn behind the one in which they are resumed, also while connections come in', async () => {
    const { turn, paused, add, use } = noted()
    const lines = add('a1', 'b1', 'c1')
    recordIncomingConnection()
    await nextTurn()
    recordIncomingConnection()
    use(lines[0]!)
    assert.equal(paused.size, 3)
    while (paused.size > 0) {
      await nextTurn()
      recordIncomingConnection()
    }
    // Each is short.
    for (const line of lines) turn.recordRead(line)
    assert.equal(paused.size, 0)
    await nextTurn()
  })

  test('that have gone are not read from', async () => {
    const { turn, resumed, add, use } = noted()
    const [first, second] = add('a1', 'a2')
    use(first!)
    turn.remove(second!)
    await nextTurn()
    assert.deepEqual(resumed.at(0), 'a1')
  })
})
