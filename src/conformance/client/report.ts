// Formats the outcomes of scenarios as text, JSON or JUnit.
import { escapeXml, type ReportFormat } from '../server-report.ts'
import type { ScenarioOutcome } from './scenario-runner.ts'
import { isKeepAliveEntry, type TranscriptEntry } from './transcript.ts'

export function formatClientReport(outcomes: readonly ScenarioOutcome[], format: ReportFormat): string {
  return { text: formatText, json: formatJson, junit: formatJunit }[format](outcomes)
}

function countVerdicts(outcomes: readonly ScenarioOutcome[]) {
  const count = (verdict: ScenarioOutcome['verdict']) => outcomes.filter((one) => one.verdict === verdict).length
  return { pass: count('pass'), fail: count('fail'), open: count('open') }
}

/** 0: all scenarios passed; 1: some failed; 2: some are open. */
export function reportExitCode(outcomes: readonly ScenarioOutcome[]): number {
  const { fail, open } = countVerdicts(outcomes)
  return fail > 0 ? 1 : open > 0 ? 2 : 0
}

/** Writes a text report scenario by scenario. One defect may fail dozens of scenarios, so its transcript is shown once. */
export class TextReportWriter {
  readonly #outcomes: ScenarioOutcome[] = []

  /** Writes one line for a passed scenario. Other scenarios show their rule, and the transcript or a reference to it. */
  formatOutcome(outcome: ScenarioOutcome): string {
    const { verdict, scenario, rule, reason } = outcome
    const first = this.#outcomes.find((one) => one.reason === reason)
    this.#outcomes.push(outcome)
    if (reason === null) return `${verdict}  ${scenario}\n`
    const shown = first
      ? `      same cause as in ${first.scenario}, see the transcript above\n`
      : formatTranscript(outcome)
    return `${verdict}  ${scenario}: ${reason}\n      ${rule}\n${shown}`
  }

  /** Lists the causes that several scenarios share, the most frequent first, and the counts. */
  formatSummary(): string {
    const causes = [...Map.groupBy(this.#outcomes, ({ reason }) => reason)]
      .filter(([reason, { length }]) => reason !== null && length > 1)
      .sort(([, one], [, other]) => other.length - one.length)
      .map(
        ([reason, all]) =>
          `${all.length} scenarios: ${reason}\n      ${all.map(({ scenario }) => scenario).join(', ')}\n`,
      )
    const { pass, fail, open } = countVerdicts(this.#outcomes)
    return `${causes.join('')}${this.#outcomes.length} scenarios: ${pass} pass, ${fail} fail, ${open} open\n`
  }
}

function formatText(outcomes: readonly ScenarioOutcome[]): string {
  const report = new TextReportWriter()
  return `${outcomes.map((outcome) => report.formatOutcome(outcome)).join('')}${report.formatSummary()}`
}

const ARROWS = { from_client: '>', to_client: '<', note: ' ' } as const
/** The most characters of one record. */
const MAX_RECORD_CHARACTERS = 600

function formatTranscript({ transcript, entry }: ScenarioOutcome): string {
  const lines: string[] = []
  let beats = 0
  const fold = () => {
    if (beats > 0) lines.push(`             ${beats} pings and pongs\n`)
    beats = 0
  }
  for (const [index, one] of transcript.entries()) {
    if (isKeepAliveEntry(one) && index !== entry) beats++
    else {
      fold()
      lines.push(formatEntry(one, index === entry))
    }
  }
  fold()
  return lines.join('')
}

function formatEntry({ ms, direction, where, what, content }: TranscriptEntry, isMarked: boolean): string {
  const record = content === undefined ? '' : ` ${(JSON.stringify(content) ?? '').slice(0, MAX_RECORD_CHARACTERS)}`
  return `    ${isMarked ? '!' : ' '} ${String(ms).padStart(6)} ms ${ARROWS[direction]} ${where}: ${what}${record}\n`
}

function formatJson(outcomes: readonly ScenarioOutcome[]): string {
  const report = { version: 2, suite: 'client', summary: countVerdicts(outcomes), scenarios: outcomes }
  return `${JSON.stringify(report, null, 2)}\n`
}

function formatJunit(outcomes: readonly ScenarioOutcome[]): string {
  const { fail, open } = countVerdicts(outcomes)
  const time = outcomes.reduce((sum, { duration_ms }) => sum + duration_ms, 0) / 1000
  const cases = outcomes.map((outcome) => {
    const { scenario, verdict, reason, rule, duration_ms } = outcome
    const begin = `  <testcase classname="client" name="${escapeXml(scenario)}" time="${duration_ms / 1000}"`
    if (verdict === 'pass') return `${begin}/>`
    const kind = verdict === 'fail' ? 'failure' : 'error'
    const told = escapeXml(`${rule}\n${formatTranscript(outcome)}`)
    return `${begin}><${kind} message="${escapeXml(reason ?? '')}">${told}</${kind}></testcase>`
  })
  const head = `<testsuite name="conformance of clients" tests="${outcomes.length}" failures="${fail}" errors="${open}" skipped="0" time="${time}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${[head, ...cases, '</testsuite>'].join('\n')}\n`
}
