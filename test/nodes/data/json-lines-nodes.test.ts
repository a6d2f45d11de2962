// data.ParseJsonLines and data.FormatJsonLines.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'

describe('JSON Lines', () => {
  test('data.ParseJsonLines', async () => {
    const of = (text: string, invalid = 'fail') => fire('data.ParseJsonLines', { text, invalid })
    const made = await of('{"a":1}\n\n {"a":2,"__proto__":{"x":1}}\r\n')
    assert.equal(JSON.stringify(made), '{"rows":[{"a":1},{"a":2,"__proto__":{"x":1}}],"skipped":0}')
    assert.deepEqual(await of(''), { rows: [], skipped: 0 })
    assert.deepEqual(await of('{"a":1}\n[1]\n{"a":\nx\n', 'skip'), { rows: [{ a: 1 }], skipped: 3 })
    await assert.rejects(of('{"a":1}\n\n[1]'), /not_json: Line 3 is not a JSON object/)
    await assert.rejects(of('{"a":}'), /not_json: Line 1 is not JSON: /)
    await assert.rejects(of(`{"a":${'['.repeat(70)}${']'.repeat(70)}}`), /too_deep/)
    await assert.rejects(of('x\n'.repeat(10_001), 'skip'), /More than 10,000 lines are not JSON objects/)
  })

  test('data.FormatJsonLines', async () => {
    const of = (given: unknown) => outputOf('data.FormatJsonLines', { rows: given })
    assert.equal(await of([{ a: 1, b: 'x\ny' }, {}]), '{"a":1,"b":"x\\ny"}\n{}\n')
    assert.equal(await of([]), '')
    await assert.rejects(of(Array(1000).fill({ a: 'x'.repeat(10_000) })), /too_large/)
    await assert.rejects(of([1]), /type_mismatch/)
    await assert.rejects(of(null), /missing_property/)
  })

  test('come back unchanged', async () => {
    const table = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }), { maxLength: 10 })
    const property = fc.asyncProperty(table, async (given) => {
      const text = await outputOf('data.FormatJsonLines', { rows: given })
      const back = (await fire('data.ParseJsonLines', { text })).rows
      assert.equal(JSON.stringify(back), JSON.stringify(given))
    })
    await fc.assert(property, { numRuns: scaled(50) })
  })
})
