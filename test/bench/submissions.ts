// Acknowledged submissions in this process beside the same rows written barely, in transactions of as many jobs as there are callers.
import type { Submission } from '../../src/jobs/service.ts'
import type { BenchRow } from './engine.ts'
import {
  ENDS_AT_ONCE,
  inFolder,
  rawJobsPerSecond,
  startWide,
  storedSample,
  submission,
  submissionsPerSecond,
  WAITS,
} from './jobs.ts'
import { RawDatabase } from './raw.ts'
import { sized } from './scale.ts'
import { rounded, takeTurns } from './turns.ts'

const CALLERS = [1, 10, 100]
const ROUNDS = 5
const ROUND_MS = sized(600, 50)

const KINDS: Readonly<Record<string, Submission>> = {
  'jobs that end at once': ENDS_AT_ONCE,
  'jobs that wait': submission({ graph: WAITS, params: { name: 'Ada' } }),
}

export async function benchSubmissions(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const [kind, of] of Object.entries(KINDS)) rows.push(...(await inFolder((folder) => compare(folder, kind, of))))
  return rows
}

async function compare(folder: string, kind: string, of: Submission): Promise<BenchRow[]> {
  await using server = await startWide(folder)
  using raw = await RawDatabase.in(folder)
  await submissionsPerSecond(server, of, 10, ROUND_MS)
  const sample = await storedSample(server, of)
  const rows: BenchRow[] = []
  for (const callers of CALLERS) {
    const turn = await takeTurns(ROUNDS, {
      bare: () => rawJobsPerSecond(raw, sample, callers, ROUND_MS),
      ours: () => submissionsPerSecond(server, of, callers, ROUND_MS),
    })
    const row = (name: string, value: number, unit: string) => ({
      name: `submissions: ${name}, ${callers} caller${callers === 1 ? '' : 's'}`,
      value,
      unit,
    })
    rows.push(row(`${kind}, their rows barely`, Math.round(turn.bare), 'jobs/s'))
    rows.push(row(`${kind}, acknowledged`, Math.round(turn.ours), 'jobs/s'))
    rows.push(row(`${kind}, in proportion`, rounded(turn.proportion), ''))
  }
  return rows
}
