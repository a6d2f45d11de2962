// `svc deploy-token`: prints the token of a deployed container, for scripts that deploy containers.
import { resolve } from 'node:path'
import { findServerToken, resolveServerToken, type ServerToken } from '../deploy/server-token.ts'
import { parseArguments } from './shared/arguments.ts'
import { EXIT_CODES, type Terminal, UsageError, writeOutput } from './shared/terminal.ts'
import { replaceControlCharacters } from './shared/terminal-text.ts'

const OPTIONS = {
  config: { type: 'string', default: 'deployment.yaml' },
  source: { type: 'boolean', default: false },
} as const

/** Runs the command and returns its exit code. @throws CommandError, StartError */
export async function runDeployTokenCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = parseArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  if (values.config === '') throw new UsageError('--config takes the path of a file')
  const places = { environment: terminal.environment, config_file: resolve(values.config) }
  const found = values.source ? findServerToken(places) : resolveServerToken(places)
  await writeOutput(terminal.stdout, `${values.source ? (found?.source ?? 'none') : found!.token}\n`)
  if (found) await writeOutput(terminal.stderr, describeOrigin(found, places.config_file))
  return EXIT_CODES.completed
}

const ORIGINS = {
  environment: () => 'the token comes from the environment',
  file: (path: string) => `the token comes from ${path}`,
  generated: (path: string) => `a new token was generated, and is stored in ${path}`,
} as const

function describeOrigin({ source, warning }: ServerToken, path: string): string {
  const shown = replaceControlCharacters(path)
  return `svc: ${ORIGINS[source](shown)}\n${warning === null ? '' : `svc: ${shown}: ${warning}\n`}`
}
