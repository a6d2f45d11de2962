// Compares the witness's calls with the log: no finished work ran again, and unsafe calls were not repeated.

import { sha256 } from '../../../src/shared/hashes.ts'
import { answerTo, type CallRecord } from '../counter.ts'
import { type Evidence, type Fault, fault, isTerminalStatus, type Judge } from '../evidence.ts'
import { largeOf } from '../large.ts'
import { expected, possibleCalls } from '../work.ts'

export const judgeCalls: Judge = function* (evidence) {
  const { work, calls } = evidence
  if (!work) return
  const possible = new Set(possibleCalls(work).map(({ method, path }) => `${method} ${path}`))
  const proofs = finishedAt(evidence)
  for (const [key, list] of byKey(calls)) {
    if (!possible.has(key)) yield fault(evidence, 'contradiction', `it made a call that nothing asks for: ${key}`)
    yield* repeated(evidence, key, list)
    const proof = proofs.get(key)
    const again = proof === undefined ? undefined : list.find(({ begun_at }) => begun_at > proof)
    if (again) yield fault(evidence, 'double', `${key} had finished, and ran again ${again.begun_at - proof!} ms later`)
  }
  yield* outside(evidence)
  yield* missing(evidence)
  yield* reused(evidence)
}

/** A firing has one call. It may have a second one only after a kill, and only where the call is safe to repeat. */
function* repeated(evidence: Evidence, key: string, list: readonly CallRecord[]): Iterable<Fault> {
  if (key.startsWith('POST') && list.length > 1) {
    yield fault(evidence, 'double', `${key} is not safe to run twice, and ran ${list.length} times`)
  }
  for (const [index, { begun_at }] of list.entries()) {
    const before = list[index - 1]?.begun_at
    if (before === undefined || evidence.kills.some(({ at, until }) => before <= until && at <= begun_at)) continue
    yield fault(evidence, 'double', `${key} ran twice without a kill in between`)
  }
}

/** The delay in milliseconds that a request may have on its way to the witness, besides the witness's own waits for a processor. */
const ON_THE_WAY = 500

/**
 * Calls are made while the job runs: neither before its first start nor after its end. Some safe calls depend on no other call. They do not
 * wait for the commit of the start, which a strike on another job may delay for a second and more. Where a kill found the job in the queue,
 * earlier calls belong to a start that was never stored. So may one that the kill interrupted. Where a kill found no such job, earlier
 * calls belong to a submission that was never stored, and was sent again.
 */
function* outside(evidence: Evidence): Iterable<Fault> {
  const { log, kills } = evidence
  const start = log.find((event) => event.type === 'job_status' && event.status === 'running')
  const end = log.find(({ type }) => type === 'job_terminal')
  const calls = evidence.calls.filter(
    ({ method, begun_at }) =>
      method === 'POST' ||
      !kills.some(({ at, until, status }) => begun_at <= until && (isUnstarted(status) || begun_at >= at - ON_THE_WAY)),
  )
  const [first] = calls
  if (first && end && !start) yield fault(evidence, 'contradiction', 'it never ran, and made a call')
  if (first && start && first.begun_at < Date.parse(start.timestamp)) {
    yield fault(evidence, 'contradiction', 'it made a call before it ran')
  }
  const late = end && calls.find(({ since }) => since > Date.parse(end.timestamp) + ON_THE_WAY)
  if (late) yield fault(evidence, 'contradiction', `it had ended, and called ${late.path}`)
}

/** The calls of a job that is stored but not started, as far as the database shows. */
const UNSTARTED = ['scheduled', 'pending', 'queued']

/** Whether the database after a kill has no start of the job, or no job. */
function isUnstarted(status: string | null): boolean {
  return status === null || UNSTARTED.includes(status)
}

/** A completed job has made each of its calls, itself or in the job that it retries. */
function* missing(evidence: Evidence): Iterable<Fault> {
  const { work, snapshot } = evidence
  if (!work || snapshot?.status !== 'completed' || evidence.shadowed) return
  const made = new Set<string>()
  for (let one: Evidence | null = evidence; one; one = one.retry_of) {
    for (const { method, path } of one.calls) made.add(`${method} ${path}`)
  }
  for (const { method, path } of expected(work, snapshot.result?.outputs).calls) {
    if (!made.has(`${method} ${path}`)) yield fault(evidence, 'loss', `it completed without ${method} ${path}`)
  }
}

/** A retry does not repeat the finished work of its job. */
function* reused(evidence: Evidence): Iterable<Fault> {
  for (let one = evidence.retry_of; one; one = one.retry_of) {
    const proofs = finishedAt(one, ['completed'])
    for (const key of byKey(evidence.calls).keys()) {
      if (proofs.has(key))
        yield fault(evidence, 'double', `${key} had finished in the job that was retried, and ran again`)
    }
  }
}

function byKey(calls: readonly CallRecord[]): Map<string, CallRecord[]> {
  const keys = new Map<string, CallRecord[]>()
  for (const one of calls) {
    const key = `${one.method} ${one.path}`
    keys.set(key, [...(keys.get(key) ?? []), one])
  }
  return keys
}

/** The path parts of calls that depend on this one. */
function carried({ method, path }: CallRecord): string {
  const text = answerTo(method, path)
  return path.includes('/big/') ? sha256(largeOf(text)) : text
}

/**
 * Calls that have certainly finished, and since when. The log then has a result that depends on them, or a later call carries their answer.
 * No call is made before the results that it depends on are durable.
 */
export function finishedAt(
  evidence: Evidence,
  endings: readonly string[] = ['completed', 'failed'],
): Map<string, number> {
  const answers = new Map(evidence.calls.map((one) => [carried(one), `${one.method} ${one.path}`]))
  const since = new Map<string, number>()
  const prove = (key: string | undefined, at: number): void => {
    if (key !== undefined && at < (since.get(key) ?? Number.POSITIVE_INFINITY)) since.set(key, at)
  }
  for (const { path, begun_at } of evidence.calls) prove(answers.get(path.split('/')[3]!), begun_at)
  for (const event of evidence.log) {
    const at = Date.parse(event.timestamp)
    if (event.type === 'output_update') for (const text of textsOf(event)) prove(answers.get(text), at)
    if (event.type !== 'node_status' || !endings.includes(event.status)) continue
    for (const one of evidence.calls) {
      if (one.path.split('/')[2] === event.node_id) prove(`${one.method} ${one.path}`, at)
    }
  }
  return since
}

function textsOf(event: object): string[] {
  const value = 'value' in event ? event.value : null
  return (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === 'string')
}

/** Whether a kill may have interrupted an unsafe call of this node. Null where the call had not reached the witness. */
export function cutOff(evidence: Evidence, node_id: string): boolean | null {
  const node = node_id === 'call' ? 'quick' : node_id
  const proofs = finishedAt(evidence, ['completed'])
  const open = possibleCalls(evidence.work!).filter(
    ({ method, path }) => method === 'POST' && path.split('/')[2] === node && !proofs.has(`POST ${path}`),
  )
  const begun = evidence.calls.filter(({ path }) => open.some((one) => one.path === path))
  if (begun.some(({ begun_at }) => evidence.kills.some(({ until }) => until >= begun_at))) return true
  const killed = evidence.kills.some(({ status }) => status !== null && !isTerminalStatus(status))
  return open.length > 0 && killed ? null : false
}
