// `svc check`: reports every known fault of a server's stored data, whether the server runs or not.
import type { Config } from '../config.ts'
import { readDatabaseFileSize } from '../db/files/database-size.ts'
import { checkDatabase, DATABASE_CHECK_COUNT, type DatabaseFinding } from '../db/integrity/database-check.ts'
import { type CommitLoss, describeLoss, detectLoss } from '../db/loss-detection/commit-loss.ts'
import { acceptCommitLoss } from '../db/loss-detection/start-admission.ts'
import { parseArguments } from './shared/arguments.ts'
import { toCommandFailure } from './shared/command-failure.ts'
import { EXIT_CODES, type Terminal, writeOutput } from './shared/terminal.ts'
import { formatInteger, pluralize, replaceControlCharacters, stripControlCharacters } from './shared/terminal-text.ts'
import {
  type DataLocation,
  lockDataLocation,
  requireDataLocation,
  resolveDataLocation,
} from './stored-data/data-location.ts'
import { FILE_CHECKS } from './stored-data/file-checks.ts'

const OPTIONS = { 'accept-loss': { type: 'boolean', default: false } } as const
const OWNER = 'svc check'

/** Runs the command and returns its exit code. @throws CommandError, StartError */
export async function runCheckCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values } = parseArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  const place = resolveDataLocation(config)
  const loss = values['accept-loss'] ? acceptFoundLoss(place) : detectLoss(place.database)
  const findings: DatabaseFinding[] = []
  const lines: string[] = []
  if (loss !== null && values['accept-loss']) lines.push(`accepted: ${loss.text}; the next start continues without it`)
  else if (loss !== null) findings.push({ check: 'acknowledged commits', text: describeLoss(loss) })
  // A missing database cannot be checked further, and the finding says so.
  const isThere = loss?.database !== 'missing'
  if (isThere) findings.push(...(await collectFindings(requireDataLocation(config)).catch(rethrowAsFailure)))
  lines.push(...findings.map(({ check, text }) => `${check}: ${text}`))
  const shown = replaceControlCharacters(place.database)
  if (findings.length > 0) lines.push(`${shown} is not sound: ${pluralize(findings.length, 'finding')}`)
  else if (isThere)
    lines.push(
      `${shown} is sound: ${pluralize(DATABASE_CHECK_COUNT + 1 + FILE_CHECKS.length, 'check')}, nothing found; ${describeDiskUse(place.database)}`,
    )
  await writeOutput(terminal.stdout, `${lines.map(stripControlCharacters).join('\n')}\n`)
  return findings.length === 0 ? EXIT_CODES.completed : EXIT_CODES.failed
}

function rethrowAsFailure(error: unknown): never {
  throw toCommandFailure('the check', error)
}

async function collectFindings(place: DataLocation): Promise<DatabaseFinding[]> {
  const findings = await checkDatabase(place.database)
  // The rows of a damaged database may refer to other files than they should.
  if (findings.length > 0) return findings
  for (const { name, findProblems } of FILE_CHECKS)
    for await (const text of findProblems(place)) findings.push({ check: name, text })
  return findings
}

/** The loss without which the next start continues; null: there is none. @throws StartError while a server runs */
function acceptFoundLoss(place: DataLocation): CommitLoss | null {
  if (detectLoss(place.database) === null) return null
  using _owned = lockDataLocation(place, OWNER)
  const loss = detectLoss(place.database)
  if (loss !== null) acceptCommitLoss(place.database, loss)
  return loss
}

/** The size of the database on the disk, and the part of it that is free for new rows. */
function describeDiskUse(database: string): string {
  const { page_bytes, pages, free_pages } = readDatabaseFileSize(database)
  return `${formatInteger(pages * page_bytes)} bytes, ${formatInteger(free_pages * page_bytes)} of them free`
}
