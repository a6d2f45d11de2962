// `svc check`: everything that can be known to be wrong with what a server has stored, whether it runs or not.
import type { Config } from '../config.ts'
import { CHECKS, checkDatabase } from '../db/check.ts'
import { readArguments } from './arguments.ts'
import { FILE_CHECKS } from './check-files.ts'
import { existingPlace } from './place.ts'
import { EXIT, print, type Terminal } from './terminal.ts'
import { counted, harmless, printable } from './text.ts'

/** Runs the command and gives its exit code. @throws CommandError */
export async function check(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  readArguments(args, {}, { least: 0, most: 0, what: '' })
  const place = existingPlace(config)
  const findings = await checkDatabase(place.database)
  // Rows of a damaged database name files that may be right.
  const files = findings.length > 0 ? [] : FILE_CHECKS
  for (const { name, look } of files) for await (const text of look(place)) findings.push({ check: name, text })
  const lines = findings.map(({ check, text }) => harmless(`${check}: ${text}`))
  const shown = printable(place.database)
  const checks = counted(CHECKS + files.length, 'check')
  lines.push(
    findings.length === 0
      ? `${shown} is sound: ${checks}, nothing found`
      : `${shown} is not sound: ${counted(findings.length, 'finding')}`,
  )
  await print(terminal.stdout, `${lines.join('\n')}\n`)
  return findings.length === 0 ? EXIT.completed : EXIT.failed
}
