// Reports for people: each cause is shown once, and what is not judged comes last, with what to do about it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatClientReport } from '../../src/conformance/client/report.ts'
import type { ScenarioOutcome } from '../../src/conformance/client/scenario-runner.ts'
import type { TranscriptEntry } from '../../src/conformance/client/transcript.ts'
import { formatServerReport, type RequirementResult } from '../../src/conformance/server-report.ts'

const frame = (direction: TranscriptEntry['direction'], command: string): TranscriptEntry => {
  return { ms: 1, direction, where: 'socket 1', what: 'text frame', content: { command } }
}

const TRANSCRIPT: readonly TranscriptEntry[] = [
  frame('from_client', 'submit_job'),
  frame('to_client', 'ping'),
  frame('from_client', 'pong'),
  { ms: 2, direction: 'to_client', where: 'socket 1', what: 'ping of the protocol' },
  frame('from_client', 'subscribe_job'),
]

function outcome(scenario: string, verdict: ScenarioOutcome['verdict'], reason: string | null): ScenarioOutcome {
  const facts = { scenario, requirement: `client.${scenario}`, title: scenario, rule: `The rule of ${scenario}.` }
  return { ...facts, verdict, reason, entry: reason === null ? null : 4, duration_ms: 1, transcript: TRANSCRIPT }
}

describe('the report of a client', () => {
  const outcomes = [
    outcome('first', 'fail', 'it asked twice'),
    outcome('second', 'pass', null),
    outcome('third', 'fail', 'it asked twice'),
    outcome('fourth', 'open', 'it never connected'),
  ]
  const lines = formatClientReport(outcomes, 'text').split('\n')

  test('shows the transcript of a cause once, and names the scenarios that have the same at its end', () => {
    const at = lines.indexOf('fail  third: it asked twice')
    assert.deepEqual(lines.slice(at + 1, at + 3), [
      '      The rule of third.',
      '      same cause as in first, see the transcript above',
    ])
    assert.deepEqual(lines.slice(-4), [
      '2 scenarios: it asked twice',
      '      first, third',
      '4 scenarios: 1 pass, 2 fail, 1 open',
      '',
    ])
  })

  test('folds pings, and marks what shows the cause', () => {
    const [, , submitted, beats, marked] = lines
    assert.match(submitted!, /^ {6}.*submit_job/)
    assert.equal(beats!.trim(), '3 pings and pongs')
    assert.match(marked!, /^ {4}!.*subscribe_job/)
  })

  test('has the same words for programs', () => {
    const { version, summary } = JSON.parse(formatClientReport(outcomes, 'json')) as {
      version: number
      summary: object
    }
    assert.deepEqual([version, summary], [2, { pass: 1, fail: 2, open: 1 }])
  })
})

test('the report of a server ends with what was skipped, by the reasons, and says how it is claimed', () => {
  const judged = (id: string, verdict: RequirementResult['verdict'], reason: string | null): RequirementResult => {
    return { id, rule: `The rule of ${id}.`, source: '', verdict, reason, evidence: [], ms: 1 }
  }
  const requirements = [
    judged('server.a', 'skipped', 'the server does not claim getJob'),
    judged('server.b', 'pass', null),
    judged('server.c', 'fail', 'it is wrong'),
    judged('server.d', 'skipped', 'no token was given: set --token'),
    judged('server.e', 'skipped', 'the server does not claim getJob'),
  ]
  const report = { suite: 'server', url: 'http://127.0.0.1/', profile: 'full', requirements } as const
  assert.equal(
    formatServerReport({ ...report, requirements }, 'text'),
    `pass  server.b
fail  server.c
      The rule of server.c.
skip  the server does not claim getJob
      server.a
      server.e
skip  no token was given: set --token
      server.d
      A server claims what its /openapi.json and /asyncapi.json mark as implemented (x-svc-implementation).
http://127.0.0.1/: 1 pass, 1 fail, 3 skip
`,
  )
})
