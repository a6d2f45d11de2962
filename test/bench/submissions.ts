// Acknowledged submissions in this process beside direct inserts of the same rows, in transactions of as many jobs as there are callers.
import type { JobSubmission } from '../../src/jobs/service.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { submission } from '../jobs/kit.ts'
import type { BenchRow } from './engine.ts'
import {
  ENDS_AT_ONCE,
  FED,
  inFolder,
  OWNER,
  rawJobsPerSecond,
  storedSample,
  submissionsPerSecond,
  WAITS,
  WIDE,
} from './jobs.ts'
import { RawDatabase } from './raw.ts'
import { sized } from './scale.ts'
import { metered, rounded, type Spent, takeTurns } from './turns.ts'

const CALLERS = [1, 10, 100]
const ROUNDS = 5
const ROUND_MS = sized(600, 50)
/** For jobs that stay. More of them would exceed the default limit of waiting jobs. */
const SHORT_ROUND_MS = sized(150, 50)
/** The compiler has optimized the measured code by then. */
const WARM_UP_MS = sized(4_000, 100)

interface Kind {
  name: string
  environment: Readonly<Record<string, string>>
  round_ms: number
  /** The submitted workflow. */
  of(server: TestServer): JobSubmission | Promise<JobSubmission>
}

const KINDS: readonly Kind[] = [
  { name: 'jobs that end at once', environment: WIDE, round_ms: ROUND_MS, of: () => ENDS_AT_ONCE },
  {
    name: 'jobs that wait for a value',
    environment: WIDE,
    round_ms: ROUND_MS,
    async of({ context }) {
      const { record } = await context.runs.workflows.create(OWNER, { name: 'waits', graph: WAITS as never })
      return submission({ workflow_id: record.id, params: { name: 'Ada' } })
    },
  },
  {
    name: 'jobs that wait for their turn',
    environment: { ...WIDE, SVC_MAX_CONCURRENT_JOBS: '1' },
    round_ms: SHORT_ROUND_MS,
    async of({ context }) {
      await context.runs.jobs.submit(OWNER, submission({ graph: FED, acceptsStreamInput: true })).active!.accepted()
      return ENDS_AT_ONCE
    },
  },
]

export async function benchSubmissions(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const kind of KINDS) {
    await inFolder((folder) => serving(folder, kind, (server, of) => submissionsPerSecond(server, of, 100, WARM_UP_MS)))
    for (const callers of CALLERS) rows.push(...(await inFolder((folder) => compare(folder, kind, callers))))
  }
  return rows
}

async function serving<T>(
  folder: string,
  { environment, of }: Kind,
  work: (server: TestServer, of: JobSubmission) => Promise<T>,
): Promise<T> {
  await using server = await startServer({ data_dir: folder, environment: { ...environment } })
  return await work(server, await of(server))
}

async function compare(folder: string, kind: Kind, callers: number): Promise<BenchRow[]> {
  using raw = await RawDatabase.in(folder)
  const { name, round_ms } = kind
  const [barely, acknowledged] = [spentNothing(), spentNothing()]
  const turn = await serving(folder, kind, async (server, of) => {
    const sample = await storedSample(server, of)
    return takeTurns(ROUNDS, {
      bare: () => metered(barely, () => rawJobsPerSecond(raw, sample, callers, round_ms)),
      ours: () => metered(acknowledged, () => submissionsPerSecond(server, of, callers, round_ms)),
    })
  })
  const row = (what: string, value: number, unit: string) => ({
    name: `submissions: ${name}, ${what}, ${callers} caller${callers === 1 ? '' : 's'}`,
    value,
    unit,
  })
  return [
    row('their rows barely', Math.round(turn.bare), 'jobs/s'),
    row('acknowledged', Math.round(turn.ours), 'jobs/s'),
    row('in proportion', rounded(turn.proportion), ''),
    row('processor time of their rows', rounded(barely.cpu_us / barely.done), 'µs'),
    row('processor time', rounded(acknowledged.cpu_us / acknowledged.done), 'µs'),
  ]
}

const spentNothing = (): Spent => ({ done: 0, cpu_us: 0 })
