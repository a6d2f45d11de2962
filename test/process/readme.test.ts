// The README's commands for the terminal run as they are printed, and give what it prints.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { MAIN } from '../helpers/process.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const RUNS = [...readme.matchAll(/```sh\n(npx svc run [\s\S]*?)```\n\n```json\n([\s\S]*?)```/g)]

describe('README, in the terminal', () => {
  test('shows a run', () => assert.ok(RUNS.length > 0))

  for (const [, command, printed] of RUNS) {
    test(`${command!.trim()} gives what is printed`, () => {
      const here = command!.replace('npx svc', `"${process.execPath}" "${MAIN}"`)
      assert.equal(execFileSync('sh', ['-c', here], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }), printed)
    })
  }
})
