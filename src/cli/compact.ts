// `svc compact`: writes the database of a stopped server anew, so that its file is no longer than it has to be.
import type { Config } from '../config.ts'
import { refuseLoss } from '../db/loss.ts'
import { reasonOf, rewriteDatabase } from '../db/rewriting.ts'
import { spaceOf } from '../db/space.ts'
import { readArguments } from './arguments.ts'
import { existingPlace, ownPlace } from './place.ts'
import { CommandError, EXIT, print, type Terminal } from './terminal.ts'
import { grouped, printable } from './text.ts'

const OWNER = 'svc compact'

/** Runs the command and gives its exit code. @throws CommandError, StartError */
export async function compact(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  readArguments(args, {}, { least: 0, most: 0, what: '' })
  const place = existingPlace(config)
  using _owned = ownPlace(place, OWNER)
  refuseLoss(place.database)
  const shown = printable(place.database)
  const bytes = () => {
    const { page_bytes, pages } = spaceOf(place.database)
    return page_bytes * pages
  }
  const before = bytes()
  const progressed = (written: number, of: number) =>
    void print(terminal.stderr, `svc: ${grouped(written)} of about ${grouped(of)} bytes are written\n`)
  const outcome = await rewriteDatabase(place.database, config.durability, progressed)
  if (outcome.kind !== 'done') throw new CommandError(EXIT.failed, `${shown} is as it was: ${reasonOf(outcome)}`)
  await print(terminal.stderr, `svc: ${shown} had ${grouped(before)} bytes, and has ${grouped(bytes())}\n`)
  return EXIT.completed
}
