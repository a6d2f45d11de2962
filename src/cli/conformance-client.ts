// `svc conformance client`: plays scenarios at a client and judges what it does.
import { writeFile } from 'node:fs/promises'
import { execDriver } from '../conformance/client/exec-driver.ts'
import type { Outcome, Surroundings } from '../conformance/client/perform.ts'
import { clientReport, exitCode, ReportText } from '../conformance/client/report.ts'
import { ruleOf } from '../conformance/client/scenario.ts'
import { chosen, judgeClient } from '../conformance/client/suite.ts'
import { FORMATS, type Format } from '../conformance/report.ts'
import { readArguments } from './arguments.ts'
import { CommandError, EXIT, print, stopCode, type Terminal, UsageError } from './terminal.ts'

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

/** Runs the command and gives its exit code. @throws CommandError */
export async function conformanceClient(args: readonly string[], terminal: Terminal): Promise<number> {
  const { list, exec, format, output, ...played } = optionsOf(args)
  const { stdout, stderr, stop, environment } = terminal
  if (list) {
    await print(stdout, listed(played.only))
    return EXIT.completed
  }
  const driver = exec === undefined ? null : execDriver(exec, environment)
  /** Where the report is a text for people, it is written as it comes about. */
  const live = format === 'text' && output === undefined
  const report = new ReportText()
  const outcomes = await judgeClient({
    ...played,
    driver,
    stop,
    announce: (surroundings) => {
      if (!driver) void print(stderr, invitation(surroundings))
    },
    tell: (outcome: Outcome) => {
      if (live) void print(stdout, report.outcome(outcome))
      else void print(stderr, `${outcome.verdict} ${outcome.scenario}\n`)
    },
  }).catch(cannotListen)
  if (output !== undefined) await write(output, clientReport(outcomes, format))
  else await print(stdout, live ? report.end() : clientReport(outcomes, format))
  return stop.aborted ? stopCode(stop) : exitCode(outcomes)
}

function optionsOf(args: readonly string[]) {
  const { values } = readArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  return {
    list: values.list,
    exec: values.exec,
    output: values.output,
    format: formatOf(values.format),
    only: known(values.scenario),
    port: numberOf('--port', values.port, 0, 65_535),
    pace: numberOf('--pace', values.pace, 0.001, 10),
    timeout_ms: numberOf('--timeout', values.timeout, 0.1, 3_600) * 1_000,
  }
}

function listed(only: readonly string[]): string {
  const lines = chosen(only).map((one) => `${one.id}: ${one.title}\n  ${ruleOf(one)}\n`)
  return lines.join('')
}

/** What a person, or a client that is started by hand, must know of a scenario. */
function invitation({ url, token, scenario, task }: Omit<Surroundings, 'signal'>): string {
  return `${scenario}: a client is awaited\n  SVC_URL=${url}\n  SVC_TOKEN=${token}\n  SVC_TASK=${JSON.stringify(task)}\n  ${task.in_words}\n`
}

function formatOf(given: string): Format {
  const format = FORMATS.find((one) => one === given)
  if (format === undefined) throw new UsageError(`--format takes ${FORMATS.join(', ')}, and is "${given}"`)
  return format
}

function numberOf(option: string, given: string, least: number, most: number): number {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  const whole = option !== '--port' || Number.isInteger(value)
  if (value >= least && value <= most && whole) return value
  throw new UsageError(`${option} takes a number from ${least} to ${most}, and is "${given}"`)
}

function known(only: readonly string[]): readonly string[] {
  try {
    chosen(only)
    return only
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message)
    throw error
  }
}

function cannotListen(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE' || code === 'EACCES') throw new CommandError(EXIT.usage, message)
  throw error
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error) => {
    throw new CommandError(EXIT.usage, `the report cannot be written: ${(error as Error).message}`)
  })
}
