// What a judgement found, as text, JSON or JUnit.

export interface Judged {
  id: string
  rule: string
  source: string
  verdict: 'pass' | 'fail' | 'skipped'
  /** Why it failed or was skipped. */
  reason: string | null
  evidence: readonly { finding: string; request?: unknown; answer?: unknown }[]
  ms: number
}

export interface ConformanceReport {
  suite: 'server'
  url: string
  profile: string
  requirements: Judged[]
}

export const FORMATS = ['text', 'json', 'junit'] as const
export type Format = (typeof FORMATS)[number]

export function reportText(report: ConformanceReport, format: Format): string {
  return { text, json, junit }[format](report)
}

export function counts({ requirements }: ConformanceReport) {
  const count = (verdict: Judged['verdict']) => requirements.filter((one) => one.verdict === verdict).length
  return { pass: count('pass'), fail: count('fail'), skipped: count('skipped') }
}

const SIGNS = { pass: 'pass', fail: 'FAIL', skipped: 'skip' } as const

function text(report: ConformanceReport): string {
  const lines = report.requirements.flatMap(({ id, verdict, rule, reason, evidence }) => {
    const line = `${SIGNS[verdict]}  ${id}`
    if (verdict === 'pass') return [line]
    if (verdict === 'skipped') return [`${line}: ${reason}`]
    return [line, `      ${rule}`, ...evidence.flatMap(evidenceLines)]
  })
  const { pass, fail, skipped } = counts(report)
  return `${[...lines, `${report.url}: ${pass} passed, ${fail} failed, ${skipped} skipped`].join('\n')}\n`
}

/** The most characters of a request or an answer in one line. */
const LONGEST = 2_000

function evidenceLines({ finding, request, answer }: Judged['evidence'][number]): string[] {
  const part = (name: string, value: unknown) =>
    value === undefined ? [] : [`        ${name}: ${(JSON.stringify(value) ?? '').slice(0, LONGEST)}`]
  return [`      - ${finding}`, ...part('request', request), ...part('answer', answer)]
}

function json(report: ConformanceReport): string {
  return `${JSON.stringify({ version: 1, ...report, summary: counts(report) }, null, 2)}\n`
}

function junit(report: ConformanceReport): string {
  const { fail, skipped } = counts(report)
  const cases = report.requirements.map(({ id, verdict, rule, reason, evidence, ms }) => {
    const at = id.lastIndexOf('.')
    const open = `  <testcase classname="${xml(id.slice(0, at))}" name="${xml(id.slice(at + 1))}" time="${ms / 1_000}"`
    if (verdict === 'pass') return `${open}/>`
    if (verdict === 'skipped') return `${open}><skipped message="${xml(reason ?? '')}"/></testcase>`
    const told = [rule, ...evidence.flatMap(evidenceLines)].join('\n')
    return `${open}><failure message="${xml(reason ?? '')}">${xml(told)}</failure></testcase>`
  })
  const all = report.requirements.length
  const time = report.requirements.reduce((sum, { ms }) => sum + ms, 0) / 1_000
  const open = `<testsuite name="conformance of ${xml(report.suite)}s" tests="${all}" failures="${fail}" errors="0" skipped="${skipped}" time="${time}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${[open, ...cases, '</testsuite>'].join('\n')}\n`
}

/** Without the characters that XML 1.0 cannot have. */
export function xml(value: string): string {
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
