// text.Diff and text.Similarity
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { takesLess } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'
import { fire } from './fire.ts'

const lines = (count: number, mark = '') => Array.from({ length: count }, (_, at) => `${mark}${at}\n`).join('')

describe('text.Diff', () => {
  test('writes a unified diff', async () => {
    assert.deepEqual(await fire('text.Diff', { a: 'a\nb\nc\n', b: 'a\nB\nc' }), {
      output: '--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+c\n\\ No newline at end of file\n',
      added: 2,
      removed: 2,
      changed: true,
    })
    assert.deepEqual(await fire('text.Diff', { a: '', b: '' }), { output: '', added: 0, removed: 0, changed: false })
    const { output, added } = await fire('text.Diff', { a: lines(100), b: `${lines(100)}new\n`, context: 1 })
    assert.deepEqual([output, added], ['--- a\n+++ b\n@@ -100,1 +100,2 @@\n 99\n+new\n', 1])
    await assert.rejects(fire('text.Diff', { a: 'x', b: 1 }), /type_mismatch/)
  })

  test('refuses texts that differ too much, or are too long', async () => {
    const different = fire('text.Diff', { a: lines(50_000), b: lines(50_000, 'x') })
    await assert.rejects(different, /too_large: The texts differ in more than 2,000 lines/)
    const long = fire('text.Diff', { a: lines(1_000_000), b: lines(1_000_000, 'x') })
    await assert.rejects(long, /too_large: A text has more than 200,000 lines/)
    assert.equal((await fire('text.Diff', { a: lines(1000), b: lines(1000, 'x') })).added, 1000)
  })
})

/** The edit distance by its definition. */
function distance(a: string[], b: string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  a.forEach((character, i) => {
    const next = [i + 1]
    b.forEach((other, j) => {
      next.push(Math.min(row[j]! + (character === other ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    })
    row = next
  })
  return row[b.length]!
}

/** Jaro's score by its definition, which tries every position within reach for each character. */
function jaro(a: string[], b: string[]): number {
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1)
  const taken = b.map(() => false)
  const matched = a.filter((character, i) => {
    const at = b.findIndex((other, j) => !taken[j] && other === character && Math.abs(i - j) <= reach)
    if (at >= 0) taken[at] = true
    return at >= 0
  })
  if (matched.length === 0) return 0
  const others = b.filter((_, at) => taken[at])
  const transposed = matched.filter((character, at) => character !== others[at]).length / 2
  return (matched.length / a.length + matched.length / b.length + 1 - transposed / matched.length) / 3
}

describe('text.Similarity', () => {
  const of = (a: string, b: string, method = 'levenshtein') => fire('text.Similarity', { a, b, method })
  const scoreOf = async (a: string, b: string, method: string) => (await of(a, b, method)).score as number

  test('knows the examples of the books', async () => {
    assert.deepEqual(await fire('text.Similarity', { a: 'kitten', b: 'sitting' }), { score: 1 - 3 / 7, distance: 3 })
    const CASES: [string, string, string, number][] = [
      ['MARTHA', 'MARHTA', 'jaro_winkler', 0.9611],
      ['DWAYNE', 'DUANE', 'jaro_winkler', 0.84],
      ['DIXON', 'DICKSONX', 'jaro_winkler', 0.8133],
      ['night', 'nacht', 'dice', 0.25],
      ['aaaa', 'aa', 'dice', 0.5],
    ]
    for (const [a, b, method, score] of CASES) {
      assert.ok(Math.abs((await scoreOf(a, b, method)) - score) < 0.0001, `${a} ${b}`)
      assert.deepEqual(Object.keys(await of(a, b, method)), ['score'])
    }
  })

  test('compares characters, not code units, and accepts empty texts', async () => {
    assert.deepEqual(await of('👍a', '👎a'), { score: 0.5, distance: 1 })
    assert.deepEqual(await of('', ''), { score: 1, distance: 0 })
    assert.deepEqual(await of('', 'ab'), { score: 0, distance: 2 })
    for (const method of ['jaro_winkler', 'dice']) {
      assert.equal(await scoreOf('', '', method), 1)
      assert.equal(await scoreOf('', 'ab', method), 0)
      assert.equal(await scoreOf('a', 'b', method), 0)
    }
    await assert.rejects(of('a', 'b', 'guess'), /type_mismatch/)
  })

  test('agrees with the definitions', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '👍'), maxLength: 40 })
    const property = fc.asyncProperty(text, text, async (a, b) => {
      assert.equal((await of(a, b)).distance, distance([...a], [...b]))
      if (a === b) return
      const plain = jaro([...a], [...b])
      const prefix = [0, 1, 2, 3].findIndex((at) => [...a][at] === undefined || [...a][at] !== [...b][at])
      const score = plain + (prefix < 0 ? 4 : prefix) * 0.1 * (1 - plain)
      assert.ok(Math.abs((await scoreOf(a, b, 'jaro_winkler')) - score) < 1e-12)
      assert.equal(await scoreOf(a, b, 'dice'), await scoreOf(b, a, 'dice'))
    })
    await fc.assert(property, { numRuns: scaled(300) })
  })

  test('refuses texts beyond its limits', async () => {
    const [a, b] = ['ab'.repeat(50_000), 'ba'.repeat(50_000)]
    await assert.rejects(of(a, b), /too_large: The texts are too long for an edit distance/)
    assert.equal((await of(a, 'b')).distance, 99_999)
    await takesLess(10_000, async () => {
      assert.ok((await scoreOf(a.repeat(10), b.repeat(10), 'jaro_winkler')) > 0.8)
      assert.ok((await scoreOf(a.repeat(10), b.repeat(10), 'dice')) > 0.99)
    })
    await assert.rejects(of('x'.repeat(1_000_001), 'y', 'dice'), /too_large: A text has more than 1,000,000 char/)
    const all = String.fromCodePoint(...Array.from({ length: 30_000 }, (_, at) => at + 0x10000))
    const more = String.fromCodePoint(...Array.from({ length: 33_000 }, (_, at) => at + 0x20000))
    assert.equal((await of(all, all.slice(2))).distance, 1)
    assert.equal((await of(all.slice(0, 2), more)).distance, 33_000)
  })
})
