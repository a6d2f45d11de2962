// The requests to a server on a copy of a killed server's folder, and the parts of the answers that a restart keeps. Unfinished jobs go on.
import type { Asset, JobEvent, JobSnapshot } from '../../../generated/types.ts'
import { openReadOnlyConnection } from '../../../src/db/connection.ts'
import { type CensusRow, census, databaseOf } from '../census.ts'
import { isTerminalStatus } from '../evidence.ts'
import { exchange } from '../files/transfer.ts'
import type { Random } from '../random.ts'

/** The number of requests of each kind, in random order. */
const OF_EACH = 25

export interface StoredRecord {
  readonly path: string
  /** Whether the answer is a list, which leaves out damaged elements. */
  readonly list: boolean
  /** The part that is the same after each start. Of a list: its elements. */
  readonly lasting: (body: Buffer) => readonly string[]
}

export interface RecordAnswer {
  /** 0 for an incomplete answer. */
  readonly status: number
  /** The body of an error. */
  readonly lasting: readonly string[]
}

export function recordsOf(data_dir: string, random: Random): StoredRecord[] {
  const jobs = census(data_dir)
  const [ended, living] = [true, false].map((over) => jobs.filter(({ status }) => isTerminalStatus(status) === over))
  const { workflows, assets, files, objects } = namesIn(data_dir)
  return [
    listOf<{ id: string }>('/api/workflows', null, workflows),
    listOf<JobSnapshot>('/api/jobs?limit=200', null, new Set(jobs.map(({ id }) => id))),
    listOf<Asset>('/api/assets?page_size=200', 'assets', assets),
    ...some([...workflows], random).map((id) => whole(`/api/workflows/${id}`)),
    ...some(files, random).map((id) => whole(`/api/assets/${id}/download`)),
    ...some(objects, random).map((key) => whole(`/api/storage/${key}`)),
    ...some(ended!, random).flatMap((job) => [whole(`/api/jobs/${job.id}`), eventsOf(job)]),
    ...some(living!, random).flatMap((job) => [identityOf(job), eventsOf(job)]),
  ]
}

function some<T>(list: readonly T[], random: Random): T[] {
  const left = [...list]
  const drawn: T[] = []
  while (left.length > 0 && drawn.length < OF_EACH) drawn.push(...left.splice(random.int(0, left.length - 1), 1))
  return drawn
}

function namesIn(data_dir: string) {
  const db = openReadOnlyConnection(databaseOf(data_dir))
  const names = (sql: string) => db.prepare(sql).pluck().all() as string[]
  try {
    return {
      workflows: new Set(names('select id from workflow')),
      assets: new Set(names('select id from asset')),
      files: names('select id from asset where content_key is not null'),
      objects: names("select storage_key from object where storage_key not like 'uploads/%'"),
    }
  } finally {
    db.close()
  }
}

const json = <T>(body: Buffer) => JSON.parse(body.toString()) as T

function whole(path: string): StoredRecord {
  return { path, list: false, lasting: (body) => [body.toString('base64')] }
}

/** The elements of a list that existed at the kill. They may have changed since. */
function listOf<T extends { id?: string; job_id?: string | null }>(
  path: string,
  field: string | null,
  known: ReadonlySet<string>,
): StoredRecord {
  const lasting = (body: Buffer) => {
    const elements = field === null ? json<T[]>(body) : json<Record<string, T[]>>(body)[field]!
    return elements.map(({ id, job_id }) => id ?? job_id!).filter((id) => known.has(id))
  }
  return { path, list: true, lasting }
}

function identityOf({ id }: CensusRow): StoredRecord {
  const lasting = (body: Buffer) => {
    const { job_id, workflow_id, created_at } = json<JobSnapshot>(body)
    return [JSON.stringify({ job_id, workflow_id, created_at })]
  }
  return { path: `/api/jobs/${id}`, list: false, lasting }
}

/** The elements that existed at the kill. */
function eventsOf({ id, last_sequence }: CensusRow): StoredRecord {
  const lasting = (body: Buffer) =>
    json<JobEvent[]>(body)
      .filter(({ sequence }) => sequence <= last_sequence)
      .map((event) => JSON.stringify(event))
  return { path: `/api/jobs/${id}/events`, list: false, lasting }
}

/** The answer of a server. @throws where the server has ended */
export async function ask(url: string, { path, lasting }: StoredRecord): Promise<RecordAnswer> {
  const { status, bytes, whole } = await exchange(url, { method: 'GET', path, headers: { accept: 'application/json' } })
  if (!whole) return { status: 0, lasting: [] }
  return { status, lasting: status === 200 && bytes.length > 0 ? lasting(bytes) : [bytes.toString()] }
}
