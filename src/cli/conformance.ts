// `svc conformance server`: runs the conformance suite against a server. conformance-client.ts tests clients.
import { writeFile } from 'node:fs/promises'
import { ServerUnreachableError } from '../conformance/server/check-outcomes.ts'
import { runServerSuite, selectRequirements } from '../conformance/server/suite.ts'
import type { ConformanceProfile } from '../conformance/server/suite-context.ts'
import { countVerdicts, formatServerReport, REPORT_FORMATS } from '../conformance/server-report.ts'
import { parseArguments } from './shared/arguments.ts'
import { CommandError, EXIT_CODES, stopExitCode, type Terminal, UsageError, writeOutput } from './shared/terminal.ts'

const PROFILES: readonly ConformanceProfile[] = ['lifecycle', 'full']

const OPTIONS = {
  url: { type: 'string' },
  token: { type: 'string' },
  'other-token': { type: 'string' },
  'expired-job': { type: 'string' },
  'swept-job': { type: 'string' },
  profile: { type: 'string', default: 'full' },
  only: { type: 'string', multiple: true, default: [] as string[] },
  format: { type: 'string', default: 'text' },
  output: { type: 'string' },
  timeout: { type: 'string', default: '10' },
  patience: { type: 'string', default: '0' },
} as const

/** Runs the command and returns its exit code. @throws CommandError */
export async function runConformanceCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const [side, ...rest] = args
  if (side === 'server') return runServerConformance(rest, terminal)
  if (side === 'client') return (await import('./conformance-client.ts')).runClientConformance(rest, terminal)
  throw new UsageError(side === undefined ? 'server or client is missing' : `there is no command "conformance ${side}"`)
}

async function runServerConformance(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = parseArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  const format = parseChoice(REPORT_FORMATS, values.format, '--format')
  const options = {
    url: parseHttpUrl(values.url),
    token: values.token ?? null,
    profile: parseChoice(PROFILES, values.profile, '--profile'),
    timeout_ms: parseTimeout(values.timeout) * 1_000,
    patience_ms: parsePatience(values.patience) * 1_000,
    only: requireKnownRequirements(values.only.flatMap((one) => one.split(',')).filter((one) => one !== '')),
    stop: terminal.stop,
    operator_inputs: {
      other_token: values['other-token'] ?? null,
      expired_job: values['expired-job'] ?? null,
      swept_job: values['swept-job'] ?? null,
    },
  }
  const report = await runServerSuite(options).catch((error) => {
    if (!(error instanceof ServerUnreachableError)) throw error
    throw new CommandError(
      EXIT_CODES.usage,
      `no server answers at ${withoutCredentials(options.url)}: ${error.message}`,
    )
  })
  await writeReport(
    formatServerReport({ ...report, url: withoutCredentials(report.url) }, format),
    values.output,
    terminal,
  )
  if (terminal.stop.aborted) return stopExitCode(terminal.stop)
  return countVerdicts(report).fail === 0 ? EXIT_CODES.completed : EXIT_CODES.failed
}

async function writeReport(text: string, path: string | undefined, { stdout }: Terminal): Promise<void> {
  if (path === undefined) return writeOutput(stdout, text)
  await writeFile(path, text).catch((error) => {
    throw new CommandError(EXIT_CODES.usage, `the report cannot be written: ${(error as Error).message}`)
  })
}

function parseChoice<Name extends string>(names: readonly Name[], given: string, option: string): Name {
  const name = names.find((one) => one === given)
  if (name === undefined) throw new UsageError(`${option} takes ${names.join(', ')}, not "${given}"`)
  return name
}

function parseHttpUrl(given: string | undefined): string {
  if (given === undefined) throw new UsageError('--url is missing')
  const url = URL.canParse(given) ? new URL(given) : null
  if (url && /^https?:$/.test(url.protocol)) return url.href
  // The text before an @ may be a password.
  const shown = given.includes('@') ? '' : `, not "${given}"`
  throw new UsageError(`--url takes an address with http:// or https://${shown}`)
}

/** The URL without its user and password, because other people read reports and messages. */
function withoutCredentials(url: string): string {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

function parseTimeout(given: string): number {
  const value = Number(given)
  if (value > 0 && value <= 3_600) return value
  throw new UsageError(`--timeout takes seconds up to 3600, not "${given}"`)
}

function parsePatience(given: string): number {
  const value = Number(given)
  if (given.trim() !== '' && value >= 0 && value <= 3_600) return value
  throw new UsageError(`--patience takes seconds up to 3600, not "${given}"`)
}

function requireKnownRequirements(only: readonly string[]): readonly string[] {
  try {
    selectRequirements(only)
    return only
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message)
    throw error
  }
}
