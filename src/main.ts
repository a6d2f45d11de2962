#!/usr/bin/env node
// The process edge: arguments, signals, exit codes. Exit codes: 0 done, 1 cannot start or failed, 2 wrong usage.
import { parseArgs } from 'node:util'
import { ConfigError, readConfig } from './config.ts'
import { StartError } from './start-error.ts'
import { version } from './version.ts'

const USAGE = 'usage: svc serve [--host HOST] [--port PORT]'

/** A terminal's Ctrl-C comes twice, from the terminal and from the launcher: within this time it is the same one. */
const ECHO_MS = 300

class UsageError extends Error {}

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  if (command === '--version' || command === '-v') return print(version)
  if (command === '--help' || command === '-h' || command === 'help') return print(help())
  if (command === 'serve') return serve(rest)
  throw new UsageError(command === undefined ? 'a command is missing' : `there is no command "${command}"`)
}

function print(text: string): number {
  console.log(text)
  return 0
}

function help(): string {
  return `${USAGE}\n\nServes the workflow execution service, on 127.0.0.1:7777 unless told otherwise.\nSettings are environment variables that begin with SVC_; the README lists them.`
}

async function serve(args: string[]): Promise<number> {
  const listen = readListen(args)
  const config = readConfig(process.env, listen)
  const { createServer } = await import('./server.ts')
  const server = await createServer(config, { owner: `process ${process.pid}, ${listen.host}:${listen.port}` })
  console.log(`svc ${version} listens on ${server.url}`)
  await stopSignal()
  console.log('svc stops: new work is refused, running jobs get 30 seconds')
  setTimeout(() => void stopSignal().then(() => process.exit(1)), ECHO_MS).unref()
  await server.close()
  return 0
}

function readListen(args: string[]): { host: string; port: number } {
  try {
    const { values } = parseArgs({
      args,
      options: { host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '7777' } },
      allowPositionals: false,
    })
    if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535) {
      throw new UsageError(`--port takes a number from 0 to 65535, and is "${values.port}"`)
    }
    if (values.host === '') throw new UsageError('--host takes an address or a name')
    return { host: values.host, port: Number(values.port) }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(error instanceof Error ? error.message.split('\n')[0] : String(error))
  }
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve())
    process.on('SIGTERM', () => resolve())
  })
}

function explain(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`svc: ${error.message}\n${USAGE}`)
    return 2
  }
  if (error instanceof StartError) {
    console.error(`svc: ${error.message}`)
    return 1
  }
  if (error instanceof ConfigError) {
    for (const problem of error.problems) console.error(`svc: ${problem}`)
    return 1
  }
  console.error(error)
  return 1
}

process.exitCode = await main(process.argv.slice(2)).catch(explain)
