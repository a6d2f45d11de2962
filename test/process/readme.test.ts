// The README's commands for the terminal run as they are printed, and give what it prints.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inFolder } from '../helpers/folder.ts'
import { MAIN } from '../helpers/process.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const RUNS = [...readme.matchAll(/```sh\n((?:cat > [\s\S]*?\nEND\n)?svc run [\s\S]*?)```\n\n```json\n([\s\S]*?)```/g)]

const LAUNCHERS = [...readme.matchAll(/\/opt\/svc(\/\S+)/g)].map(([, path]) => path!)

describe('README, in the terminal', () => {
  test('names a launcher that is started from any folder', () => {
    assert.deepEqual([...new Set(LAUNCHERS)], ['/src/launch/svc.mjs'])
    const launcher = fileURLToPath(new URL(`../..${LAUNCHERS[0]}`, import.meta.url))
    const given = execFileSync(launcher, ['--version'], { cwd: tmpdir(), encoding: 'utf8' })
    assert.match(given, /^\d+\.\d+\.\d+\n$/)
  })

  test('shows a run', () => assert.ok(RUNS.length > 0))

  for (const [, command, printed] of RUNS) {
    test(
      `${command!.trim()} gives what is printed`,
      inFolder((cwd) => {
        const here = command!.replace(/^svc(?= run)/m, `"${process.execPath}" "${MAIN}"`)
        const given = execFileSync('sh', ['-c', here], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
        assert.equal(given, printed)
      }),
    )
  }
})
