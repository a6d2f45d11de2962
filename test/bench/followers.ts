// The time from the commit of an event to the last of its very many followers, beside a minimal server that writes the same text to as
// many. The followers run in a separate process.
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { runProcess } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'
import { submission } from '../jobs/kit.ts'
import type { BenchRow } from './engine.ts'
import { FED, inFolder, OWNER, startWide } from './jobs.ts'
import { shown, sized } from './scale.ts'
import { percentile, rounded } from './turns.ts'

const FOLLOWERS = sized(1_000, 10)
const EVENTS = sized(150, 20)
/** The first events run code that is not optimized yet, so they are reported separately. */
const FIRST = 10
/** The delay between two events, in milliseconds, longer than all followers need. */
const PAUSE_MS = 80
/** File descriptors that a process needs for itself. */
const SPARE_DESCRIPTORS = 100

/** Milliseconds from the sending of each event to its last arrival, in order. */
interface Latencies {
  first: number[]
  later: number[]
}

/** When each event was committed, in milliseconds of the machine's clock, by sequence. */
type Departures = Map<number, number>

export async function benchFollowers(): Promise<BenchRow[]> {
  const count = Math.min(FOLLOWERS, descriptors() - SPARE_DESCRIPTORS)
  const bare = await bareLatencies(count)
  const ours = await inFolder((folder) => latencies(folder, count))
  const row = (name: string, value: number, unit = 'ms') => ({
    name: `followers: ${name}, ${shown(count)} followers`,
    value: rounded(value),
    unit,
  })
  return [
    row('bare text to the last, middle', percentile(bare.later, 0.5)),
    row('bare text to the last, slowest in a hundred', percentile(bare.later, 0.99)),
    row('bare text to the last, slowest of the first ten', Math.max(...bare.first)),
    row('from commit to the last, middle', percentile(ours.later, 0.5)),
    row('from commit to the last, slowest in a hundred', percentile(ours.later, 0.99)),
    row('from commit to the last, slowest of the first ten', Math.max(...ours.first)),
    row('the middle in proportion to the bare one', percentile(ours.later, 0.5) / percentile(bare.later, 0.5), ''),
  ]
}

async function latencies(folder: string, count: number): Promise<Latencies> {
  await using server = await startWide(folder)
  const { jobs, events } = server.context.runs
  const job = jobs.submit(OWNER, submission({ graph: FED, acceptsStreamInput: true })).active!
  await job.flushed()
  const departures: Departures = new Map()
  const feed = events.feed(job.row.key)!
  let committed = feed.committed
  // Called at the moment of the commit.
  const unlisten = feed.listen(() => {
    while (committed < feed.committed) departures.set(++committed, clock())
  })
  const url = `${server.url}/api/jobs/${job.row.id}/events?after_sequence=${committed}`
  const found = await heard(url, count, departures, async () => {
    for (let i = 0; i < EVENTS; i++) {
      if (job.inputs?.pushInput('in', i) !== 'ok') throw new Error('the job takes no more values')
      await pause(PAUSE_MS)
    }
    job.inputs?.endInput('in')
    await job.settled()
  })
  unlisten()
  return found
}

/** Writes the same number of similar texts to as many answers, one after the other. */
async function bareLatencies(count: number): Promise<Latencies> {
  const answers = new Set<ServerResponse>()
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 2000\n\n')
    answers.add(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const departures: Departures = new Map()
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    return await heard(url, count, departures, async () => {
      for (let sequence = 1; sequence <= EVENTS; sequence++) {
        departures.set(sequence, clock())
        for (const answer of answers) answer.write(eventText(sequence))
        await pause(PAUSE_MS)
      }
      for (const answer of answers) answer.end()
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function eventText(sequence: number): string {
  const job = { job_id: `job_${'0'.repeat(32)}`, workflow_id: `wf_${'0'.repeat(32)}`, workspace_id: null }
  const event = { sequence, ...job, timestamp: new Date().toISOString(), output_name: 'out', value: sequence }
  return `id: ${sequence}\nevent: output_update\ndata: ${JSON.stringify({ ...event, type: 'output_update' })}\n\n`
}

/** The milliseconds from each sending to the last arrival, for the events that `work` creates. */
async function heard(
  url: string,
  count: number,
  departures: Departures,
  work: () => Promise<void>,
): Promise<Latencies> {
  const script = fileURLToPath(new URL('audience.ts', import.meta.url))
  await using audience = runProcess(script, [url, `${count}`])
  await until('the followers', () => audience.stdout().includes('ready') || failure(audience.child.exitCode), 60_000)
  await work()
  const { stdout, stderr } = await audience.ended()
  const report = stdout.split('\n')[1]
  if (!report) throw new Error(`the followers gave no report: ${stderr}`)
  const arrivals = JSON.parse(report) as [number, number][]
  const found = arrivals.flatMap(([sequence, ms]) => (departures.has(sequence) ? [ms - departures.get(sequence)!] : []))
  if (found.length < EVENTS) throw new Error(`${EVENTS - found.length} events did not reach all followers`)
  return { first: found.slice(0, FIRST), later: found.slice(FIRST) }
}

function failure(code: number | null): false {
  if (code !== null) throw new Error(`the followers ended with ${code}`)
  return false
}

/** Milliseconds of the machine's clock. */
function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** The limit of open files and sockets of a process. */
function descriptors(): number {
  try {
    const [, limit] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))!
    return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit)
  } catch {
    return 1_024
  }
}
