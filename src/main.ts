#!/usr/bin/env node
// The process edge: which command, its streams and signals, and the exit code. What each command does is its own business.
import { readArguments } from './cli/arguments.ts'
import { type CommandName, helpText, isCommand, usageLine } from './cli/help.ts'
import { ECHO_MS, stopSignal } from './cli/stop.ts'
import { CommandError, print, type Terminal, UsageError } from './cli/terminal.ts'
import { harmless } from './cli/text.ts'
import { modeLine } from './config/mode.ts'
import { ConfigError, readConfig } from './config.ts'
import type { Log } from './log.ts'
import { machinePlatform } from './platform.ts'
import { StartError } from './start-error.ts'
import { lowerHelpers } from './thread-priority.ts'
import { version } from './version.ts'

/** What a command left running, such as code that heeds no cancel, may keep the process for so long. */
const LINGER_MS = 1_000
/** Where a command listens nowhere. */
const NOWHERE = { host: '127.0.0.1', port: 0 }

type Command = (args: readonly string[]) => Promise<number>

const COMMANDS: Readonly<Record<CommandName, Command>> = {
  serve,
  run: async (args) => (await import('./cli/run.ts')).run(args, terminal(true), readConfig(process.env, NOWHERE)),
  validate: async (args) =>
    (await import('./cli/validate.ts')).validate(args, terminal(), readConfig(process.env, NOWHERE)),
  nodes: async (args) => (await import('./cli/catalogue.ts')).nodes(args, terminal()),
  examples: async (args) => (await import('./cli/catalogue.ts')).listExamples(args, terminal()),
  models: async (args) =>
    (await import('./cli/models.ts')).models(args, terminal(true), readConfig(process.env, NOWHERE)),
  check: async (args) => (await import('./cli/check.ts')).check(args, terminal(), readConfig(process.env, NOWHERE)),
  backup: async (args) => (await import('./cli/backup.ts')).backup(args, terminal(), readConfig(process.env, NOWHERE)),
  restore: async (args) =>
    (await import('./cli/restore.ts')).restore(args, terminal(), readConfig(process.env, NOWHERE)),
  compact: async (args) =>
    (await import('./cli/compact.ts')).compact(args, terminal(), readConfig(process.env, NOWHERE)),
  secrets: async (args) =>
    (await import('./cli/secrets.ts')).secrets(args, terminal(true), readConfig(process.env, NOWHERE)),
  contract: async (args) => (await import('./cli/contract.ts')).contract(args, terminal()),
  conformance: async (args) => (await import('./cli/conformance.ts')).conformance(args, terminal(true)),
  'deploy-token': async (args) => (await import('./cli/deploy-token.ts')).deployToken(args, terminal()),
}

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  if (command === '--version' || command === '-v') return say(`${version}\n`)
  if (command === '--help' || command === '-h' || command === 'help') {
    return say(helpText(isCommand(rest[0]) ? rest[0] : null))
  }
  if (!isCommand(command)) {
    return explain(new UsageError(command === undefined ? 'a command is missing' : `there is no command "${command}"`))
  }
  if (rest.includes('--help') || rest.includes('-h')) return say(helpText(command))
  return COMMANDS[command](rest).catch((error) => explain(error, command))
}

async function say(text: string): Promise<number> {
  await print(process.stdout, text)
  return 0
}

/** `stoppable`: Ctrl-C asks the command to end; otherwise it ends the process. */
function terminal(stoppable = false): Terminal {
  const { stdin, stdout, stderr, env: environment } = process
  const stop = stoppable ? stopSignal(process, () => performance.now()) : new AbortController().signal
  return { stdin, stdout, stderr, environment, stop }
}

async function serve(args: readonly string[]): Promise<number> {
  const listen = readListen(args)
  const config = readConfig(process.env, listen)
  const warnings = gatherWarnings()
  const { createServer } = await import('./server.ts')
  await lowerHelpers()
  const server = await createServer(config, {
    owner: `process ${process.pid}, ${listen.host}:${listen.port}`,
    platform: machinePlatform(() => process.hrtime()),
  })
  console.log(
    `svc ${version} listens on ${server.url}\n${modeLine(config)}\nThe documentation is at ${server.url}/docs`,
  )
  warnings.writeTo(server.context.log)
  await signalled()
  console.log('svc stops: new work is refused, running jobs get 30 seconds')
  setTimeout(() => void signalled().then(() => process.exit(1)), ECHO_MS).unref()
  await server.close()
  return 0
}

function readListen(args: readonly string[]): { host: string; port: number } {
  const { values } = readArguments(
    args,
    { host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '7777' } },
    { least: 0, most: 0, what: '' },
  )
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535) {
    throw new UsageError(`--port takes a number from 0 to 65535, and is "${values.port}"`)
  }
  if (values.host === '') throw new UsageError('--host takes an address or a name')
  return { host: values.host, port: Number(values.port) }
}

/** Keeps Node from printing warnings of the process as text among the lines of the log, and gives them to the log once there is one. */
function gatherWarnings(): { writeTo(log: Log): void } {
  const early: Error[] = []
  let write: (warning: Error) => void = (warning) => early.push(warning)
  process.removeAllListeners('warning').on('warning', (warning) => write(warning))
  return {
    writeTo(log) {
      write = (warning) => log.warn({ err: warning }, 'the process warns')
      for (const warning of early) write(warning)
    },
  }
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve())
    process.on('SIGTERM', () => resolve())
  })
}

/** Says why a command ended, and with which code. */
function explain(error: unknown, command: CommandName | null = null): number {
  if (error instanceof CommandError) {
    const problems = error.problems.map(({ path, message }) => `\n  ${path || '/'}: ${message}`)
    const usage = error instanceof UsageError ? `\n${usageLine(command)}` : ''
    console.error(harmless(`svc: ${error.message}${problems.join('')}${usage}`))
    return error.code
  }
  if (error instanceof StartError) console.error(harmless(`svc: ${error.message}`))
  else if (error instanceof ConfigError) for (const problem of error.problems) console.error(`svc: ${problem}`)
  else console.error(error)
  return 1
}

/**
 * Says so where standard output takes no more, as on a full disk: what a command wrote is not whole then, so that its exit code must not be 0.
 * A reader that has gone, as `head` does, has what it wants, and a server goes on without.
 */
function guardOutput(): void {
  let isTold = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isTold || error.code === 'EPIPE' || process.argv[2] === 'serve') return
    isTold = true
    console.error(`svc: standard output cannot be written: ${error.message}`)
    process.once('exit', (code) => {
      if (code === 0) process.exitCode = 1
    })
  })
  // Without a listener, a reader that has gone would end the process with a stack.
  process.stderr.on('error', () => {})
}

/**
 * Has this process end as by SIGTERM once its launcher is gone: without it no signal would arrive. The launcher leaves a mark and a channel; a process
 * that was started without it has one of them at most.
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
guardOutput()
process.exitCode = await main(process.argv.slice(2))
// Node gives signals their default back before it takes itself apart: a second one would be the end of the process there, without its exit code.
process.once('beforeExit', () => process.exit())
setTimeout(() => process.exit(), LINGER_MS).unref()
