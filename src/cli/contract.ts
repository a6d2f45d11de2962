// `svc contract diff`: tells what a newer publication of the contract means for users of an older one.

import { type Difference, type DifferenceVerdict, worstVerdict } from '../contract/diff/differences.ts'
import { diffPublications } from '../contract/diff/publications.ts'
import { type ContractPublication, PublicationError } from '../contract/publication-files.ts'
import { readPublication } from '../contract/publication-reader.ts'
import { parseArguments } from './shared/arguments.ts'
import { CommandError, isInteractive, type Terminal, UsageError, writeOutput } from './shared/terminal.ts'
import { type PaintText, paintInColor, paintPlain, pluralize, toSingleLine } from './shared/terminal-text.ts'

const OPTIONS = { json: { type: 'boolean', default: false } } as const

/** sysexits.h, EX_USAGE: the customary 2 means `risky` here. */
const USAGE_EXIT_CODE = 64
const VERDICT_EXIT_CODES: Readonly<Record<DifferenceVerdict, number>> = { additive: 0, risky: 2, breaking: 3 }

/** Runs the command and returns its exit code. @throws CommandError for wrong usage, or if a publication cannot be read */
export async function runContractCommand(args: readonly string[], { stdout, environment }: Terminal): Promise<number> {
  const { values, paths } = parseDiffArguments(args)
  const [old, next] = paths.map(openPublication)
  const differences = diffPublications(old!, next!)
  const verdict = worstVerdict(differences)
  const paint = isInteractive(stdout, environment) ? paintInColor : paintPlain
  const lines = values.json
    ? [JSON.stringify({ verdict, old: publicationHead(old!), new: publicationHead(next!), differences }, null, 2)]
    : formatReport(old!, next!, differences, paint)
  await writeOutput(stdout, `${lines.join('\n')}\n`)
  return verdict === null ? 0 : VERDICT_EXIT_CODES[verdict]
}

function parseDiffArguments(args: readonly string[]) {
  try {
    const what = args[0] === 'diff' ? (args.length < 2 ? 'OLD' : 'NEW') : 'diff'
    const { values, positionals } = parseArguments(args, OPTIONS, { least: 3, most: 3, what })
    const [action, ...paths] = positionals
    if (action !== 'diff') throw new UsageError(`there is no command "contract ${action}"`)
    return { values, paths }
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, USAGE_EXIT_CODE) : error
  }
}

function openPublication(path: string): ContractPublication {
  try {
    return readPublication(path)
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error
    throw new CommandError(USAGE_EXIT_CODE, error.message)
  }
}

const publicationHead = ({ contract_version, digest }: ContractPublication) => ({ contract_version, digest })

const COLOURS = { additive: 'green', risky: 'yellow', breaking: 'red' } as const
const VERDICTS = ['breaking', 'risky', 'additive'] as const

function formatReport(
  old: ContractPublication,
  next: ContractPublication,
  differences: readonly Difference[],
  paint: PaintText,
): string[] {
  const lines = differences.map(
    ({ verdict, rule, place, message }) =>
      `${paint(COLOURS[verdict], verdict)} ${paint('bold', toSingleLine(place))} ${toSingleLine(message)} ${paint('dim', `(${rule})`)}`,
  )
  const counts = VERDICTS.flatMap((verdict) => {
    const count = differences.filter((one) => one.verdict === verdict).length
    return count === 0 ? [] : [`${count} ${verdict}`]
  })
  const versions = `${old.contract_version} → ${next.contract_version}`
  const total =
    counts.length === 0 ? 'no difference' : `${pluralize(differences.length, 'difference')}: ${counts.join(', ')}`
  return [...lines, `${versions}: ${total}`]
}
