// `svc conformance server`: holds a server against the contract. Clients are judged by conformance-client.ts.
import { writeFile } from 'node:fs/promises'
import { counts, FORMATS, reportText } from '../conformance/report.ts'
import { judgeServer, selected } from '../conformance/server/suite.ts'
import type { Profile } from '../conformance/server/trial.ts'
import { Unreachable } from '../conformance/server/verdicts.ts'
import { readArguments } from './arguments.ts'
import { CommandError, EXIT, print, stopCode, type Terminal, UsageError } from './terminal.ts'

const PROFILES: readonly Profile[] = ['lifecycle', 'full']

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

/** Runs the command and gives its exit code. @throws CommandError */
export async function conformance(args: readonly string[], terminal: Terminal): Promise<number> {
  const [side, ...rest] = args
  if (side === 'server') return server(rest, terminal)
  if (side === 'client') return (await import('./conformance-client.ts')).conformanceClient(rest, terminal)
  throw new UsageError(side === undefined ? 'server or client is missing' : `there is no command "conformance ${side}"`)
}

async function server(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = readArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  const format = oneOf(FORMATS, values.format, '--format')
  const options = {
    url: httpUrl(values.url),
    token: values.token ?? null,
    profile: oneOf(PROFILES, values.profile, '--profile'),
    timeout_ms: seconds(values.timeout) * 1_000,
    patience_ms: patience(values.patience) * 1_000,
    only: known(values.only.flatMap((one) => one.split(',')).filter((one) => one !== '')),
    stop: terminal.stop,
    given: {
      other_token: values['other-token'] ?? null,
      expired_job: values['expired-job'] ?? null,
      swept_job: values['swept-job'] ?? null,
    },
  }
  const report = await judgeServer(options).catch((error) => {
    if (!(error instanceof Unreachable)) throw error
    throw new CommandError(EXIT.usage, `nobody answers at ${shownUrl(options.url)}: ${error.message}`)
  })
  await deliver(reportText({ ...report, url: shownUrl(report.url) }, format), values.output, terminal)
  if (terminal.stop.aborted) return stopCode(terminal.stop)
  return counts(report).fail === 0 ? EXIT.completed : EXIT.failed
}

async function deliver(text: string, path: string | undefined, { stdout }: Terminal): Promise<void> {
  if (path === undefined) return print(stdout, text)
  await writeFile(path, text).catch((error) => {
    throw new CommandError(EXIT.usage, `the report cannot be written: ${(error as Error).message}`)
  })
}

function oneOf<Name extends string>(names: readonly Name[], given: string, option: string): Name {
  const name = names.find((one) => one === given)
  if (name === undefined) throw new UsageError(`${option} takes ${names.join(', ')}, and is "${given}"`)
  return name
}

function httpUrl(given: string | undefined): string {
  if (given === undefined) throw new UsageError('--url is missing')
  const url = URL.canParse(given) ? new URL(given) : null
  if (url && /^https?:$/.test(url.protocol)) return url.href
  // What stands before an @ may be a password.
  const is = given.includes('@') ? '' : `, and is "${given}"`
  throw new UsageError(`--url takes an address with http:// or https://${is}`)
}

/** The URL without its user and password: reports and messages are read by others. */
function shownUrl(url: string): string {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

function seconds(given: string): number {
  const value = Number(given)
  if (value > 0 && value <= 3_600) return value
  throw new UsageError(`--timeout takes seconds up to 3600, and is "${given}"`)
}

function patience(given: string): number {
  const value = Number(given)
  if (given.trim() !== '' && value >= 0 && value <= 3_600) return value
  throw new UsageError(`--patience takes seconds up to 3600, and is "${given}"`)
}

function known(only: readonly string[]): readonly string[] {
  try {
    selected(only)
    return only
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message)
    throw error
  }
}
