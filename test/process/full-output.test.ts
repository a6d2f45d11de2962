// Standard output on a full disk. No command may end as if its output were complete.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { test } from 'node:test'
import { MAIN } from '../helpers/process.ts'

const FULL = '/dev/full'
const skip = existsSync(FULL) ? false : `there is no ${FULL}`

function svcIntoFull(args: readonly string[]): { code: number | null; stderr: string } {
  const full = openSync(FULL, 'w')
  try {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    })
    return { code: status, stderr }
  } finally {
    closeSync(full)
  }
}

for (const args of [['run', 'greeting', '--param', 'name=Ada', '--quiet'], ['nodes', '--json'], ['--help']])
  test(`svc ${args.join(' ')} fails where its output cannot be written`, { skip }, () => {
    const { code, stderr } = svcIntoFull(args)
    assert.equal(code, 1)
    assert.match(stderr, /^svc: standard output cannot be written: ENOSPC.*\n$/)
  })

test('a command that fails keeps its exit code', { skip }, () => {
  const { code, stderr } = svcIntoFull(['validate', '/dev/null', '--json'])
  assert.equal(code, 3)
  assert.match(stderr, /standard output cannot be written/)
})
