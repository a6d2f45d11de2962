// constant.*
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outputOf } from './fire.ts'

/** A single value becomes a list, so only a value that is too deep makes an invalid list. */
let deep: unknown = 1
for (let level = 0; level < 70; level++) deep = [deep]

describe('constant', () => {
  const CASES: [string, unknown, unknown, unknown][] = [
    ['constant.String', 'text', '', 5],
    ['constant.Integer', 5, 0, 1.5],
    ['constant.Float', 1.5, 0, 'x'],
    ['constant.Boolean', true, false, 'true'],
    ['constant.List', [1, 'a'], [], deep],
    ['constant.Object', { a: [1] }, {}, [1]],
  ]
  for (const [type, normal, empty, bad] of CASES) {
    test(type, async () => {
      assert.deepEqual(await outputOf(type, { value: normal }), normal)
      assert.deepEqual(await outputOf(type), empty)
      await assert.rejects(outputOf(type, { value: bad }), bad === deep ? /too_deep/ : /type_mismatch/)
    })
  }
})
