#!/usr/bin/env node
import { type CommandName, formatHelp, formatUsage, isCommandName } from './cli/help.ts'
// The edge of the process: chooses the command, its streams and signals, and the exit code.
import { parseArguments } from './cli/shared/arguments.ts'
import { createStopSignal, REPEATED_SIGNAL_MS } from './cli/shared/stop-signal.ts'
import { CommandError, type Terminal, UsageError, writeOutput } from './cli/shared/terminal.ts'
import { stripControlCharacters } from './cli/shared/terminal-text.ts'
import { describeAccessMode } from './config/access-mode.ts'
import { ConfigError, readConfig } from './config.ts'
import type { Log } from './log.ts'
import { machinePlatform } from './platform.ts'
import { lowerHelperThreads } from './shared/thread-priority.ts'
import { StartError } from './start-error.ts'
import { version } from './version.ts'

/** Milliseconds that leftovers of a command, such as code that ignores cancellation, may keep the process alive. */
const LINGER_MS = 1_000
/** For commands that do not listen. */
const NO_LISTEN_ADDRESS = { host: '127.0.0.1', port: 0 }

type Command = (args: readonly string[]) => Promise<number>

const COMMANDS: Readonly<Record<CommandName, Command>> = {
  serve,
  run: async (args) =>
    (await import('./cli/run/run-command.ts')).runRunCommand(
      args,
      createTerminal(true),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  validate: async (args) =>
    (await import('./cli/validate.ts')).runValidateCommand(
      args,
      createTerminal(),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  nodes: async (args) => (await import('./cli/nodes-and-examples.ts')).runNodesCommand(args, createTerminal()),
  examples: async (args) => (await import('./cli/nodes-and-examples.ts')).runExamplesCommand(args, createTerminal()),
  models: async (args) =>
    (await import('./cli/models.ts')).runModelsCommand(
      args,
      createTerminal(true),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  check: async (args) =>
    (await import('./cli/check.ts')).runCheckCommand(
      args,
      createTerminal(),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  backup: async (args) =>
    (await import('./cli/backup/backup-command.ts')).runBackupCommand(
      args,
      createTerminal(),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  restore: async (args) =>
    (await import('./cli/backup/restore-command.ts')).runRestoreCommand(
      args,
      createTerminal(),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  compact: async (args) =>
    (await import('./cli/compact.ts')).runCompactCommand(
      args,
      createTerminal(),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  secrets: async (args) =>
    (await import('./cli/secrets.ts')).runSecretsCommand(
      args,
      createTerminal(true),
      readConfig(process.env, NO_LISTEN_ADDRESS),
    ),
  contract: async (args) => (await import('./cli/contract.ts')).runContractCommand(args, createTerminal()),
  conformance: async (args) => (await import('./cli/conformance.ts')).runConformanceCommand(args, createTerminal(true)),
  'deploy-token': async (args) => (await import('./cli/deploy-token.ts')).runDeployTokenCommand(args, createTerminal()),
}

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  if (command === '--version' || command === '-v') return printAndSucceed(`${version}\n`)
  if (command === '--help' || command === '-h' || command === 'help') {
    return printAndSucceed(formatHelp(isCommandName(rest[0]) ? rest[0] : null))
  }
  if (!isCommandName(command)) {
    return reportError(
      new UsageError(command === undefined ? 'a command is missing' : `there is no command "${command}"`),
    )
  }
  if (rest.includes('--help') || rest.includes('-h')) return printAndSucceed(formatHelp(command))
  return COMMANDS[command](rest).catch((error) => reportError(error, command))
}

async function printAndSucceed(text: string): Promise<number> {
  await writeOutput(process.stdout, text)
  return 0
}

/** `stoppable`: Ctrl-C asks the command to end; otherwise it ends the process. */
function createTerminal(stoppable = false): Terminal {
  const { stdin, stdout, stderr, env: environment } = process
  const stop = stoppable ? createStopSignal(process, () => performance.now()) : new AbortController().signal
  return { stdin, stdout, stderr, environment, stop }
}

async function serve(args: readonly string[]): Promise<number> {
  const listen = readListen(args)
  const config = readConfig(process.env, listen)
  const warnings = collectProcessWarnings()
  const { createServer } = await import('./server.ts')
  await lowerHelperThreads()
  const server = await createServer(config, {
    owner: `process ${process.pid}, ${listen.host}:${listen.port}`,
    platform: machinePlatform(() => process.hrtime()),
  })
  console.log(
    `svc ${version} listens on ${server.url}\n${describeAccessMode(config)}\nThe documentation is at ${server.url}/docs`,
  )
  warnings.writeTo(server.context.log)
  await waitForSignal()
  console.log('svc stops: new work is refused, running jobs get 30 seconds')
  setTimeout(() => void waitForSignal().then(() => process.exit(1)), REPEATED_SIGNAL_MS).unref()
  await server.close()
  return 0
}

function readListen(args: readonly string[]): { host: string; port: number } {
  const { values } = parseArguments(
    args,
    { host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '7777' } },
    { least: 0, most: 0, what: '' },
  )
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535) {
    throw new UsageError(`--port takes a number from 0 to 65535, not "${values.port}"`)
  }
  if (values.host === '') throw new UsageError('--host takes an address or a name')
  return { host: values.host, port: Number(values.port) }
}

/** Keeps Node from printing process warnings as text between log lines, and writes them to the log once there is one. */
function collectProcessWarnings(): { writeTo(log: Log): void } {
  const early: Error[] = []
  let write: (warning: Error) => void = (warning) => early.push(warning)
  process.removeAllListeners('warning').on('warning', (warning) => write(warning))
  return {
    writeTo(log) {
      write = (warning) => log.warn({ err: warning }, 'process warning')
      for (const warning of early) write(warning)
    },
  }
}

function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve())
    process.on('SIGTERM', () => resolve())
  })
}

