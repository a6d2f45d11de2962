// `svc conformance server`: arguments, reports in each format, and exit codes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { runConformanceCommand } from '../../src/cli/conformance.ts'
import { CommandError, UsageError } from '../../src/cli/shared/terminal.ts'
import { formatServerReport } from '../../src/conformance/server-report.ts'
import type { Defect } from '../conformance/server/minimal-server/defects.ts'
import { startMinimal } from '../conformance/server/minimal-server/server.ts'
import { EXPIRED_JOB, SWEPT_JOB } from '../conformance/server/minimal-server/service.ts'
import { temporaryFolder } from '../helpers/server.ts'

async function run(args: readonly string[], stop = new AbortController().signal) {
  let text = ''
  const output = {
    write(part: string, done?: () => void) {
      text += part
      done?.()
      return true
    },
  }
  const stdin = new PassThrough()
  const code = await runConformanceCommand(['server', ...args], {
    stdin,
    stdout: output,
    stderr: output,
    environment: {},
    stop,
  })
  return { code, text }
}

async function judged(defects: readonly Defect[], args: readonly string[]) {
  await using server = await startMinimal({ defects, token: 'a token' })
  return await run(['--url', server.url, '--token', 'a token', ...args])
}

const ONE = ['--only', 'server.capabilities.record']

