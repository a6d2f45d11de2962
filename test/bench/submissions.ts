// Acknowledged submissions in this process beside the same rows written barely, in transactions of as many jobs as there are callers.
import type { Submission } from '../../src/jobs/service.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import {
  ENDS_AT_ONCE,
  FED,
  inFolder,
  OWNER,
  rawJobsPerSecond,
  storedSample,
  submission,
  submissionsPerSecond,
  WAITS,
  WIDE,
} from './jobs.ts'
import { RawDatabase } from './raw.ts'
import { sized } from './scale.ts'
import { rounded, takeTurns } from './turns.ts'

const CALLERS = [1, 10, 100]
const ROUNDS = 5
const ROUND_MS = sized(600, 50)
const WARM_UP_MS = sized(2_000, 100)

interface Kind {
  name: string
  environment: Readonly<Record<string, string>>
  /** What is submitted again and again. */
  of(server: TestServer): Submission | Promise<Submission>
}

const KINDS: readonly Kind[] = [
  { name: 'jobs that end at once', environment: WIDE, of: () => ENDS_AT_ONCE },
  {
    name: 'jobs that wait for a value',
    environment: WIDE,
    async of({ context }) {
      const { record } = await context.workflows.create(OWNER, { name: 'waits', graph: WAITS as never })
      return submission({ workflow_id: record.id, params: { name: 'Ada' } })
    },
  },
  {
    name: 'jobs that wait for their turn',
    environment: { ...WIDE, SVC_MAX_CONCURRENT_JOBS: '1' },
    async of({ context }) {
      await context.jobs.submit(OWNER, submission({ graph: FED, fed: true })).active!.accepted()
      return ENDS_AT_ONCE
    },
  },
]

export async function benchSubmissions(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const kind of KINDS) rows.push(...(await inFolder((folder) => compare(folder, kind))))
  return rows
}

async function compare(folder: string, { name: kind, ...how }: Kind): Promise<BenchRow[]> {
  await using server = await startServer({ data_dir: folder, environment: { ...how.environment } })
  using raw = await RawDatabase.in(folder)
  const of = await how.of(server)
  await submissionsPerSecond(server, of, 10, WARM_UP_MS)
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
