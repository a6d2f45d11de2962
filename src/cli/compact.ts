// `svc compact`: rewrites the database of a stopped server, so that its file has the minimal size.
import type { Config } from '../config.ts'
import { compactDatabase, describeCompactionFailure } from '../db/files/compaction.ts'
import { readDatabaseFileSize } from '../db/files/database-size.ts'
import { requireNoLoss } from '../db/loss-detection/commit-loss.ts'
import { parseArguments } from './shared/arguments.ts'
import { CommandError, EXIT_CODES, type Terminal, writeOutput } from './shared/terminal.ts'
import { formatInteger, replaceControlCharacters } from './shared/terminal-text.ts'
import { lockDataLocation, requireDataLocation } from './stored-data/data-location.ts'

const OWNER = 'svc compact'

/** Runs the command and returns its exit code. @throws CommandError, StartError */
export async function runCompactCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  parseArguments(args, {}, { least: 0, most: 0, what: '' })
  const place = requireDataLocation(config)
  using _owned = lockDataLocation(place, OWNER)
  requireNoLoss(place.database)
  const shown = replaceControlCharacters(place.database)
  const bytes = () => {
    const { page_bytes, pages } = readDatabaseFileSize(place.database)
    return page_bytes * pages
  }
  const before = bytes()
  const progressed = (written: number, of: number) =>
    void writeOutput(
      terminal.stderr,
      `svc: ${formatInteger(written)} of about ${formatInteger(of)} bytes are written\n`,
    )
  const outcome = await compactDatabase(place.database, config.durability, progressed)
  if (outcome.kind !== 'done')
    throw new CommandError(EXIT_CODES.failed, `${shown} was not rewritten: ${describeCompactionFailure(outcome)}`)
  await writeOutput(
    terminal.stderr,
    `svc: ${shown} had ${formatInteger(before)} bytes, and has ${formatInteger(bytes())}\n`,
  )
  return EXIT_CODES.completed
}