describe('svc conformance server', () => {
  test('gives 0 and a line for each requirement if every requirement is met', async () => {
    const { code, text } = await judged([], ['--only', 'server.capabilities', '--profile', 'lifecycle'])
    assert.equal(code, 0)
    assert.match(text, /^pass {2}server\.capabilities\.record$/m)
    assert.match(text, /: 6 pass, 0 fail, 0 skip\n$/)
  })

  test('gives 1, the rule and the evidence if a requirement fails', async () => {
    const { code, text } = await judged(['numeric-protocol'], ONE)
    assert.equal(code, 1)
    assert.match(text, /^fail {2}server\.capabilities\.record\n {6}The capabilities are the contract's record/m)
    assert.match(text, /^ {8}answer: .*"protocol_version":1,/m)
    assert.doesNotMatch(text, /a token/)
  })

  for (const format of ['text', 'json', 'junit'])
    test(`does not report a token that the server repeats, as ${format}`, async () => {
      const [token, other] = ['a token/of "the caller"', 'another+token of somebody else']
      const server = createServer(({ headers: { authorization = '' } }, response) => {
        response.writeHead(500, { 'Content-Type': 'application/json', ETag: encodeURIComponent(authorization) })
        const [, given = ''] = /^Bearer (.*)$/.exec(authorization) ?? []
        response.end(JSON.stringify({ [given]: [`${given} and ${encodeURIComponent(given)}`] }))
      }).listen(0, '127.0.0.1')
      try {
        await once(server, 'listening')
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const only = ['--only', 'server.claims', '--only', 'server.access', '--format', format]
        const { code, text } = await run(['--url', url, '--token', token, '--other-token', other, ...only])
        assert.equal(code, 1)
        assert.match(text, /\[redacted\] and \[redacted\]/)
        for (const secret of ['of "the', 'of \\\\"the', 'of &quot;the', 'the%20caller', 'the caller', 'of somebody'])
          assert.ok(!text.includes(secret), secret)
      } finally {
        server.closeAllConnections()
        server.close()
      }
    })

  test('says why a requirement could not be tested', async () => {
    const { code, text } = await judged([], ['--only', 'server.submission.duplicate'])
    assert.equal(code, 0)
    assert.match(text, /^skip {2}the server does not claim submitJob\n {6}server\.submission\.duplicate$/m)
    assert.match(text, /A server claims what/)
  })

  test('tests with another token, and with jobs past their retention, if they are given', async () => {
    const options = { token: 'a token', other_token: 'another', preview: true } as const
    await using server = await startMinimal(options)
    const only = ['server.access.others-jobs', 'server.states.expired', 'server.events.replay-expired']
    const args = ['--url', server.url, '--token', 'a token', ...only.flatMap((id) => ['--only', id])]
    const given = ['--other-token', 'another', '--expired-job', EXPIRED_JOB, '--swept-job', SWEPT_JOB]
    assert.match((await run([...args, ...given])).text, /: 3 pass, 0 fail, 0 skip\n$/)
    assert.match((await run(args)).text, /: 0 pass, 0 fail, 3 skip\n$/)
  })

  test('waits for rare events if --patience allows it', async () => {
    const { text } = await judged([], ['--only', 'server.socket.keep-alive', '--patience', '20'])
    assert.match(text, /^skip {2}.* would take \d+ more: set a longer --patience\n {6}server\.socket\.keep-alive$/m)
    await assert.rejects(run(['--url', 'http://127.0.0.1:9', '--patience', 'x']), /--patience takes seconds/)
  })

  test('writes JSON', async () => {
    const { text } = await judged(['numeric-protocol'], [...ONE, '--format', 'json'])
    const { version, suite, summary, requirements } = JSON.parse(text)
    assert.deepEqual(
      { version, suite, summary },
      { version: 1, suite: 'server', summary: { pass: 0, fail: 1, skipped: 0 } },
    )
    const [{ id, verdict, rule, source, mutation, evidence }] = requirements
    assert.deepEqual([id, verdict], ['server.capabilities.record', 'fail'])
    for (const told of [rule, source, mutation, evidence[0].finding]) assert.ok(told.length > 5)
  })

  test('writes JUnit into a file', async () => {
    const folder = temporaryFolder()
    try {
      const output = join(folder, 'report.xml')
      const args = [...ONE, '--only', 'server.submission.etag', '--format', 'junit', '--output', output]
      const { code, text } = await judged(['numeric-protocol'], args)
      assert.deepEqual([code, text], [1, ''])
      const xml = readFileSync(output, 'utf8')
      assert.match(xml, /<testsuite name="conformance of servers" tests="2" failures="1" errors="0" skipped="1"/)
      assert.match(
        xml,
        /<testcase classname="server\.capabilities" name="record" time="[\d.]+"><failure message="[^"<]+">/,
      )
      assert.match(xml, /<skipped message="the server does not claim submitJob"\/>/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('keeps out of JUnit what XML cannot have', () => {
    const odd = {
      id: 'a.b',
      rule: '<&">\u0000',
      source: '',
      verdict: 'fail' as const,
      reason: '"\u001b',
      evidence: [],
      ms: 1,
    }
    const xml = formatServerReport({ suite: 'server', url: 'x', profile: 'full', requirements: [odd] }, 'junit')
    assert.match(xml, /<failure message="&quot;\ufffd">&lt;&amp;&quot;&gt;\ufffd<\/failure>/)
  })

  test('stops at the stop signal', async () => {
    await using server = await startMinimal({})
    const { code, text } = await run(['--url', server.url], AbortSignal.abort('SIGINT'))
    assert.equal(code, 130)
    assert.match(text, /: 0 pass, 0 fail, 0 skip\n$/)
  })

  const WRONG: Readonly<Record<string, [string[], RegExp]>> = {
    'no address': [[], /--url is missing/],
    'an address of another kind': [['--url', 'ftp://x'], /--url takes an address with http/],
    'an unknown format': [['--url', 'http://x', '--format', 'html'], /--format takes text, json, junit/],
    'an unknown profile': [['--url', 'http://x', '--profile', 'half'], /--profile takes lifecycle, full/],
    'an unknown requirement': [['--url', 'http://x', '--only', 'server.nothing'], /no requirement "server\.nothing"/],
    'a time that is none': [['--url', 'http://x', '--timeout', '0'], /--timeout takes seconds/],
    'something more': [['--url', 'http://x', 'more'], /unexpected argument "more"/],
  }
  for (const [name, [args, message]] of Object.entries(WRONG)) {
    test(`refuses ${name}`, async () => {
      await assert.rejects(
        run(args),
        (error) => error instanceof UsageError && error.code === 2 && message.test(error.message),
      )
    })
  }

  test('does not report a password in the URL', async () => {
    await using server = await startMinimal({})
    const secret = (url: string) => url.replace('://', '://user:geheim@')
    const { text } = await run(['--url', secret(server.url)], AbortSignal.abort('SIGINT'))
    assert.ok(text.includes(`${server.url}/: 0 pass,`), text)
    assert.ok(!text.includes('geheim'))
    for (const url of [secret((await gone()).url), 'ftp://user:geheim@x'])
      await assert.rejects(
        run(['--url', url]),
        (error) => error instanceof CommandError && !error.message.includes('geheim'),
      )
  })

  test('gives 2 where no server answers', async () => {
    const { url } = await gone()
    await assert.rejects(run(['--url', url]), (error) => {
      return error instanceof CommandError && error.code === 2 && error.message.includes(`no server answers at ${url}`)
    })
  })

  test('gives 2 where the report cannot be written', async () => {
    await using server = await startMinimal({})
    const args = ['--url', server.url, '--only', 'server.access.public', '--output', '/nowhere/report']
    await assert.rejects(run(args), (error) => error instanceof CommandError && error.code === 2)
  })
})

/** The URL of a server that has stopped. */
async function gone(): Promise<{ url: string }> {
  await using server = await startMinimal({})
  return { url: `${server.url}/` }
}
