// An acknowledgement of any door waits for the disk: a sync comes to its end between the request and the answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../acknowledgements/row.ts'
import { environmentOf, ROWS, startToolModel } from '../acknowledgements/table.ts'
import { scaled } from '../helpers/scale.ts'
import { quiet, skip, traced } from './traced.ts'

/** So many rows in a run of the tests, from a random one on; in a long one all of them. */
const COUNT = Math.min(ROWS.length, scaled(12))

test('no operation and no command is acknowledged before a sync', { skip }, async () => {
  await using upstream = await startToolModel()
  await using server = await traced(environmentOf(upstream))
  const early: string[] = []
  const first = Math.floor(Math.random() * ROWS.length)
  for (const [name, row] of [...ROWS, ...ROWS].slice(first, first + COUNT)) {
    let before = 0
    let at = 0
    await using world = new World(server.server, async () => {
      before = await quiet(server)
    })
    await row.send(world, () => {
      at = server.syncs()
    })
    if (at <= before) early.push(name)
  }
  assert.deepEqual(early, [])
})
