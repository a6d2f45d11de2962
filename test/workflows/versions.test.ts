// Tests lists of the versions of a workflow with very many: they are read in steps, and long members are not kept.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { saveGraph } from '../../src/db/graphs.ts'
import { insertWorkflow, insertWorkflowVersion } from '../../src/db/workflows.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { type ListedVersion, readVersionsSteps } from '../../src/workflows/versions.ts'
import { openStore, type TestStore, workflowRow } from '../helpers/store.ts'

const ALL = Number.POSITIVE_INFINITY
const NEWEST = Number.MAX_SAFE_INTEGER

async function putVersions({ store }: TestStore, count: number, description: string): Promise<void> {
  await store.write((tx) => {
    const row = workflowRow('a')
    const { name, graph_sha256, etag, created_at } = row
    saveGraph(tx, graph_sha256, '{}')
    insertWorkflow(tx, row)
    for (let revision = 1; revision <= count; revision++)
      insertWorkflowVersion(tx, { workflow_id: 'a', revision, name, description, graph_sha256, etag, created_at })
  })
}

const revisions = (listed: readonly ListedVersion[]) => listed.map(({ version }) => version.version)
const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, at) => from - at)

for (const [what, count, description, most_at_once] of [
  ['short', 2_000, '', 300],
  ['long', 60, 'w'.repeat(20_000), 4],
] as const)
  test(`versions with ${what} descriptions are listed completely, some in each step`, async () => {
    await using opened = await openStore()
    await putVersions(opened, count, description)
    const { store } = opened
    const steps = readVersionsSteps(store, 'a', NEWEST, ALL)
    let yielded = 0
    for (;;) {
      const step = steps.next()
      if (!step.done) {
        yielded++
        continue
      }
      assert.deepEqual(revisions(step.value), down(count, 1))
      break
    }
    assert.ok(yielded >= count / most_at_once, `${yielded} steps`)
    assert.deepEqual(revisions(runToCompletion(readVersionsSteps(store, 'a', 41, 7))), down(40, 34))
    assert.deepEqual(revisions(runToCompletion(readVersionsSteps(store, 'a', 4, 7))), [3, 2, 1])
    assert.deepEqual(runToCompletion(readVersionsSteps(store, 'a', 1, 7)), [])
    assert.deepEqual(runToCompletion(readVersionsSteps(store, 'b', NEWEST, ALL)), [])
  })
