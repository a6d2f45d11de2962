// Lints the documents: OpenAPI by Redocly's recommended rules, all as errors, and AsyncAPI by the diagnostics of its own parser.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { followPointer, type JsonMap, mapOf } from '../documents/json-pointer.ts'

export interface LintFinding {
  severity: 'error' | 'warning' | 'info'
  rule: string
  /** The position in the document. */
  place: string
  message: string
}

interface RedoclyProblem {
  severity: string
  ruleId: string
  message: string
  location?: { pointer?: string }[]
}

/** Lints an OpenAPI document with Redocly's `recommended-strict` ruleset. */
export async function lintOpenapi(document: JsonMap): Promise<LintFinding[]> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-lint-'))
  try {
    const file = join(folder, 'openapi.json')
    await writeFile(file, JSON.stringify(document))
    await writeFile(join(folder, 'redocly.yaml'), REDOCLY_RULES)
    const { problems } = JSON.parse(await runRedocly(file, folder)) as { problems: RedoclyProblem[] }
    const findings = problems.map(({ severity, ruleId, message, location }) => ({
      severity: severity === 'error' ? ('error' as const) : ('warning' as const),
      rule: ruleId,
      place: location?.[0]?.pointer ?? '',
      message,
    }))
    return findings.filter(({ rule, place }) => !isAllowedFinding(document, rule, place))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function isAllowedFinding(document: JsonMap, rule: string, place: string): boolean {
  if (rule === 'no-unused-components') return isReferredTo(document, place)
  // An operation that redirects has no 2xx status.
  return rule === 'operation-2xx-response' && mapOf(followPointer(document, place.slice(1)))['302'] !== undefined
}

/** Redocly does not follow the references of schemas. */
function isReferredTo(document: JsonMap, place: string): boolean {
  return JSON.stringify(document).includes(`"$ref":"${place}"`)
}

// Answers are open, so an example may hold more members than its schema. Some fixed paths overlap (`/api/workflows/{id}/run`,
// `/api/workflows/public/{id}`); there a literal segment takes precedence over a parameter.
const REDOCLY_RULES = `extends: [recommended-strict]
telemetry: off
rules:
  no-ambiguous-paths: off
  no-invalid-media-type-examples: { severity: error, allowAdditionalProperties: true }
  no-invalid-schema-examples: { severity: error, allowAdditionalProperties: true }
  no-invalid-parameter-examples: { severity: error, allowAdditionalProperties: true }
`

/** Runs Redocly without telemetry and update checks. */
function runRedocly(file: string, folder: string): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve('@redocly/cli/package.json')
  const command = join(dirname(manifest), 'bin/cli.js')
  const args = [
    command,
    'lint',
    file,
    '--config',
    join(folder, 'redocly.yaml'),
    '--format',
    'json',
    '--max-problems',
    '1000',
  ]
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      // It exits with 1 where it finds a problem, and still prints its findings.
      if (stdout.trimStart().startsWith('{')) resolve(stdout)
      else reject(new Error(`redocly could not lint the document: ${stderr || error?.message}`))
    })
  })
}

const SEVERITIES = ['error', 'warning', 'info', 'info'] as const

/** Lints an AsyncAPI document with AsyncAPI's parser. */
export async function lintAsyncapi(document: JsonMap): Promise<LintFinding[]> {
  const { Parser } = await import('@asyncapi/parser')
  const diagnostics = await new Parser().validate(JSON.stringify(document))
  return diagnostics.map(({ severity, code, path, message }) => ({
    severity: SEVERITIES[severity],
    rule: String(code),
    place: `#/${path.join('/')}`,
    message,
  }))
}

export function formatFinding({ severity, rule, place, message }: LintFinding): string {
  return `${severity} ${rule} ${place}: ${message}`
}
