// `svc contract diff`: what a newer publication of the contract means for who goes by an older one.
import { diffPublications } from '../contract/diff.ts'
import { type Difference, type Verdict, worst } from '../contract/difference.ts'
import { type Publication, PublicationError } from '../contract/files.ts'
import { readPublication } from '../contract/publication.ts'
import { readArguments } from './arguments.ts'
import { CommandError, isLive, print, type Terminal, UsageError } from './terminal.ts'
import { counted, inColour, oneLine, type Paint, plain } from './text.ts'

const OPTIONS = { json: { type: 'boolean', default: false } } as const

/** sysexits.h, EX_USAGE: the customary 2 says `risky` here. */
const WRONG_USE = 64
const CODES: Readonly<Record<Verdict, number>> = { additive: 0, risky: 2, breaking: 3 }

/** Runs the command and gives its exit code. @throws CommandError where it is used wrongly, or a publication cannot be read */
export async function contract(args: readonly string[], { stdout, environment }: Terminal): Promise<number> {
  const { values, paths } = given(args)
  const [old, next] = paths.map(opened)
  const differences = diffPublications(old!, next!)
  const verdict = worst(differences)
  const paint = isLive(stdout, environment) ? inColour : plain
  const lines = values.json
    ? [JSON.stringify({ verdict, old: head(old!), new: head(next!), differences }, null, 2)]
    : report(old!, next!, differences, paint)
  await print(stdout, `${lines.join('\n')}\n`)
  return verdict === null ? 0 : CODES[verdict]
}

function given(args: readonly string[]) {
  try {
    const what = args[0] === 'diff' ? (args.length < 2 ? 'OLD' : 'NEW') : 'diff'
    const { values, positionals } = readArguments(args, OPTIONS, { least: 3, most: 3, what })
    const [action, ...paths] = positionals
    if (action !== 'diff') throw new UsageError(`there is no "${action}" of the contract`)
    return { values, paths }
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, WRONG_USE) : error
  }
}

function opened(path: string): Publication {
  try {
    return readPublication(path)
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error
    throw new CommandError(WRONG_USE, error.message)
  }
}

const head = ({ contract_version, digest }: Publication) => ({ contract_version, digest })

const COLOURS = { additive: 'green', risky: 'yellow', breaking: 'red' } as const
const VERDICTS = ['breaking', 'risky', 'additive'] as const

function report(old: Publication, next: Publication, differences: readonly Difference[], paint: Paint): string[] {
  const lines = differences.map(
    ({ verdict, rule, place, message }) =>
      `${paint(COLOURS[verdict], verdict)} ${paint('bold', oneLine(place))} ${oneLine(message)} ${paint('dim', `(${rule})`)}`,
  )
  const counts = VERDICTS.flatMap((verdict) => {
    const count = differences.filter((one) => one.verdict === verdict).length
    return count === 0 ? [] : [`${count} ${verdict}`]
  })
  const versions = `${old.contract_version} → ${next.contract_version}`
  const total =
    counts.length === 0 ? 'no difference' : `${counted(differences.length, 'difference')}: ${counts.join(', ')}`
  return [...lines, `${versions}: ${total}`]
}
