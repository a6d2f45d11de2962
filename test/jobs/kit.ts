// Helpers for tests of jobs: graphs that wait for the test, submissions, histories, and a database that refuses writes.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { schemaValidators } from '../../generated/validators-out.js'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { JobTable } from '../../src/db/tables/jobs.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ServiceError } from '../../src/errors.ts'
import type { EventBody } from '../../src/events/types.ts'
import type { ActiveJob } from '../../src/jobs/active-job.ts'
import type { JobSubmission } from '../../src/jobs/service.ts'
import { Gate, graph, node, sink, source, withTypes } from '../engine/kit.ts'
import { startServer, type TestServer, type TestSettings, until } from '../helpers/server.ts'

export const OWNER: OwnerScope = { user_id: '1', workspace_id: null }

const waiting = (type: string): Graph =>
  graph([source('in', 'x'), node('gate', type), sink('out')], ['in.output->gate.value', 'gate.output->out.value'])

/** `in -> gate -> out`: the job runs until the test opens the gate, or until it is cancelled. */
export const gated: Graph = waiting('test.Gate')

/** `gated`, with a node that ignores a cancellation. */
export const deaf: Graph = waiting('test.Deaf')

/** `in -> out`: the job ends at its start. */
export const plain: Graph = graph([source('in', 'x'), sink('out')], ['in.output->out.value'])

export interface GatedServer extends TestServer {
  readonly gate: Gate
  /** The test must release every firing that waits here. */
  readonly deaf: Gate
}

/** A server that knows `test.Gate`, `test.Deaf` and the given node types. */
export async function startGated(settings: TestSettings & { types?: NodeType[] } = {}): Promise<GatedServer> {
  const { types = [], ...rest } = settings
  const gate = new Gate()
  const deafGate = new Gate('test.Deaf')
  const server = await startServer({ registry: withTypes(hearing(gate), deafGate.type, ...types), ...rest })
  return Object.assign(server, { gate, deaf: deafGate })
}

/** The type of the gate. Its firings end when they are cancelled. */
function hearing(gate: Gate): NodeType {
  return {
    ...gate.type,
    run(inputs, context) {
      const result = gate.type.run!(inputs, context)
      const entry = gate.waiting.at(-1)!
      context.signal.addEventListener('abort', () => gate.waiting.includes(entry) && entry.fail(context.signal.reason))
      return result
    },
  }
}

export function submission(more: Partial<JobSubmission> = {}): JobSubmission {
  return {
    workflow_id: null,
    graph: null,
    params: {},
    params_at: '/body/params',
    job_id: null,
    name: null,
    concurrent: true,
    timeout_seconds: null,
    options: { persistence: 'job', event_detail: 'full', asset_persistence: 'auto' },
    hasFollower: false,
    acceptsStreamInput: false,
    ...more,
  }
}

/** Submits a job that must be new. */
export function submit({ context }: TestServer, more: Partial<JobSubmission>, scope = OWNER): ActiveJob {
  const { active, duplicate } = context.runs.jobs.submit(scope, submission(more))
  assert.equal(duplicate, false)
  assert.ok(active)
  return active
}

/** Resolves with the row of a job once it has ended in any way. */
export function ended(
  {
    context: {
      runs: { jobs },
    },
  }: TestServer,
  id: string,
): Promise<JobTable> {
  return until('its end', async () => {
    const { row } = await jobs.get(OWNER, id)
    return row.finished_at !== null && { ...row, result: await jobs.resultText(row) }
  })
}

/** The outputs of a job. */
export function outputs(row: Pick<JobTable, 'result'>): object {
  return (JSON.parse(row.result ?? 'null') as { outputs: object }).outputs
}

/** The events of a job up to its end, each valid, their sequences without gaps from 1 on. */
export async function history({ context }: TestServer, row: JobTable): Promise<EventBody[]> {
  const events: EventBody[] = []
  for await (const { sequence, event, timestamp } of context.runs.events.follow(
    row.key,
    0,
    AbortSignal.timeout(60_000),
  )) {
    if (sequence === null || event === null) continue
    const { id: job_id, workflow_id, workspace_id } = row
    // The JSON text is what clients read: stored events have properties that live events derive while they are serialized.
    const written = JSON.parse(JSON.stringify(event)) as EventBody
    valid('JobEvent', { ...written, sequence, job_id, workflow_id, workspace_id, timestamp })
    events.push(written)
    assert.equal(sequence, events.length)
  }
  assert.equal(events.at(-1)?.type, 'job_terminal')
  return events
}

/** A short form of an event: `status running`, `node a completed`, `output out "x"`, `end failed`. */
export function words(event: EventBody): string {
  if (event.type === 'job_status')
    return `status ${event.status}${event.queue_position ? ` ${event.queue_position}` : ''}`
  if (event.type === 'node_status') return `node ${event.node_id} ${event.status}`
  if (event.type === 'job_terminal') return `end ${event.status}`
  return `output ${event.output_name} ${JSON.stringify('value' in event ? event.value : event.asset)}`
}

export function valid(schema: keyof typeof schemaValidators, value: unknown): void {
  const validate = schemaValidators[schema]
  assert.ok(validate(value), `${schema}: ${JSON.stringify(validate.errors)}\n${JSON.stringify(value)}`)
}

/** For `assert.rejects` and `assert.throws`. */
export function coded(code: ServiceError['code']): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error))
    assert.equal(error.code, code)
    return true
  }
}

/** Bytes of all job journals, without the files of large values. */
export function journalBytes(data_dir: string): number {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return db.prepare('select ifnull(sum(length(body)), 0) from job_journal').pluck().get() as number
  } finally {
    db.close()
  }
}

/** A second connection to the server's database, which can make every write of an event fail. */
export class Saboteur implements Disposable {
  readonly #db: Database.Database

  constructor({ data_dir }: Pick<TestServer, 'data_dir'>) {
    this.#db = new Database(join(data_dir, 'svc.db'))
  }

  break(): void {
    this.#db.exec("create trigger broken before insert on job_event begin select raise(abort, 'the disk is gone'); end")
  }

  mend(): void {
    this.#db.exec('drop trigger if exists broken')
  }

  [Symbol.dispose](): void {
    this.mend()
    this.#db.close()
  }
}
