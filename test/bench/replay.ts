// The history of a long job for late clients: as server-sent events, as JSON, and for a socket that reconnects, beside plain reads of event
// rows. The server is a separate process; the readers run in this one.

import { serve } from '../helpers/process.ts'
import { connect } from '../helpers/socket.ts'
import type { BenchRow } from './engine.ts'
import { counting, inFolder, runToEnd, startWide } from './jobs.ts'
import { RawDatabase, sampleOf } from './raw.ts'
import { shown, sized } from './scale.ts'
import { readToEnd } from './sse.ts'
import { rounded, takeTurns } from './turns.ts'

const EVENTS = sized(100_000, 1_000)
const READERS = 100
/** The number of missed events of each of many readers. */
const MISSED = Math.round(EVENTS / 10)
const ROUNDS = 3

interface Stored {
  id: string
  events: number
}

export function benchReplay(): Promise<BenchRow[]> {
  return inFolder(async (folder) => {
    const job = await longJob(folder)
    using raw = await RawDatabase.in(folder)
    raw.insertJobs(sampleOf(folder, job.id), 1)
    await using server = await serve(folder)
    const events = `${server.url}/api/jobs/${job.id}/events`
    const bare = () => perSecond(job.events, async () => void raw.readEvents())
    const sse = () => perSecond(job.events, () => readToEnd(events, 'text/event-stream'))
    await sse()
    const stream = await takeTurns(ROUNDS, { bare, ours: sse })
    const json = await takeTurns(ROUNDS, {
      bare,
      ours: () => perSecond(job.events, () => readToEnd(events, 'application/json')),
    })
    const socket = await takeTurns(ROUNDS, { bare, ours: () => perSecond(job.events, () => comeBack(server, job)) })
    const late = `${events}?after_sequence=${job.events - MISSED}`
    const all = () => Promise.all(Array.from({ length: READERS }, () => readToEnd(late, 'text/event-stream')))
    const many = await perSecond(MISSED * READERS, all)
    const row = (name: string, value: number, unit: string) => ({ name: `replay: ${name}`, value, unit })
    return [
      row(`${shown(job.events)} event rows barely read`, Math.round(stream.bare), 'events/s'),
      row('as server-sent events to one', Math.round(stream.ours), 'events/s'),
      row('as server-sent events, in proportion', rounded(stream.proportion), ''),
      row('as JSON to one', Math.round(json.ours), 'events/s'),
      row('as JSON, in proportion', rounded(json.proportion), ''),
      row('as outputs to a socket that comes back', Math.round(socket.ours), 'events/s'),
      row('as outputs to a socket, in proportion', rounded(socket.proportion), ''),
      row(`the last ${shown(MISSED)} to each of ${READERS} at once, together`, Math.round(many), 'events/s'),
      row('the same in proportion to one', rounded(many / stream.ours), ''),
    ]
  })
}

async function longJob(folder: string): Promise<Stored> {
  await using server = await startWide(folder)
  return await runToEnd(server, counting(EVENTS))
}

async function perSecond(events: number, work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return (events * 1000) / (performance.now() - from)
}

/** The time from opening a socket to all outputs of the job: one frame for each, with all its values. */
async function comeBack(server: { url: string }, { id }: Stored): Promise<void> {
  await using client = await connect(server)
  client.command('reconnect_job', { job_id: id })
  await client.next({ type: 'output_update' }, 60_000)
}
