// What the scenarios found, as text, JSON or JUnit.
import { type Format, xml } from '../report.ts'
import type { Outcome } from './perform.ts'
import { type Entry, isBeat } from './transcript.ts'

export function clientReport(outcomes: readonly Outcome[], format: Format): string {
  return { text, json, junit }[format](outcomes)
}

function summary(outcomes: readonly Outcome[]) {
  const count = (verdict: Outcome['verdict']) => outcomes.filter((one) => one.verdict === verdict).length
  return { pass: count('pass'), fail: count('fail'), open: count('open') }
}

/** 0: all passed; 1: some failed; 2: some are open. */
export function exitCode(outcomes: readonly Outcome[]): number {
  const { fail, open } = summary(outcomes)
  return fail > 0 ? 1 : open > 0 ? 2 : 0
}

/** The text of a report, scenario by scenario. One defect may fail dozens of them: its transcript is shown once. */
export class ReportText {
  readonly #outcomes: Outcome[] = []

  /** One line for a scenario that passed; the rule, and the transcript or where it stands, for another one. */
  outcome(outcome: Outcome): string {
    const { verdict, scenario, rule, reason } = outcome
    const first = this.#outcomes.find((one) => one.reason === reason)
    this.#outcomes.push(outcome)
    if (reason === null) return `${verdict}  ${scenario}\n`
    const shown = first
      ? `      the same as in ${first.scenario}, whose transcript is above\n`
      : transcriptText(outcome)
    return `${verdict}  ${scenario}: ${reason}\n      ${rule}\n${shown}`
  }

  /** The causes that several scenarios have, the most frequent first, and the counts. */
  end(): string {
    const causes = [...Map.groupBy(this.#outcomes, ({ reason }) => reason)]
      .filter(([reason, { length }]) => reason !== null && length > 1)
      .sort(([, one], [, other]) => other.length - one.length)
      .map(
        ([reason, all]) =>
          `${all.length} scenarios: ${reason}\n      ${all.map(({ scenario }) => scenario).join(', ')}\n`,
      )
    const { pass, fail, open } = summary(this.#outcomes)
    return `${causes.join('')}${this.#outcomes.length} scenarios: ${pass} pass, ${fail} fail, ${open} open\n`
  }
}

function text(outcomes: readonly Outcome[]): string {
  const report = new ReportText()
  return `${outcomes.map((outcome) => report.outcome(outcome)).join('')}${report.end()}`
}

const ARROWS = { from_client: '>', to_client: '<', note: ' ' } as const
/** The most characters of one record. */
const LONGEST = 600

function transcriptText({ transcript, entry }: Outcome): string {
  const lines: string[] = []
  let beats = 0
  const fold = () => {
    if (beats > 0) lines.push(`             ${beats} pings and pongs\n`)
    beats = 0
  }
  for (const [index, one] of transcript.entries()) {
    if (isBeat(one) && index !== entry) beats++
    else {
      fold()
      lines.push(entryText(one, index === entry))
    }
  }
  fold()
  return lines.join('')
}

function entryText({ ms, direction, where, what, content }: Entry, isMarked: boolean): string {
  const record = content === undefined ? '' : ` ${(JSON.stringify(content) ?? '').slice(0, LONGEST)}`
  return `    ${isMarked ? '!' : ' '} ${String(ms).padStart(6)} ms ${ARROWS[direction]} ${where}: ${what}${record}\n`
}

function json(outcomes: readonly Outcome[]): string {
  const report = { version: 2, suite: 'client', summary: summary(outcomes), scenarios: outcomes }
  return `${JSON.stringify(report, null, 2)}\n`
}

function junit(outcomes: readonly Outcome[]): string {
  const { fail, open } = summary(outcomes)
  const time = outcomes.reduce((sum, { duration_ms }) => sum + duration_ms, 0) / 1000
  const cases = outcomes.map((outcome) => {
    const { scenario, verdict, reason, rule, duration_ms } = outcome
    const begin = `  <testcase classname="client" name="${xml(scenario)}" time="${duration_ms / 1000}"`
    if (verdict === 'pass') return `${begin}/>`
    const kind = verdict === 'fail' ? 'failure' : 'error'
    const told = xml(`${rule}\n${transcriptText(outcome)}`)
    return `${begin}><${kind} message="${xml(reason ?? '')}">${told}</${kind}></testcase>`
  })
  const head = `<testsuite name="conformance of clients" tests="${outcomes.length}" failures="${fail}" errors="${open}" skipped="0" time="${time}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${[head, ...cases, '</testsuite>'].join('\n')}\n`
}
