// The common parts of the benchmarks of durable jobs: graphs, submissions in this process, and servers with high limits.
import { rmSync } from 'node:fs'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { JobSubmission } from '../../src/jobs/service.ts'
import { startServer, type TestServer, temporaryFolder } from '../helpers/server.ts'
import { submission } from '../jobs/kit.ts'
import { type RawDatabase, type Sample, sampleOf } from './raw.ts'

export const OWNER: OwnerScope = { user_id: '1', workspace_id: null }

/** All existing jobs may run at once. */
export const WIDE: Readonly<Record<string, string>> = {
  SVC_MAX_CONCURRENT_JOBS: '10000',
  SVC_MAX_JOBS_PER_USER: '10000',
  SVC_MAX_RUNS_PER_WORKFLOW: '10000',
  SVC_MAX_QUEUED_JOBS: '1000000',
}

/** Ends as soon as it is started: a row and ten events. */
export const ENDS_AT_ONCE = submission({ workflow_id: 'greeting', params: { name: 'Ada' } })

const edge = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
  ...{ id: `${source}-${target}`, source, sourceHandle, target, targetHandle },
})

/** Waits for a value that never comes: a row, its events, and its journal. */
export const WAITS: Graph = {
  nodes: [
    { id: 'name', type: 'input.String', data: { name: 'name' } },
    { id: 'answer', type: 'control.WaitFor', data: { name: 'answer' } },
    { id: 'text', type: 'text.Concat', data: {} },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
  ],
  edges: [
    edge('name', 'output', 'text', 'a'),
    edge('answer', 'value', 'text', 'b'),
    edge('text', 'output', 'out', 'value'),
  ],
}

/** Has `count` events and a few more: the numbers from 1 on. */
export function counting(count: number): Graph {
  return {
    nodes: [
      { id: 'numbers', type: 'control.Numbers', data: { from: 1, to: count } },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [edge('numbers', 'item', 'out', 'value')],
  }
}

/** Outputs its streamed input until the input ends. */
export const FED: Graph = {
  nodes: [
    { id: 'in', type: 'input.Integer', data: { name: 'in', stream: true } },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
  ],
  edges: [edge('in', 'output', 'out', 'value')],
}

/** A server in this process with high limits. */
export function startWide(data_dir: string): Promise<TestServer> {
  return startServer({ data_dir, environment: { ...WIDE } })
}

/** Acknowledged submissions per second. Each of `callers` submits its next job when the one before is acknowledged. */
export async function submissionsPerSecond(
  { context }: TestServer,
  of: JobSubmission,
  callers: number,
  ms: number,
): Promise<number> {
  const from = performance.now()
  let count = 0
  const caller = async () => {
    while (performance.now() - from < ms) {
      await context.runs.jobs.submit(OWNER, of).active!.accepted()
      count++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (count * 1000) / (performance.now() - from)
}

/** Inserts the same rows directly, those of `group` jobs in a transaction. */
export function rawJobsPerSecond(raw: RawDatabase, sample: Sample, group: number, ms: number): number {
  const from = performance.now()
  let count = 0
  do {
    raw.insertJobs(sample, group)
    count += group
  } while (performance.now() - from < ms)
  return (count * 1000) / (performance.now() - from)
}

/** Submits one job until it is acknowledged, and returns its stored rows. */
export async function storedSample({ context, data_dir }: TestServer, of: JobSubmission): Promise<Sample> {
  const job = context.runs.jobs.submit(OWNER, of).active!
  await job.accepted()
  await job.flushed()
  return sampleOf(data_dir, job.row.id)
}

/** Runs one job to its end. Returns its id and its number of events. */
export async function runToEnd({ context }: TestServer, graph: Graph): Promise<{ id: string; events: number }> {
  const job = context.runs.jobs.submit(OWNER, submission({ graph })).active!
  await job.settled()
  if (job.row.status !== 'completed') throw new Error(`a job ended as ${job.row.status}: ${job.row.error}`)
  return { id: job.row.id, events: job.row.last_sequence }
}

/** Runs `work` with a temporary folder. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = temporaryFolder()
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
