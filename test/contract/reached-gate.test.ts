// The gate of a whole run of the tests: what no test has reached of the contract is listed, by its kind and name.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { listUnreached } from '../helpers/reached-gate.ts'

function unreachedWith(...records: string[][]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  try {
    for (const [at, lines] of records.entries()) writeFileSync(join(folder, `${at}.txt`), lines.join('\n'))
    return listUnreached(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('without records everything is listed that the contract calls implemented', () => {
  const all = unreachedWith()
  for (const one of ['operation getHealth', 'command ws.run_job', 'frame ws.job_update', 'error QUEUE_FULL'])
    assert.ok(all.includes(one), one)
  assert.ok(all.includes('event job_terminal') && all.includes('status suspended'))
  const kinds = Object.groupBy(all, (line) => line.slice(0, line.indexOf(' ')))
  assert.ok(kinds.operation!.length >= 80 && kinds.command!.length >= 30 && kinds.error!.length >= 40)
  assert.ok(!all.some((line) => line.includes('agent.')), 'planned channels are not expected')
})

test('the records of all processes count together', () => {
  const all = unreachedWith()
  const half = all.length >> 1
  assert.deepEqual(unreachedWith(all.slice(0, half), all.slice(half)), [])
  assert.deepEqual(unreachedWith(all.slice(1)), [all[0]])
})

test('a name of another kind does not count', () => {
  assert.ok(unreachedWith(['frame getHealth']).includes('operation getHealth'))
})
