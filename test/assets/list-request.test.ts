// Tests the filters of asset lists.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toAssetFilter } from '../../src/assets/list-request.ts'
import { createAssetRow } from '../../src/assets/new-asset-row.ts'
import { findAssetKeysSteps } from '../../src/db/assets/list-search.ts'
import { insertAsset } from '../../src/db/assets/rows.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { leastProcessorMs } from '../helpers/processor.ts'
import { openStore } from '../helpers/store.ts'

const owner = { user_id: 'ada', workspace_id: null }
const ABOUT = { now: '2026-01-01T00:00:00.000Z', content_type: null, workflow_id: null, job_id: null, node_id: null }
const KEPT = { size: 4, sha256: '0'.repeat(64), head: Buffer.from('text') }
const FILES = 300
/** Milliseconds of the processor; a tenth of it would do. */
const LONGEST_MS = 100

test('a part of a name is found in any normal form, and a part of millions of letters quickly gives no result', async () => {
  await using opened = await openStore()
  const { store } = opened
  const name = 'ä'.repeat(255)
  await store.write((tx) => {
    for (let at = 0; at < FILES; at++)
      insertAsset(tx, createAssetRow(owner, KEPT, { ...ABOUT, id: `asset_${at}`, name }))
  })
  const found = (q: string) =>
    runToCompletion(findAssetKeysSteps(store, owner, toAssetFilter({ q }), null, FILES)).keys.length
  assert.equal(found('Ä'.repeat(255)), FILES)
  assert.equal(found('A\u0308'.repeat(255)), FILES)
  assert.equal(found('ä'.repeat(256)), 0)
  for (const letter of ['a', 'ä', 'a\u0308']) {
    const took = leastProcessorMs(LONGEST_MS, () => assert.equal(found(letter.repeat(500_000)), 0))
    assert.ok(took < LONGEST_MS, `${took} ms for half a million times ${letter}`)
  }
})
