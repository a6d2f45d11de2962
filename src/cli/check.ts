// `svc check`: everything that can be known to be wrong with what a server has stored, whether it runs or not.
import type { Config } from '../config.ts'
import { acceptLoss } from '../db/admission.ts'
import { CHECKS, checkDatabase, type Finding } from '../db/check.ts'
import { type Loss, lossOf, withAdvice } from '../db/loss.ts'
import { spaceOf } from '../db/space.ts'
import { readArguments } from './arguments.ts'
import { FILE_CHECKS } from './check-files.ts'
import { failureOf } from './failure.ts'
import { existingPlace, ownPlace, type Place, placeOf } from './place.ts'
import { EXIT, print, type Terminal } from './terminal.ts'
import { counted, grouped, harmless, printable } from './text.ts'

const OPTIONS = { 'accept-loss': { type: 'boolean', default: false } } as const
const OWNER = 'svc check'

/** Runs the command and gives its exit code. @throws CommandError, StartError */
export async function check(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values } = readArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  const place = placeOf(config)
  const loss = values['accept-loss'] ? accepted(place) : lossOf(place.database)
  const findings: Finding[] = []
  const lines: string[] = []
  if (loss !== null && values['accept-loss']) lines.push(`accepted: ${loss.text}; the next start goes on without it`)
  else if (loss !== null) findings.push({ check: 'acknowledged commits', text: withAdvice(loss) })
  // There is nothing else to look at, and that is said.
  const isThere = loss?.database !== 'missing'
  if (isThere) findings.push(...(await findingsIn(existingPlace(config)).catch(refuse)))
  lines.push(...findings.map(({ check, text }) => `${check}: ${text}`))
  const shown = printable(place.database)
  if (findings.length > 0) lines.push(`${shown} is not sound: ${counted(findings.length, 'finding')}`)
  else if (isThere)
    lines.push(
      `${shown} is sound: ${counted(CHECKS + 1 + FILE_CHECKS.length, 'check')}, nothing found; ${room(place.database)}`,
    )
  await print(terminal.stdout, `${lines.map(harmless).join('\n')}\n`)
  return findings.length === 0 ? EXIT.completed : EXIT.failed
}

function refuse(error: unknown): never {
  throw failureOf('the check', error)
}

async function findingsIn(place: Place): Promise<Finding[]> {
  const findings = await checkDatabase(place.database)
  // Rows of a damaged database name files that may be right.
  if (findings.length > 0) return findings
  for (const { name, look } of FILE_CHECKS) for await (const text of look(place)) findings.push({ check: name, text })
  return findings
}

/** The loss that the next start goes on with; null where there is none. @throws StartError while a server runs */
function accepted(place: Place): Loss | null {
  if (lossOf(place.database) === null) return null
  using _owned = ownPlace(place, OWNER)
  const loss = lossOf(place.database)
  if (loss !== null) acceptLoss(place.database, loss)
  return loss
}

/** What the database takes on the disk, and how much of that is free for new rows. */
function room(database: string): string {
  const { page_bytes, pages, free_pages } = spaceOf(database)
  return `${grouped(pages * page_bytes)} bytes, ${grouped(free_pages * page_bytes)} of them free`
}
