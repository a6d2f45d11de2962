// Collects the evidence at the end of a run: every known or stored job with its last state, its whole log and its saved assets.
import type { JobEvent, JobSnapshot } from '../../generated/types.ts'
import type { CensusRow } from './census.ts'
import type { Evidence } from './evidence.ts'
import { type SavedAsset, savedAssets } from './files/saved.ts'
import type { TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'

type End = Pick<Evidence, 'snapshot' | 'log' | 'saved'>

/** The number of jobs that are read at once. */
const AT_ONCE = 8

export async function gather(life: Life, stored: readonly CensusRow[]): Promise<Evidence[]> {
  const { ledger } = life
  const found = new Map<TrackedJob, Evidence>()
  const saved = await savedAssets(life.server.url)
  for (const { job_id } of saved)
    if (!stored.some(({ id }) => id === job_id)) ledger.complain(`an asset is of the job ${job_id}, which there is not`)
  const known = ledger.jobs.filter(({ job_id }) => job_id !== null)
  const ids = new Set(known.map(({ job_id }) => job_id))
  await each(known, async (job) => void found.set(job, ledger.evidence(job, await endOf(life, job.job_id!, saved))))
  const strangers: Evidence[] = []
  const unknown = stored.filter(({ id }) => !ids.has(id))
  await each(unknown, async ({ id }) => void strangers.push(strangerOf(id, await endOf(life, id, saved))))
  // A job that retries another one comes after it.
  for (const job of known) {
    if (job.retry_of) found.set(job, { ...found.get(job)!, retry_of: found.get(job.retry_of)! })
  }
  // A submission over the socket without acknowledgement and without a job was never accepted.
  return [...found.values(), ...strangers].filter(({ acknowledged, snapshot }) => acknowledged || snapshot)
}

async function endOf(life: Life, job_id: string, saved: readonly SavedAsset[]): Promise<End> {
  const snapshot = await read<JobSnapshot>(life, `/api/jobs/${job_id}`)
  const log = (snapshot && (await read<JobEvent[]>(life, `/api/jobs/${job_id}/events`))) ?? []
  return { snapshot, log, saved: saved.filter((one) => one.job_id === job_id) }
}

async function read<T>(life: Life, path: string): Promise<T | null> {
  try {
    const answer = await life.request<T>('GET', path, { headers: { accept: 'application/json' } })
    if (answer?.status === 200) return answer.body
    if (answer?.status !== 404) life.ledger.complain(`${path} was answered with ${answer?.status}`)
  } catch (error) {
    life.ledger.complain(`${path} cannot be read: ${error}`)
  }
  return null
}

/** A job whose submission was interrupted. It must be complete nevertheless. */
function strangerOf(job_id: string, end: End): Evidence {
  return {
    ...end,
    job_id,
    work: null,
    acknowledged: false,
    result: null,
    seen: [],
    tapes: [],
    sockets: [],
    calls: [],
    pushed: [],
    maybe_pushed: [],
    kills: [],
    cancelled: false,
    cancel_wanted: false,
    retry_of: null,
    shadowed: false,
    short: false,
  }
}

async function each<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...list]
  const worker = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
