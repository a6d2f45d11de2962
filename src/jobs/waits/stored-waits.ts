// What a suspended job waits for: as the row keeps it, as clients see it, and which of it a value is for.
import type { WaitingFor } from '../../../generated/types.ts'
import type { JobTable } from '../../db/schema.ts'
import type { WaitingFiring, WaitRequest } from '../../engine/durability/journal.ts'
import { isLongerAsJson } from '../../engine/node-api/values/measure.ts'
import { type Problem, ServiceError } from '../../errors.ts'

/**
 * One firing that waits. What it shows is redacted, so that nothing is judged by it: what is asked in truth, the job remembers. `firing` and
 * `until` are for the service alone.
 */
export interface StoredWait extends WaitingFor {
  firing: string
  /** Milliseconds since the epoch, or null. */
  until: number | null
}

/** Names the firing that a value is for; with neither, the only one that waits. */
export interface WaitSelector {
  readonly node_id: string | null
  readonly name: string | null
}

/**
 * In characters, of everything that one job waits for: messages and schemas, and for each firing its name, in which those of the calls are that it is
 * in. It is one column of a row, which is written, read and shown at once.
 */
const MAX_WAITS_CHARACTERS = 4_000_000

/** Whether all that is asked is more than a job may wait for at a time. */
export function areWaitsTooLarge(waiting: readonly WaitingFiring[]): boolean {
  return isLongerAsJson(waiting, MAX_WAITS_CHARACTERS)
}

/** The list as the row keeps it. */
export function toStoredWaits(waiting: readonly WaitingFiring[], redact: <T>(value: T) => T): StoredWait[] {
  return waiting.map(({ firing, node_id, request: { kind, name, message, schema, until } }) => ({
    ...redact({ name, message, schema }),
    node_id,
    kind,
    firing,
    until,
  }))
}

export function parseStoredWaits(row: JobTable): StoredWait[] {
  return row.waiting === null ? [] : (JSON.parse(row.waiting) as StoredWait[])
}

/** The list as a snapshot shows it. */
export function toPublicWaits(row: JobTable): WaitingFor[] {
  return parseStoredWaits(row).map(({ node_id, kind, name, message, schema }) => ({
    node_id,
    kind,
    name,
    message,
    schema,
  }))
}

/** The soonest end of a delay; null where nothing waits for time alone. */
export function findEarliestWake(waiting: readonly StoredWait[]): number | null {
  const ends = waiting.flatMap(({ until }) => (until === null ? [] : [until]))
  return ends.length === 0 ? null : Math.min(...ends)
}

/** A firing that waits for a value, as it is shown, with what it asks in truth. */
export interface AnswerableWait {
  readonly shown: StoredWait
  readonly node_id: string
  readonly request: Pick<WaitRequest, 'kind' | 'name' | 'schema'>
}

/** The firings that wait for a value, in their order. `recall`: what the job remembers of a firing's request. */
export function listAnswerableWaits(row: JobTable, recall: (firing: string) => WaitRequest | null): AnswerableWait[] {
  return parseStoredWaits(row)
    .filter(({ kind }) => kind !== 'delay')
    .map((shown) => ({ shown, node_id: parseNodeId(shown.firing), request: recall(shown.firing) ?? shown }))
}

/** The node of the job's own graph that a firing belongs to: its name begins with it. See firing-names.ts. */
function parseNodeId(firing: string): string {
  return JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(firing)![0]) as string
}

/**
 * The firing that a value is for. Several firings of one node inside of a stream are answered in their order. Nodes and names may be given as
 * they are or as they are shown.
 * @throws JOB_NOT_SUSPENDED where nothing waits for a value, INVALID_PARAMETERS where it is not clear which, or none is so named
 */
export function selectWait(
  all: readonly AnswerableWait[],
  { node_id, name }: WaitSelector,
  at: string,
): AnswerableWait {
  if (all.length === 0) throw new ServiceError('JOB_NOT_SUSPENDED')
  const named = all.filter(
    (one) =>
      (node_id === null || node_id === one.node_id || node_id === one.shown.node_id) &&
      (name === null || name === one.request.name || name === one.shown.name),
  )
  const [first, ...others] = named
  if (!first)
    throw createSelectorError(selectorPath(node_id, at), `No such node or name waits. These wait: ${formatWaits(all)}.`)
  if (others.some((one) => one.node_id !== first.node_id || one.request.name !== first.request.name))
    throw createSelectorError(
      `${at}/node_id`,
      `Several nodes wait; say which by node_id or name: ${formatWaits(named)}.`,
    )
  return first
}

function selectorPath(node_id: string | null, at: string): string {
  return `${at}/${node_id === null ? 'name' : 'node_id'}`
}

function createSelectorError(path: string, message: string): ServiceError {
  const problems: Problem[] = [{ path, message }]
  return new ServiceError('INVALID_PARAMETERS', { message, problems })
}

/** How many are named in a message. */
const MAX_LISTED = 10

function formatWaits(waiting: readonly AnswerableWait[]): string {
  const names = new Set(
    waiting.map(({ shown: { node_id, name } }) => (name === null ? node_id : `${node_id} (name ${name})`)),
  )
  const shown = [...names].slice(0, MAX_LISTED).join(', ')
  return names.size > MAX_LISTED ? `${shown} and ${names.size - MAX_LISTED} more` : shown
}
