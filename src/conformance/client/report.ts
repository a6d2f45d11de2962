// What the scenarios found, as text, JSON or JUnit.
import { type Format, xml } from '../report.ts'
import type { Outcome } from './perform.ts'

export function clientReport(outcomes: readonly Outcome[], format: Format): string {
  return { text, json, junit }[format](outcomes)
}

function summary(outcomes: readonly Outcome[]) {
  const count = (verdict: Outcome['verdict']) => outcomes.filter((one) => one.verdict === verdict).length
  return { pass: count('pass'), fail: count('fail'), inconclusive: count('inconclusive') }
}

/** 0: all passed; 1: some failed; 2: some are inconclusive. */
export function exitCode(outcomes: readonly Outcome[]): number {
  const { fail, inconclusive } = summary(outcomes)
  return fail > 0 ? 1 : inconclusive > 0 ? 2 : 0
}

const SIGNS = { pass: 'pass', fail: 'FAIL', inconclusive: 'open' } as const

/** One line for a scenario that passed; the rule and the transcript for another one. */
export function outcomeText(outcome: Outcome): string {
  const { verdict, scenario, rule, reason } = outcome
  if (verdict === 'pass') return `pass  ${scenario}\n`
  return `${SIGNS[verdict]}  ${scenario}: ${reason}\n      ${rule}\n${transcriptText(outcome)}`
}

/** The last line of a report. */
export function summaryText(outcomes: readonly Outcome[]): string {
  const { pass, fail, inconclusive } = summary(outcomes)
  return `${outcomes.length} scenarios: ${pass} passed, ${fail} failed, ${inconclusive} inconclusive\n`
}

function text(outcomes: readonly Outcome[]): string {
  return `${outcomes.map(outcomeText).join('')}${summaryText(outcomes)}`
}

const ARROWS = { from_client: '>', to_client: '<', note: ' ' } as const
/** The most characters of one record. */
const LONGEST = 600

function transcriptText({ transcript, entry }: Outcome): string {
  return transcript
    .map(({ ms, direction, where, what, content }, index) => {
      const record = content === undefined ? '' : ` ${(JSON.stringify(content) ?? '').slice(0, LONGEST)}`
      return `    ${index === entry ? '!' : ' '} ${String(ms).padStart(6)} ms ${ARROWS[direction]} ${where}: ${what}${record}\n`
    })
    .join('')
}

function json(outcomes: readonly Outcome[]): string {
  const report = { version: 1, suite: 'client', summary: summary(outcomes), scenarios: outcomes }
  return `${JSON.stringify(report, null, 2)}\n`
}

function junit(outcomes: readonly Outcome[]): string {
  const { fail, inconclusive } = summary(outcomes)
  const time = outcomes.reduce((sum, { duration_ms }) => sum + duration_ms, 0) / 1000
  const cases = outcomes.map((outcome) => {
    const { scenario, verdict, reason, rule, duration_ms } = outcome
    const open = `  <testcase classname="client" name="${xml(scenario)}" time="${duration_ms / 1000}"`
    if (verdict === 'pass') return `${open}/>`
    const kind = verdict === 'fail' ? 'failure' : 'error'
    const told = xml(`${rule}\n${transcriptText(outcome)}`)
    return `${open}><${kind} message="${xml(reason ?? '')}">${told}</${kind}></testcase>`
  })
  const head = `<testsuite name="conformance of clients" tests="${outcomes.length}" failures="${fail}" errors="${inconclusive}" skipped="0" time="${time}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${[head, ...cases, '</testsuite>'].join('\n')}\n`
}
