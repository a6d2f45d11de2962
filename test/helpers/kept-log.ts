// A log that keeps its lines for a test.
import { createLog, type Log } from '../../src/log.ts'

export interface KeptLog {
  readonly log: Log
  /** All lines so far, each the JSON text of an object. */
  readonly lines: readonly string[]
}

export function keptLog(): KeptLog {
  const lines: string[] = []
  const log = createLog('info', undefined, { write: (line: string) => void lines.push(line) })
  return { log, lines }
}
