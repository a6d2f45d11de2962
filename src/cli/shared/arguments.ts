// Parses command lines, or refuses them with the usage.
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { UsageError } from './terminal.ts'

type Options = NonNullable<ParseArgsConfig['options']>

/**
 * Options and positionals of a command.
 * @throws UsageError for an unknown option, a missing value, or a number of positionals that the command does not take
 */
export function parseArguments<O extends Options>(
  args: readonly string[],
  options: O,
  positionals: { least: number; most: number; what: string },
) {
  const parsed = parseStrictly(args, options)
  const given = parsed.positionals.length
  if (given < positionals.least) throw new UsageError(`${positionals.what} is missing`)
  if (given > positionals.most) throw new UsageError(`unexpected argument "${parsed.positionals[positionals.most]}"`)
  return parsed
}

function parseStrictly<O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\n|\. To specify a positional/)
    throw new UsageError(sentence)
  }
}
