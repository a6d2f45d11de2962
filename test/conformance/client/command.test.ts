// `svc conformance client` as a process: a client as a command, one that is started by hand, the formats and the exit codes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inFolder } from '../../helpers/folder.ts'
import { MAIN, runProcess } from '../../helpers/process.ts'
import { until } from '../../helpers/server.ts'
import { PACE } from './play.ts'
import { secondDriver } from './second-client/driver.ts'

const DRIVER = fileURLToPath(new URL('driver-main.ts', import.meta.url))

interface JsonReport {
  version: number
  suite: string
  summary: Record<string, number>
  scenarios: { scenario: string; verdict: string; reason: string | null; entry: number | null; transcript: unknown[] }[]
}

function command(...args: string[]) {
  return runProcess(MAIN, ['conformance', 'client', '--pace', String(PACE), ...args])
}

/** The second client as a command, with these flaws. */
function exec(...flaws: string[]): string[] {
  return ['--exec', [process.execPath, DRIVER, ...flaws].join(' ')]
}

const named = (...ids: string[]) => ids.flatMap((id) => ['--scenario', id])

describe('svc conformance client', { concurrency: 2 }, () => {
  test('passes a client that keeps the contract', async () => {
    await using run = command(...exec(), ...named('duplicate-event', 'upload'))
    const { code, stdout } = await run.ended()
    assert.equal(stdout, 'pass  duplicate-event\npass  upload\n2 scenarios: 2 pass, 0 fail, 0 open\n')
    assert.equal(code, 0)
  })

  test('fails one that does not, with the rule and the frame', async () => {
    await using run = command(...exec('keeps-duplicates'), ...named('duplicate-event'), '--format', 'json')
    const { code, stdout } = await run.ended()
    const report = JSON.parse(stdout) as JsonReport
    const [outcome] = report.scenarios
    assert.deepEqual([report.version, report.suite, report.summary], [2, 'client', { pass: 0, fail: 1, open: 0 }])
    assert.match(outcome?.reason ?? '', /\[1,2,2,3,4,3,5,5,6\]/)
    assert.match(JSON.stringify(outcome?.transcript[outcome.entry ?? -1]), /wf_report/)
    assert.equal(code, 1)
  })

  test(
    'is not decided where the client does nothing, and writes JUnit to a file',
    inFolder(async (folder) => {
      const file = join(folder, 'report.xml')
      const args = ['--exec', 'echo "nothing <done>"', ...named('restart'), '--format', 'junit', '--output', file]
      await using run = command(...args)
      const { code, stdout } = await run.ended()
      const text = readFileSync(file, 'utf8')
      assert.equal(stdout, '')
      assert.match(text, /<testsuite [^>]*tests="1" failures="0" errors="1"/)
      assert.match(text, /<error message="the client never connected">/)
      assert.match(text, /nothing &lt;done&gt;/)
      assert.equal(code, 2)
    }),
  )

  test('waits for a client that is started by hand', async () => {
    await using run = command(...named('odd-identifiers'), '--timeout', '20')
    const invitation = await until('the invitation', () => /SVC_TASK=(.*)\n/.exec(run.stderr()))
    const url = /SVC_URL=(.*)/.exec(run.stderr())![1]!
    const token = /SVC_TOKEN=(.*)/.exec(run.stderr())![1]!
    const { signal } = new AbortController()
    // A client of another scenario is refused, and decides nothing.
    assert.equal((await fetch(`${url}/api/sdk/v1/capabilities`)).status, 401)
    // A page of another origin may ask.
    const asked = await fetch(`${url}/api/sdk/v1/jobs`, { method: 'OPTIONS' })
    assert.deepEqual([asked.status, asked.headers.get('access-control-allow-origin')], [204, '*'])
    await secondDriver('socket')({ url, token, scenario: 'odd-identifiers', task: JSON.parse(invitation[1]!), signal })
    const { code, stdout } = await run.ended()
    assert.match(stdout, /^pass {2}odd-identifiers\n/)
    assert.equal(code, 0)
  })

  test('ends what it plays when it is told to', async () => {
    await using run = command(...named('restart', 'upload'))
    await until('the invitation', () => run.stderr().includes('SVC_TASK'))
    run.kill('SIGINT')
    const { code, stdout } = await run.ended()
    assert.match(stdout, /^open {2}restart: the client never connected\n/)
    assert.doesNotMatch(stdout, /upload/)
    assert.equal(code, 130)
  })

  test('lists the scenarios with their rules', async () => {
    await using run = command('--list', ...named('half-open'))
    const { code, stdout } = await run.ended()
    assert.equal(stdout.split('\n').length, 3)
    assert.match(stdout, /^half-open: The socket falls silent/)
    assert.equal(code, 0)
  })

  test('refuses what it does not know', async () => {
    for (const [args, word] of [
      [['--scenario', 'sunshine'], /there is no scenario "sunshine"/],
      [['--port', '1.5'], /--port takes a number/],
      [['--pace', ''], /--pace takes a number/],
      [['--format', 'yaml'], /--format takes text, json, junit/],
    ] as const) {
      await using run = runProcess(MAIN, ['conformance', 'client', ...args])
      const { code, stderr } = await run.ended()
      assert.match(stderr, word)
      assert.equal(code, 2)
    }
  })
})
