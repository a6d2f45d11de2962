// The times of another user's answers while one user attacks. Each attack runs alone in its full size, then the reported ones at once for
// ten minutes, and then all attacks for as long.
import { loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { FAMILIES, REPORTED } from '../fairness/attacks.ts'
import { type Attack, allowedFor, type Figures, startFair, type Under, WORST_MS } from '../fairness/kit.ts'
import { isWork, type ProbeName } from '../fairness/probes.ts'
import type { BenchRow } from './engine.ts'
import { sized } from './scale.ts'
import { rounded } from './turns.ts'

/** The warm-up begins a second after the start and has ended by then. */
const SETTLED_MS = 3_000
const EACH_MS = sized(10_000, 100)
const TOGETHER_MS = sized(600_000, 1_000)
/** `reported`: only the reported attacks at once. Another value: these, and then all at once. Absent: each attack alone as well. */
const ONLY = process.env.SVC_BENCH_TOGETHER
/** `elsewhere`: attackers of several concurrent attacks get a lower priority than the server and the other user. */
const ATTACKER = process.env.SVC_BENCH_ATTACKER

const TOGETHER: Under = { refusals_count: true, from_elsewhere: ATTACKER === 'elsewhere' }
const FROM = TOGETHER.from_elsewhere ? ', from elsewhere' : ''

const SHOWN: Readonly<Record<ProbeName, string>> = {
  health: '/health',
  list: 'GET /api/workflows',
  run: 'a small run',
  pdf: 'a small PDF',
  code: 'a small code call',
  regex: 'a small pattern',
}

export async function benchFairness(): Promise<BenchRow[]> {
  const quiet: Attack = { name: 'no attack', strike: () => pause(EACH_MS) }
  const idle = await figures([quiet], EACH_MS)
  const rows = rowsOf(quiet.name, idle)
  const together = async (name: string, attacks: readonly Attack[]) =>
    rows.push(...rowsOf(name + FROM, await figures(attacks, TOGETHER_MS, TOGETHER), idle))
  if (!ONLY) for (const one of all()) rows.push(...rowsOf(one.name, await figures([one], EACH_MS), idle))
  const reported = REPORTED.map((of) => of(1))
  await together(`the ${reported.length} reported first, at once`, reported)
  if (ONLY !== 'reported') await together('all at once', all())
  return rows
}

async function figures(attacks: readonly Attack[], for_ms: number, options: Under = {}): Promise<Figures> {
  await using server = await startFair()
  await pause(SETTLED_MS)
  return await server.under(attacks, (passed_ms) => passed_ms > for_ms, options)
}

function all(): Attack[] {
  return Object.values(FAMILIES).flatMap((attacks) => attacks.map((of) => of(1)))
}

function rowsOf(
  name: string,
  { held, held_with_disk, written, answers, strikes, refusals, most_memory }: Figures,
  idle: Figures | null = null,
): BenchRow[] {
  return [
    row(name, `attacks made (load of the machine ${loadavg()[0]!.toFixed(1)})`, strikes, ''),
    ...[...refusals].map(([what, count]) => row(name, `not answered as it should be: ${what}`, count, '')),
    ...Object.entries(answers).flatMap(([probe, { worst, middle, late, count }]) => [
      row(name, `worst of ${count.toLocaleString('en')} answers of ${SHOWN[probe as ProbeName]}`, worst),
      row(name, 'the same, middle', middle),
      row(name, `the same, above ${WORST_MS} ms`, late, ''),
      ...(idle && isWork(probe)
        ? [row(name, 'the same, middle that is allowed', allowedFor(idle.answers[probe as ProbeName]))]
        : []),
    ]),
    row(name, 'longest hold of the main thread, processor time', held),
    row(name, 'the same with waits for the disk', held_with_disk),
    row(name, 'most written by the main thread in one turn', written, 'bytes'),
    row(name, 'the most memory that the process has had', most_memory / 1e6, 'MB'),
  ]
}

function row(name: string, what: string, value: number, unit = 'ms'): BenchRow {
  return { name: `fairness, ${name}: ${what}`, value: rounded(value), unit }
}
