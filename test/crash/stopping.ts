// Stops a server while clients go on submitting. A refusal that names no job must mean that nothing is stored; otherwise an obedient client
// runs the job twice. The server is killed where it takes too long.
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobSnapshot, RunResult } from '../../generated/types.ts'
import type { Answer, ErrorBody } from '../helpers/http.ts'
import type { Deck } from './deck.ts'
import type { KindName } from './graphs.ts'
import { type Door, TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'
import type { Random } from './random.ts'
import type { WatchingSocket } from './sockets.ts'
import { refused, refusedBySocket } from './submit.ts'

/** Kinds of jobs that need no further client action. */
const KINDS: readonly KindName[] = ['fast', 'reading', 'writing', 'each_reading']
/** Milliseconds between two submissions. */
const EVERY_MS = 50
/** How long the server may take to stop, in milliseconds. */
const SHORTEST_MS = 150
const LONGEST_MS = 5_000

const DOORS: readonly Door[] = ['http', 'run', 'socket', 'retry']

/** Tells the server to stop, and goes on submitting until it has ended or is killed. Returns the time of the signal. */
export async function stopUnderLoad(life: Life, deck: Deck, socket: WatchingSocket, random: Random): Promise<number> {
  const limit = random.int(SHORTEST_MS, LONGEST_MS)
  const under_way = new Set<Promise<void>>()
  const submit = (door: Door) => {
    const one = submitted(life, deck, socket, random, door)
      .catch((error) => life.ledger.complain(`a submission to a server that stops: ${error}`))
      .finally(() => under_way.delete(one))
    under_way.add(one)
  }
  const gone = { yet: false }
  const ended = life.server.ended().then(() => {
    gone.yet = true
  })
  // Some submissions are under way when the signal comes.
  for (const door of DOORS) submit(door)
  const at = Date.now()
  life.terminate()
  while (!gone.yet && Date.now() - at < limit) {
    submit(DOORS[random.int(0, DOORS.length - 1)]!)
    await Promise.race([sleep(EVERY_MS), ended])
  }
  life.server.kill('SIGKILL')
  await life.settle()
  await Promise.all(under_way)
  return at
}

async function submitted(life: Life, deck: Deck, socket: WatchingSocket, random: Random, door: Door): Promise<void> {
  if (door === 'retry') return retried(life, random)
  const kind = KINDS[random.int(0, KINDS.length - 1)]!
  // A client that waits for the result learns of the job only then. The job is followed like one in the background.
  const job = deck.make(kind, door === 'run' ? 'http' : door)
  if (door === 'socket') return overSocket(life, job, socket)
  const background = door === 'http'
  const path = `/api/workflows/${life.ledger.workflows.get(kind)}/run`
  const answer = await life.request<RunResult & ErrorBody>('POST', path, {
    body: { params: job.work.params, background },
  })
  take(life, job, answer)
}

/** Retries a failed job, if there is one. */
async function retried(life: Life, random: Random): Promise<void> {
  const failed = life.ledger.jobs.find(
    (job) => job.sse.status === 'failed' && !job.cancel_wanted && job.retried_at === null,
  )
  if (!failed) return
  failed.retried_at = Date.now()
  const next = new TrackedJob(failed.work, 'retry', random.fork('retry'), failed)
  life.ledger.track(next)
  const answer = await life.request<JobSnapshot & ErrorBody>('POST', `/api/jobs/${failed.job_id}/retry`)
  if (!answer) failed.shadowed = true
  take(life, next, answer)
}

function take(life: Life, job: TrackedJob, answer: Answer<{ job_id?: string }> | null): void {
  if (!answer) life.ledger.lost++
  else if (answer.status >= 300) refused(life, job, answer)
  else {
    job.job_id = answer.body.job_id!
    job.acknowledged = true
  }
}

async function overSocket(life: Life, job: TrackedJob, { client }: WatchingSocket): Promise<void> {
  const job_id = job.job_id!
  if (!client.open) return
  const request_id = `run-${job_id}`
  client.command(
    'run_job',
    { job_id, workflow_id: life.ledger.workflows.get(job.work.kind), params: job.work.params },
    request_id,
  )
  const frame = await client
    .next((one) => one.job_id === job_id && (one.request_id === request_id || one.type !== undefined))
    .catch(() => null)
  if (frame === null) return
  if (frame.request_id === request_id) job.acknowledged = true
  else refusedBySocket(life, job, frame)
}
