// The semantic diff: nothing where nothing differs, and for each single change of the real publication the verdict that it deserves.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { worstVerdict } from '../../src/contract/diff/differences.ts'
import { diffPublications } from '../../src/contract/diff/publications.ts'
import { readPublication } from '../../src/contract/publication-reader.ts'
import { type Case, httpCases } from './http-changes.ts'
import { type Change, changed, FOLDER, real } from './kit.ts'
import { schemaCases } from './schema-changes.ts'

const nothing: Change = () => {}
const all = [...httpCases, ...schemaCases]

function judge({ verdict, rule, before = nothing, change }: Case): void {
  const old = changed(before)
  const next = changed((draft) => {
    before(draft)
    change(draft)
  })
  const found = diffPublications(old, next)
  assert.equal(worstVerdict(found) ?? 'none', verdict, JSON.stringify(found.slice(0, 5), null, 1))
  if (verdict !== 'none')
    assert.ok(
      found.some((one) => one.rule === rule && one.verdict === verdict),
      JSON.stringify(found),
    )
}

describe('a publication and its change', () => {
  for (const one of all) test(`${one.title}: ${one.verdict}`, () => judge(one))

  test('are more than forty', () => {
    assert.ok(all.length >= 40)
    assert.equal(new Set(all.map(({ title }) => title)).size, all.length)
  })
})

describe('a publication and itself', () => {
  const some = all.filter((_one, at) => at % 8 === 0)

  test('do not differ', () => {
    assert.deepEqual(diffPublications(real, readPublication(FOLDER)), [])
    for (const { change } of some) assert.deepEqual(diffPublications(changed(change), changed(change)), [])
  })

  test('differ both ways or not at all', () => {
    for (const { title, verdict, before = nothing, change } of some) {
      const next = changed((draft) => {
        before(draft)
        change(draft)
      })
      assert.equal(diffPublications(next, changed(before)).length > 0, verdict !== 'none', title)
    }
  })
})
