// Compares the frames of a socket with the log. Frames have no sequence, so they
// are compared with the events that the log requires from there on.
import type { JobEvent } from '../../../generated/types.ts'
import type { Frame } from '../../helpers/socket.ts'
import {
  canonical,
  type Evidence,
  type Fault,
  fault,
  isTerminalStatus,
  type Judge,
  outputsUpTo,
  type SocketTape,
  statusAt,
} from '../evidence.ts'
import { STREAMS } from '../work.ts'

export const judgeSockets: Judge = function* (evidence) {
  for (const tape of evidence.sockets) {
    const [first] = tape.frames
    const resumed = first?.type === 'job_resumed'
    const from = resumed ? Number(first.last_sequence) : 0
    const answer = resumed ? answerLength(tape.frames) : 0
    if (resumed) yield* present(evidence, tape, from, tape.frames.slice(1, answer))
    if (resumed) yield* untold(evidence, tape, from, answer)
    yield* onward(evidence, tape, from, tape.frames.slice(answer))
  }
}

/**
 * Returns the number of frames about the current state: `job_resumed`, one
 * `job_update`, outputs to replace. The update of an ended job follows these.
 */
function answerLength(frames: readonly Frame[]): number {
  let length = hasEnded(frames[0]!) ? 1 : Math.min(2, frames.length)
  while (frames[length]?.type === 'output_update' && frames[length]!.disposition === 'replace') length++
  return hasEnded(frames[0]!) ? Math.min(length + 1, frames.length) : length
}

function hasEnded({ status }: Frame): boolean {
  return typeof status === 'string' && isTerminalStatus(status)
}

/** The state and the changed outputs in the answer to a `reconnect_job`. The answer may be incomplete. */
function* present(evidence: Evidence, tape: SocketTape, at: number, frames: readonly Frame[]): Iterable<Fault> {
  const updates = frames.filter(({ type }) => type === 'job_update')
  const replaced = frames.filter(({ type }) => type !== 'job_update')
  const { log } = evidence
  const status = socketStatus(statusAt(log, at))
  for (const update of updates) {
    if (update.status === status) continue
    yield fault(evidence, 'contradiction', `${tape.socket} was told ${update.status} at ${at}, where it is ${status}`)
  }
  const values = outputsUpTo(log, at)
  for (const { output_name, value } of replaced) {
    const name = String(output_name)
    const list = values.get(name) ?? []
    if (canonical(value) !== canonical(STREAMS.has(name) ? joined(list) : list.at(-1))) {
      yield fault(evidence, 'contradiction', `${tape.socket} was told ${name} = ${JSON.stringify(value)} at ${at}`)
    }
  }
}

/** Outputs that changed since the requested sequence, if the answer went on beyond them, or to the end of the job. */
function* untold(evidence: Evidence, { socket, asked, frames }: SocketTape, at: number, told: number): Iterable<Fault> {
  const end = frames.slice(1, told).find((frame) => frame.type === 'job_update' && hasEnded(frame))
  if (asked === null || (frames.length <= told && !end)) return
  const names = new Set(frames.slice(1, told).map(({ output_name }) => output_name))
  for (const event of evidence.log) {
    if (event.type !== 'output_update' || event.sequence <= asked || event.sequence > at) continue
    if (!names.has(event.output_name))
      yield fault(evidence, 'gap', `${socket} was not told ${event.output_name} at ${at}`)
  }
}

/** A streamed text arrives joined. */
function joined(list: readonly unknown[]): unknown {
  return list.every((one) => typeof one === 'string') ? list.join('') : list
}

/** The later frames match the log after `from`, in order, as far as the socket lived. */
function* onward(evidence: Evidence, tape: SocketTape, from: number, frames: readonly Frame[]): Iterable<Fault> {
  const due = evidence.log.filter(({ sequence }) => sequence > from).flatMap(wordsOf)
  const came = frames.flatMap(wordsOfFrame)
  const at = came.findIndex((words, index) => words !== due[index])
  if (at < 0 && tape.whole && came.length < due.length) {
    yield fault(evidence, 'gap', `${tape.socket} was sent ${came.length} of ${due.length} frames after ${from}`)
  }
  if (at < 0) return
  const kind = due.indexOf(came[at]!, at) > at ? 'gap' : came.indexOf(came[at]!) < at ? 'double' : 'contradiction'
  const where = `frame ${at} after ${from}`
  yield fault(evidence, kind, `${tape.socket}, ${where}: ${short(came[at])} came, ${short(due[at])} was due`)
}

function short(words: string | undefined): string {
  return words === undefined ? 'nothing' : words.slice(0, 120)
}

/** Returns an event as sockets show it. Queue positions come at any time, so they are ignored. */
function wordsOf(event: JobEvent): string[] {
  if (event.type === 'output_update')
    return [`output ${event.output_name} ${canonical('value' in event && event.value)}`]
  if (event.type === 'node_status') return event.status === 'pending' ? [] : [`node ${event.node_id} ${event.status}`]
  if (event.type === 'job_terminal') return [`job ${event.status}`]
  return event.status === 'running' || event.status === 'suspended' ? [`job ${event.status}`] : []
}

function wordsOfFrame(frame: Frame): string[] {
  if (frame.type === 'output_update') return [`output ${frame.output_name} ${canonical(frame.value)}`]
  if (frame.type === 'node_update')
    return [`node ${frame.node_id} ${frame.status === 'error' ? 'failed' : frame.status}`]
  return frame.type === 'job_update' && frame.status !== 'queued' ? [`job ${frame.status}`] : []
}

function socketStatus(status: string | null): string | null {
  if (status === 'accepted') return 'queued'
  return status === 'recovering' || status === 'cancel_requested' ? 'running' : status
}
