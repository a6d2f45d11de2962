// The documents before other people's rules: Redocly's recommended ones for OpenAPI, all as errors, the diagnostics of AsyncAPI's own parser.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { followPointer, type JsonMap, mapOf } from '../documents/json-pointer.ts'

export interface LintFinding {
  severity: 'error' | 'warning' | 'info'
  rule: string
  /** Where, in the document. */
  place: string
  message: string
}

interface RedoclyProblem {
  severity: string
  ruleId: string
  message: string
  location?: { pointer?: string }[]
}

/** What Redocly's `recommended-strict` ruleset says of an OpenAPI document. */
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
  // An operation that leads elsewhere does nothing else.
  return rule === 'operation-2xx-response' && mapOf(followPointer(document, place.slice(1)))['302'] !== undefined
}

/** Redocly does not look into the rules of schemas, which refer to others. */
function isReferredTo(document: JsonMap, place: string): boolean {
  return JSON.stringify(document).includes(`"$ref":"${place}"`)
}

// Replies are open, so an example may hold more than its schema names. Some fixed paths cross (`/api/workflows/{id}/run`,
// `/api/workflows/public/{id}`); a concrete segment goes before a template there.
const REDOCLY_RULES = `extends: [recommended-strict]
telemetry: off
rules:
  no-ambiguous-paths: off
  no-invalid-media-type-examples: { severity: error, allowAdditionalProperties: true }
  no-invalid-schema-examples: { severity: error, allowAdditionalProperties: true }
  no-invalid-parameter-examples: { severity: error, allowAdditionalProperties: true }
`

/** Runs the command line without telemetry and update checks. */
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
      // It exits with 1 when it finds something, and then still prints its findings.
      if (stdout.trimStart().startsWith('{')) resolve(stdout)
      else reject(new Error(`redocly could not lint the document: ${stderr || error?.message}`))
    })
  })
}

const SEVERITIES = ['error', 'warning', 'info', 'info'] as const

/** What the parser of AsyncAPI says of a document. */
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
