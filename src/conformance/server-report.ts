// Formats the results of a suite as text, JSON or JUnit.

export interface RequirementResult {
  id: string
  rule: string
  source: string
  verdict: 'pass' | 'fail' | 'skipped'
  /** The reason of a failure or a skip. */
  reason: string | null
  evidence: readonly { finding: string; request?: unknown; answer?: unknown }[]
  ms: number
}

export interface ConformanceReport {
  suite: 'server'
  url: string
  profile: string
  requirements: RequirementResult[]
}

export const REPORT_FORMATS = ['text', 'json', 'junit'] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

export function formatServerReport(report: ConformanceReport, format: ReportFormat): string {
  return { text: formatText, json: formatJson, junit: formatJunit }[format](report)
}

export function countVerdicts({ requirements }: ConformanceReport) {
  const count = (verdict: RequirementResult['verdict']) => requirements.filter((one) => one.verdict === verdict).length
  return { pass: count('pass'), fail: count('fail'), skipped: count('skipped') }
}

function formatText(report: ConformanceReport): string {
  const judged = report.requirements.filter(({ verdict }) => verdict !== 'skipped')
  const lines = judged.flatMap(({ id, verdict, rule, evidence }) => {
    const line = `${verdict}  ${id}`
    return verdict === 'pass' ? [line] : [line, `      ${rule}`, ...evidence.flatMap(formatEvidence)]
  })
  const { pass, fail, skipped } = countVerdicts(report)
  return `${[...lines, ...formatSkipped(report), `${report.url}: ${pass} pass, ${fail} fail, ${skipped} skip`].join('\n')}\n`
}

const CLAIM_HINT =
  'A server claims what its /openapi.json and /asyncapi.json mark as implemented (x-svc-implementation).'

/** Lists the skipped requirements by their reasons, and how to enable them. */
function formatSkipped({ requirements }: ConformanceReport): string[] {
  const skipped = requirements.filter(({ verdict }) => verdict === 'skipped')
  const reasons = Map.groupBy(skipped, ({ reason }) => reason)
  const lines = [...reasons].flatMap(([reason, all]) => [`skip  ${reason}`, ...all.map(({ id }) => `      ${id}`)])
  return lines.some((line) => line.includes('does not claim')) ? [...lines, `      ${CLAIM_HINT}`] : lines
}

/** The most characters of a request or an answer in one line. */
const MAX_LINE_CHARACTERS = 2_000

function formatEvidence({ finding, request, answer }: RequirementResult['evidence'][number]): string[] {
  const part = (name: string, value: unknown) =>
    value === undefined ? [] : [`        ${name}: ${(JSON.stringify(value) ?? '').slice(0, MAX_LINE_CHARACTERS)}`]
  return [`      - ${finding}`, ...part('request', request), ...part('answer', answer)]
}

function formatJson(report: ConformanceReport): string {
  return `${JSON.stringify({ version: 1, ...report, summary: countVerdicts(report) }, null, 2)}\n`
}

function formatJunit(report: ConformanceReport): string {
  const { fail, skipped } = countVerdicts(report)
  const cases = report.requirements.map(({ id, verdict, rule, reason, evidence, ms }) => {
    const at = id.lastIndexOf('.')
    const open = `  <testcase classname="${escapeXml(id.slice(0, at))}" name="${escapeXml(id.slice(at + 1))}" time="${ms / 1_000}"`
    if (verdict === 'pass') return `${open}/>`
    if (verdict === 'skipped') return `${open}><skipped message="${escapeXml(reason ?? '')}"/></testcase>`
    const told = [rule, ...evidence.flatMap(formatEvidence)].join('\n')
    return `${open}><failure message="${escapeXml(reason ?? '')}">${escapeXml(told)}</failure></testcase>`
  })
  const all = report.requirements.length
  const time = report.requirements.reduce((sum, { ms }) => sum + ms, 0) / 1_000
  const open = `<testsuite name="conformance of ${escapeXml(report.suite)}s" tests="${all}" failures="${fail}" errors="0" skipped="${skipped}" time="${time}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${[open, ...cases, '</testsuite>'].join('\n')}\n`
}

/** Removes the characters that XML 1.0 does not allow. */
export function escapeXml(value: string): string {
  return (
    value
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are removed
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
  )
}
