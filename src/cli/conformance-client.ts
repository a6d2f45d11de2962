// `svc conformance client`: runs scenarios against a client and judges its requests.
import { writeFile } from 'node:fs/promises'
import { createExecDriver } from '../conformance/client/exec-driver.ts'
import { formatClientReport, reportExitCode, TextReportWriter } from '../conformance/client/report.ts'
import { findScenarioRule } from '../conformance/client/scenario.ts'
import type { DriverEnvironment, ScenarioOutcome } from '../conformance/client/scenario-runner.ts'
import { runClientSuite, selectScenarios } from '../conformance/client/suite.ts'
import { REPORT_FORMATS, type ReportFormat } from '../conformance/server-report.ts'
import { parseArguments } from './shared/arguments.ts'
import { CommandError, EXIT_CODES, stopExitCode, type Terminal, UsageError, writeOutput } from './shared/terminal.ts'

const OPTIONS = {
  scenario: { type: 'string', multiple: true, default: [] as string[] },
  port: { type: 'string', default: '0' },
  exec: { type: 'string' },
  list: { type: 'boolean', default: false },
  format: { type: 'string', default: 'text' },
  output: { type: 'string' },
  timeout: { type: 'string', default: '60' },
  pace: { type: 'string', default: '1' },
} as const

/** Runs the command and returns its exit code. @throws CommandError */
export async function runClientConformance(args: readonly string[], terminal: Terminal): Promise<number> {
  const { list, exec, format, output, ...played } = parseOptions(args)
  const { stdout, stderr, stop, environment } = terminal
  if (list) {
    await writeOutput(stdout, formatScenarios(played.only))
    return EXIT_CODES.completed
  }
  const driver = exec === undefined ? null : createExecDriver(exec, environment)
  /** A text report on standard output is written while the suite runs. */
  const live = format === 'text' && output === undefined
  const report = new TextReportWriter()
  const outcomes = await runClientSuite({
    ...played,
    driver,
    stop,
    onScenarioStart: (surroundings) => {
      if (!driver) void writeOutput(stderr, formatInvitation(surroundings))
    },
    onOutcome: (outcome: ScenarioOutcome) => {
      if (live) void writeOutput(stdout, report.formatOutcome(outcome))
      else void writeOutput(stderr, `${outcome.verdict} ${outcome.scenario}\n`)
    },
  }).catch(rethrowListenError)
  if (output !== undefined) await writeReport(output, formatClientReport(outcomes, format))
  else await writeOutput(stdout, live ? report.formatSummary() : formatClientReport(outcomes, format))
  return stop.aborted ? stopExitCode(stop) : reportExitCode(outcomes)
}

function parseOptions(args: readonly string[]) {
  const { values } = parseArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  return {
    list: values.list,
    exec: values.exec,
    output: values.output,
    format: parseFormat(values.format),
    only: requireKnownScenarios(values.scenario),
    port: parseNumber('--port', values.port, 0, 65_535),
    pace: parseNumber('--pace', values.pace, 0.001, 10),
    timeout_ms: parseNumber('--timeout', values.timeout, 0.1, 3_600) * 1_000,
  }
}

function formatScenarios(only: readonly string[]): string {
  const lines = selectScenarios(only).map((one) => `${one.id}: ${one.title}\n  ${findScenarioRule(one)}\n`)
  return lines.join('')
}

/** The facts for a person, or for a client that is started by hand, to play a scenario. */
function formatInvitation({ url, token, scenario, task }: Omit<DriverEnvironment, 'signal'>): string {
  return `${scenario}: a client is awaited\n  SVC_URL=${url}\n  SVC_TOKEN=${token}\n  SVC_TASK=${JSON.stringify(task)}\n  ${task.in_words}\n`
}

function parseFormat(given: string): ReportFormat {
  const format = REPORT_FORMATS.find((one) => one === given)
  if (format === undefined) throw new UsageError(`--format takes ${REPORT_FORMATS.join(', ')}, not "${given}"`)
  return format
}

function parseNumber(option: string, given: string, least: number, most: number): number {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  const whole = option !== '--port' || Number.isInteger(value)
  if (value >= least && value <= most && whole) return value
  throw new UsageError(`${option} takes a number from ${least} to ${most}, not "${given}"`)
}

function requireKnownScenarios(only: readonly string[]): readonly string[] {
  try {
    selectScenarios(only)
    return only
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message)
    throw error
  }
}

function rethrowListenError(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE' || code === 'EACCES') throw new CommandError(EXIT_CODES.usage, message)
  throw error
}

async function writeReport(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error) => {
    throw new CommandError(EXIT_CODES.usage, `the report cannot be written: ${(error as Error).message}`)
  })
}
