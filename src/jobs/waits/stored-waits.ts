// The wait requests of a suspended job, as its row stores them and as clients see them. An answer selects one of them.
import type { WaitingFor } from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { WaitingFiring, WaitRequest } from '../../engine/durability/journal.ts'
import { isLongerAsJson } from '../../engine/node-api/values/json-length.ts'
import { type Problem, ServiceError } from '../../errors.ts'

/**
 * One waiting firing. Its texts are redacted, so values are validated against the request in the journal instead. Clients do not see `firing` and
 * `until`.
 */
export interface StoredWait extends WaitingFor {
  firing: string
  /** Milliseconds since the epoch, or null. */
  until: number | null
}

/** Selects the firing that a value is for; without node and name, the only waiting firing. */
export interface WaitSelector {
  readonly node_id: string | null
  readonly name: string | null
}

/**
 * Characters of all wait requests of a job: messages, schemas, and the names of firings, which include the names of their callers. They are one column of
 * a row, which is written, read and shown at once.
 */
const MAX_WAITS_CHARACTERS = 4_000_000

/** Whether the wait requests are larger than one job may have. */
export function areWaitsTooLarge(waiting: readonly WaitingFiring[]): boolean {
  return isLongerAsJson(waiting, MAX_WAITS_CHARACTERS)
}

/** The wait requests in the form of the row. */
function toStoredWaits(waiting: readonly WaitingFiring[], redact: <T>(value: T) => T): StoredWait[] {
  return waiting.map(({ firing, node_id, request: { kind, name, message, schema, until } }) => ({
    ...redact({ name, message, schema }),
    node_id,
    kind,
    firing,
    until,
  }))
}

/** Stores wait requests in the row. `deadline`: the end of the time limit, when the job wakes as well. */
export function setWaits(
  row: JobTable,
  waiting: readonly WaitingFiring[],
  redact: <T>(value: T) => T,
  deadline: number | null,
): void {
  const waits = toStoredWaits(waiting, redact)
  const wakes = [...waits.map(({ until }) => until), deadline].filter((time) => time !== null)
  row.waiting = JSON.stringify(waits)
  row.wake_at = wakes.length === 0 ? null : Math.ceil(Math.min(...wakes))
}

export function clearWaits(row: JobTable): void {
  row.waiting = null
  row.wake_at = null
}

export function parseStoredWaits(row: JobTable): StoredWait[] {
  return row.waiting === null ? [] : (JSON.parse(row.waiting) as StoredWait[])
}

/** The wait requests in the form of a snapshot. */
export function toPublicWaits(row: JobTable): WaitingFor[] {
  return parseStoredWaits(row).map(({ node_id, kind, name, message, schema }) => ({
    node_id,
    kind,
    name,
    message,
    schema,
  }))
}

/** A firing that waits for a value, in its redacted form, with the unredacted request. */
export interface AnswerableWait {
  readonly shown: StoredWait
  readonly node_id: string
  readonly request: Pick<WaitRequest, 'kind' | 'name' | 'schema'>
}

/** The firings that wait for a value, in their order. `recall` reads the request of a firing from the journal. */
export function listAnswerableWaits(row: JobTable, recall: (firing: string) => WaitRequest | null): AnswerableWait[] {
  return parseStoredWaits(row)
    .filter(({ kind }) => kind !== 'delay')
    .map((shown) => ({ shown, node_id: parseNodeId(shown.firing), request: recall(shown.firing) ?? shown }))
}

/** The node of the job's own graph that a firing belongs to, whose JSON text begins the name. See `RunJournal`. */
function parseNodeId(firing: string): string {
  return JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(firing)![0]) as string
}

/**
 * Selects the firing that a value is for. Several firings of one node inside of a stream are answered in their order. Nodes and names may be given in their
 * original or their redacted form.
 * @throws JOB_NOT_SUSPENDED where no firing waits for a value, INVALID_PARAMETERS where the selection is ambiguous or matches nothing
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
    throw createSelectorError(
      selectorPath(node_id, at),
      `No waiting node has this node_id or name. Waiting: ${formatWaits(all)}.`,
    )
  if (others.some((one) => one.node_id !== first.node_id || one.request.name !== first.request.name))
    throw createSelectorError(
      `${at}/node_id`,
      `Several nodes wait: choose one by node_id or name: ${formatWaits(named)}.`,
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

/** A message names at most this many waiting nodes. */
const MAX_LISTED = 10

function formatWaits(waiting: readonly AnswerableWait[]): string {
  const names = new Set(
    waiting.map(({ shown: { node_id, name } }) => (name === null ? node_id : `${node_id} (name ${name})`)),
  )
  const shown = [...names].slice(0, MAX_LISTED).join(', ')
  return names.size > MAX_LISTED ? `${shown} and ${names.size - MAX_LISTED} more` : shown
}
