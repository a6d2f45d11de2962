// Turns of the event loop that work leaves to others.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs'
import { test } from 'node:test'
import { nextTurn } from '../src/time-slices.ts'

test('a next turn comes after what was due before, also for what is called by something from outside', async () => {
  const order: string[] = []
  await new Promise<void>((resolve, reject) =>
    readFile(import.meta.filename, () => {
      setTimeout(() => order.push('due'), 1)
      const began = performance.now()
      while (performance.now() - began < 5);
      nextTurn().then(() => {
        order.push('next turn')
        resolve()
      }, reject)
    }),
  )
  assert.deepEqual(order, ['due', 'next turn'])
})