/** Prints why a command failed, and returns its exit code. */
function reportError(error: unknown, command: CommandName | null = null): number {
  if (error instanceof CommandError) {
    const problems = error.problems.map(({ path, message }) => `\n  ${path || '/'}: ${message}`)
    const usage = error instanceof UsageError ? `\n${formatUsage(command)}` : ''
    console.error(stripControlCharacters(`svc: ${error.message}${problems.join('')}${usage}`))
    return error.code
  }
  if (error instanceof StartError) console.error(stripControlCharacters(`svc: ${error.message}`))
  else if (error instanceof ConfigError) for (const problem of error.problems) console.error(`svc: ${problem}`)
  else console.error(error)
  return 1
}

/**
 * Reports a failed write to standard output, for example on a full disk: the output is incomplete, so the exit code must not be 0. A closed pipe, as
 * of `head`, is no error, and a server continues.
 */
function reportOutputErrors(): void {
  let isReported = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isReported || error.code === 'EPIPE' || process.argv[2] === 'serve') return
    isReported = true
    console.error(`svc: standard output cannot be written: ${error.message}`)
    process.once('exit', (code) => {
      if (code === 0) process.exitCode = 1
    })
  })
  // Without a listener, a closed pipe would end the process with a stack trace.
  process.stderr.on('error', () => {})
}

/**
 * Ends this process as by SIGTERM once its launcher is gone, because signals would no longer arrive. The launcher leaves a mark and a channel;
 * without it a process has at most one of them.
 */
function endWithLauncher(): void {
  const { SVC_LAUNCHED: mark } = process.env
  delete process.env.SVC_LAUNCHED
  if (mark === undefined || process.send === undefined) return
  const end = () => process.kill(process.pid, 'SIGTERM')
  process.once('disconnect', end)
  process.channel?.unref()
  if (!process.connected) end()
}

endWithLauncher()
reportOutputErrors()
process.exitCode = await main(process.argv.slice(2))
// Node restores the default of signals before it shuts down. A second signal would then end the process without its exit code.
process.once('beforeExit', () => process.exit())
setTimeout(() => process.exit(), LINGER_MS).unref()
