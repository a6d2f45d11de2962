// Work leaves turns of the event loop to other work.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs'
import { test } from 'node:test'
import { type Steps, TimeSliceScheduler, yieldToEventLoop } from '../../src/shared/time-slices.ts'

test('a next turn comes after all work that was due before, even in the callback of an outside event', async () => {
  const order: string[] = []
  await new Promise<void>((resolve, reject) =>
    readFile(import.meta.filename, () => {
      setTimeout(() => order.push('due'), 1)
      const began = performance.now()
      while (performance.now() - began < 5);
      yieldToEventLoop().then(() => {
        order.push('next turn')
        resolve()
      }, reject)
    }),
  )
  assert.deepEqual(order, ['due', 'next turn'])
})

test('work without slices has the time of one slice in each turn', async () => {
  const slices = new TimeSliceScheduler(4)
  for (let turn = 0; turn < 2; turn++) {
    assert.equal(slices.isTurnUsed, false)
    const until = performance.now() + 5
    while (performance.now() < until);
    assert.equal(slices.isTurnUsed, true)
    await yieldToEventLoop()
  }
})

/** Takes so many steps of half a millisecond, and records the turns of the event loop. */
function* counted(steps: number, turn: () => number): Steps<number[]> {
  const turns = []
  for (let at = 0; at < steps; at++) {
    const until = performance.now() + 0.5
    while (performance.now() < until);
    turns.push(turn())
    yield
  }
  return turns
}

async function turnsOf(work: (slices: TimeSliceScheduler, turn: () => number) => Promise<number[]>): Promise<number[]> {
  let turn = 0
  let immediate = setImmediate(function next() {
    turn++
    immediate = setImmediate(next)
  })
  try {
    return await work(new TimeSliceScheduler(), () => turn)
  } finally {
    clearImmediate(immediate)
  }
}

test('work that is mostly short begins in the turn in which it is asked for, and long work goes on in later ones', async () => {
  assert.deepEqual(await turnsOf((slices, turn) => slices.begin('one', counted(1, turn))), [0])
  assert.ok((await turnsOf((slices, turn) => slices.run('one', counted(1, turn)))).every((turn) => turn > 0))
  const turns = await turnsOf((slices, turn) => slices.begin('one', counted(100, turn)))
  assert.equal(turns.length, 100)
  const first = turns.filter((turn) => turn === 0).length
  assert.ok(first > 0 && first < 10, `${first} steps in the first turn`)
})

test('an error in the first turn, or in a later one, reaches the caller', async () => {
  function* failing(steps: number): Steps<never> {
    yield* counted(steps, () => 0)
    throw new Error('broken')
  }
  for (const steps of [1, 20])
    await assert.rejects(new TimeSliceScheduler().begin('one', failing(steps)), /^Error: broken$/)
})

/** Works for a millisecond of the clock. */
function work(): void {
  const until = performance.now() + 1
  while (performance.now() < until);
}

/** Works in turns for so many milliseconds, and records when each turn was. */
async function inTurns(
  slices: TimeSliceScheduler,
  owner: string,
  ms: number,
  told: (owner: string) => void,
): Promise<void> {
  const turns = slices.turnsOf(owner)
  for (let at = 0; at < ms; at++) {
    if (turns.over) await turns.next()
    work()
    told(owner)
  }
}

test('many pieces of work share the slice of each turn of the event loop, and owners take turns', async () => {
  const slices = new TimeSliceScheduler()
  const order: string[] = []
  let [turn, most] = [0, 0]
  const counts = new Map<number, number>()
  let immediate = setImmediate(function next() {
    turn++
    immediate = setImmediate(next)
  })
  const told = (owner: string) => {
    order.push(owner)
    counts.set(turn, (counts.get(turn) ?? 0) + 1)
    most = Math.max(most, turn === 0 ? 0 : counts.get(turn)!)
  }
  const many = Array.from({ length: 40 }, () => inTurns(slices, 'many', 10, told))
  const other = inTurns(slices, 'other', 10, told).then(() => order.length)
  const before = await other
  await Promise.all(many)
  clearImmediate(immediate)
  assert.equal(order.length, 410)
  assert.ok(most <= 10, `${most} ms in one turn`)
  assert.ok(before < 200, `the other owner was done after ${before} ms of all`)
})
