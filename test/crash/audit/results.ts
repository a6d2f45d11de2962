// Compares the end of a job with its work: it has the expected outputs, and only permitted failures.
import { isDeepStrictEqual } from 'node:util'
import type { JobEvent } from '../../../generated/types.ts'
import { type Evidence, type Fault, fault, type Judge } from '../evidence.ts'
import { expected, SAFE_KINDS } from '../work.ts'
import { cutOff } from './calls.ts'

/** A job that is recovered this often without progress is given up, because it may crash the process. */
const MOST_IDLE_RECOVERIES = 20

export const judgeResult: Judge = function* (evidence) {
  const { work, snapshot } = evidence
  if (!work || !snapshot) return
  if (snapshot.status === 'completed') yield* outputs(evidence)
  if (snapshot.status === 'failed') yield* failure(evidence)
  yield* waitedFor(evidence)
  if (snapshot.status === 'cancelled' && !evidence.cancel_wanted) {
    yield fault(evidence, 'loss', 'it was cancelled, which nobody had asked for')
  }
  if (evidence.cancelled) yield* cancellation(evidence)
  if (work.kind === 'fed') yield* pushes(evidence)
}

function* outputs(evidence: Evidence): Iterable<Fault> {
  const given = evidence.snapshot!.result!.outputs
  const due = expected(evidence.work!, given).outputs
  if (isDeepStrictEqual(given, due)) return
  yield fault(
    evidence,
    'contradiction',
    `it gave ${JSON.stringify(given)}, and should have given ${JSON.stringify(due)}`,
  )
}

/** A caller that waited for the result got the stored one. */
function* waitedFor(evidence: Evidence): Iterable<Fault> {
  const { result, snapshot } = evidence
  if (!result) return
  const stored = snapshot!.result?.outputs ?? {}
  if (result.status !== snapshot!.status || !isDeepStrictEqual(result.outputs, stored)) {
    yield fault(
      evidence,
      'contradiction',
      `the run was answered with ${result.status} ${JSON.stringify(result.outputs)}`,
    )
  }
}

/** Only interrupted nodes that are unsafe to repeat may fail, and nodes that are meant to fail. */
function* failure(evidence: Evidence): Iterable<Fault> {
  const { kind } = evidence.work!
  const { type, node_id, message } = evidence.snapshot!.error!
  if (['flaky', 'stumbling'].includes(kind) && node_id === 'flaky' && type !== 'node_interrupted') return
  // A lack of disk space is reported as such, and the job may be retried.
  if (type === 'unavailable' && evidence.short) return
  if (type === 'interrupted' && lastRecoveries(evidence.log) === MOST_IDLE_RECOVERIES) return
  if (type !== 'node_interrupted' || node_id === null) {
    return yield fault(evidence, 'loss', `it failed at ${node_id}: ${type}, ${message}`)
  }
  if (SAFE_KINDS.has(kind)) yield fault(evidence, 'loss', `it was given up at ${node_id}, which is safe to run again`)
  else if (cutOff(evidence, node_id) === false) {
    yield fault(evidence, 'loss', `it was given up at ${node_id}, which no kill cut off`)
  }
}

/** How often in a row the job was recovered at last before its end, without other events between. */
function lastRecoveries(log: readonly JobEvent[]): number {
  const moves = log.map((event) => (event.type === 'job_status' ? event.status : null)).slice(0, -1)
  const last = moves.slice(moves.findLastIndex((status) => status !== 'recovering' && status !== 'running') + 1)
  return last.filter((status) => status === 'recovering').length
}

/** An acknowledged cancellation leaves a trace: the job is cancelled, or its log has the request. */
function* cancellation(evidence: Evidence): Iterable<Fault> {
  const { log, snapshot, seen } = evidence
  const asked = log.some((event) => event.type === 'job_status' && event.status === 'cancel_requested')
  const over = seen.some(({ status }) => ['completed', 'failed', 'cancelled'].includes(status))
  if (snapshot!.status !== 'cancelled' && !asked && !over) {
    yield fault(
      evidence,
      'loss',
      `its cancellation was acknowledged, and it ${snapshot!.status} without a trace of that`,
    )
  }
}

/** Every acknowledged value appears exactly once and in order. A value without an acknowledgement appears at most once. */
function* pushes(evidence: Evidence): Iterable<Fault> {
  const { snapshot, pushed, maybe_pushed } = evidence
  if (snapshot!.status !== 'completed') return
  const { echo = [] } = snapshot!.result!.outputs as { echo?: unknown[] }
  const came = echo.map(String)
  const lost = pushed.filter((value) => !came.includes(value))
  if (lost.length > 0) yield fault(evidence, 'loss', `of the values that were sent, ${lost} are missing`)
  const twice = came.filter((value, at) => came.indexOf(value) !== at)
  if (twice.length > 0) yield fault(evidence, 'double', `of the values that were sent, ${twice} came twice`)
  const strange = came.filter((value) => !pushed.includes(value) && !maybe_pushed.includes(value))
  if (strange.length > 0) yield fault(evidence, 'contradiction', `${strange} were never sent`)
  const order = pushed.filter((value) => came.includes(value))
  if (
    !isDeepStrictEqual(
      came.filter((value) => pushed.includes(value)),
      order,
    )
  ) {
    yield fault(evidence, 'contradiction', `the values came as ${came}`)
  }
}
