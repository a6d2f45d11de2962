// Events that jobs append, from submission to the stored end, beside direct inserts of the same event rows.
import type { BenchRow } from './engine.ts'
import { counting, inFolder, runToEnd, startWide } from './jobs.ts'
import { RawDatabase, type Sample, sampleOf } from './raw.ts'
import { shown, sized } from './scale.ts'
import { rounded, takeTurns } from './turns.ts'

const EVENTS = sized(100_000, 640)
const AT_ONCE = 64
const ROUNDS = 3
/** Rows in one transaction of the reference. */
const GROUP = 1_000

export function benchAppends(): Promise<BenchRow[]> {
  return inFolder(async (folder) => {
    await using server = await startWide(folder)
    using raw = await RawDatabase.in(folder)
    const long = counting(EVENTS)
    const short = counting(Math.round(EVENTS / AT_ONCE))
    const sample = sampleOf(folder, (await runToEnd(server, long)).id)
    const bare = () => rawEventsPerSecond(raw, sample)
    const one = await takeTurns(ROUNDS, { bare, ours: () => eventsPerSecond([() => runToEnd(server, long)]) })
    const jobs = Array.from({ length: AT_ONCE }, () => () => runToEnd(server, short))
    const many = await takeTurns(ROUNDS, { bare, ours: () => eventsPerSecond(jobs) })
    const row = (name: string, value: number, unit: string) => ({ name: `appends: ${name}`, value, unit })
    return [
      row(`event rows barely, ${shown(GROUP)} in a transaction`, Math.round(one.bare), 'events/s'),
      row(`one job with ${shown(EVENTS)} outputs`, Math.round(one.ours), 'events/s'),
      row('one job, in proportion', rounded(one.proportion), ''),
      row(`${AT_ONCE} jobs at once with as many together`, Math.round(many.ours), 'events/s'),
      row(`${AT_ONCE} jobs at once, in proportion`, rounded(many.proportion), ''),
    ]
  })
}

async function eventsPerSecond(jobs: readonly (() => Promise<{ events: number }>)[]): Promise<number> {
  const from = performance.now()
  const ended = await Promise.all(jobs.map((run) => run()))
  const events = ended.reduce((sum, job) => sum + job.events, 0)
  return (events * 1000) / (performance.now() - from)
}

function rawEventsPerSecond(raw: RawDatabase, sample: Sample): number {
  const from = performance.now()
  raw.insertEvents(sample, GROUP)
  return (sample.events.length * 1000) / (performance.now() - from)
}
