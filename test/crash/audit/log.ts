// Checks the log of a job, and compares it with its snapshots: no gap, one end, legal states, and states that match their events.
import { isDeepStrictEqual } from 'node:util'
import { type Evidence, type Fault, fault, isTerminalStatus, type Judge, outputsUpTo, statusAt } from '../evidence.ts'
import { STREAMS } from '../work.ts'

const END = ['completed', 'failed', 'cancelled']

/** The legal successors of each public status. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  '': ['accepted'],
  accepted: ['queued', 'running', 'cancelled', 'failed'],
  queued: ['running', 'cancelled', 'failed'],
  running: ['suspended', 'recovering', 'cancel_requested', ...END],
  suspended: ['running', 'queued', 'recovering', 'cancel_requested', 'cancelled', 'failed'],
  recovering: ['recovering', 'running', 'queued', 'suspended', 'cancel_requested', ...END],
  cancel_requested: END,
}

export const judgeLog: Judge = function* (evidence) {
  const { snapshot, log, acknowledged } = evidence
  if (!snapshot) {
    if (acknowledged) yield fault(evidence, 'loss', 'it was acknowledged, and there is no such job')
    return
  }
  // No client answers a job whose submission it does not know.
  if (!isTerminalStatus(snapshot.status) && (acknowledged || snapshot.status !== 'suspended')) {
    yield fault(evidence, 'loss', `it never ended: it is ${snapshot.status} after ${snapshot.last_sequence} events`)
  }
  yield* sequences(evidence)
  yield* states(evidence)
  const ends = log.filter(({ type }) => type === 'job_terminal')
  if (ends.length > 1) yield fault(evidence, 'double', `it ended ${ends.length} times`)
  if (isTerminalStatus(snapshot.status)) yield* end(evidence)
  if (snapshot.status === 'completed') yield* outputs(evidence)
  yield* snapshots(evidence)
}

function* sequences(evidence: Evidence): Iterable<Fault> {
  const { log, snapshot } = evidence
  let last = 0
  for (const { sequence } of log) {
    if (sequence > last + 1) yield fault(evidence, 'gap', `after event ${last} comes ${sequence}`)
    if (sequence <= last) yield fault(evidence, 'double', `after event ${last} comes ${sequence}`)
    last = sequence
  }
  if (snapshot && snapshot.last_sequence !== last) {
    yield fault(evidence, 'gap', `its log ends with ${last}, its snapshot says ${snapshot.last_sequence}`)
  }
}

function* states(evidence: Evidence): Iterable<Fault> {
  let status = ''
  for (const event of evidence.log) {
    if (event.type !== 'job_status' && event.type !== 'job_terminal') continue
    if (!NEXT[status]?.includes(event.status)) {
      yield fault(evidence, 'contradiction', `it went from ${status || 'nothing'} to ${event.status}`)
    }
    status = event.status
  }
}

function* end(evidence: Evidence): Iterable<Fault> {
  const { log, snapshot } = evidence
  const last = log.at(-1)
  if (last?.type !== 'job_terminal') return yield fault(evidence, 'gap', 'its log does not end with its end')
  if (!isDeepStrictEqual(last.snapshot, snapshot)) {
    yield fault(evidence, 'contradiction', 'its last event tells of another end than its snapshot')
  }
}

/** For each output, the events contain the values of the manifest. */
function* outputs(evidence: Evidence): Iterable<Fault> {
  const { log, snapshot } = evidence
  const told = outputsUpTo(log, Number.POSITIVE_INFINITY)
  const stored = (snapshot?.result?.outputs ?? {}) as Record<string, unknown>
  for (const name of new Set([...told.keys(), ...Object.keys(stored)])) {
    const values = told.get(name) ?? []
    if (!STREAMS.has(name) && values.length > 1) {
      yield fault(evidence, 'double', `the output ${name} was given ${values.length} times`)
    }
    const whole = STREAMS.has(name) ? values : values.at(-1)
    if (!isDeepStrictEqual(whole, stored[name])) {
      const both = `${JSON.stringify(whole)} by its events, ${JSON.stringify(stored[name])} by its manifest`
      yield fault(evidence, 'contradiction', `the output ${name} is ${both}`)
    }
  }
}

/** All earlier answers agree with the log. A terminal status that was served once never changes. */
function* snapshots(evidence: Evidence): Iterable<Fault> {
  const { log, snapshot, seen } = evidence
  for (const one of seen) {
    const by = statusAt(log, one.last_sequence)
    if (by !== one.status) {
      yield fault(
        evidence,
        'contradiction',
        `it was shown as ${one.status} at ${one.last_sequence}, where its log has ${by}`,
      )
    }
    if (isTerminalStatus(one.status) && !isDeepStrictEqual(one, snapshot)) {
      yield fault(evidence, 'contradiction', `it was shown as ${one.status}, and is something else now`)
    }
  }
}
