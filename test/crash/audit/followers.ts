// Compares the followers' events with the log: each follower got each event exactly once, without a gap.
import { canonical, type Evidence, type Fault, fault, isTerminalStatus, type Judge, type Tape } from '../evidence.ts'

export const judgeFollowers: Judge = function* (evidence) {
  for (const tape of evidence.tapes) yield* judgeTape(evidence, tape)
}

function* judgeTape(evidence: Evidence, tape: Tape): Iterable<Fault> {
  const { log, snapshot } = evidence
  const { follower, events, whole } = tape
  const stored = new Map(log.map((event) => [event.sequence, event]))
  let last = 0
  for (const event of events) {
    const { sequence } = event
    if (sequence > last + 1) yield fault(evidence, 'gap', `${follower} got ${sequence} after ${last}`)
    if (sequence <= last) yield fault(evidence, 'double', `${follower} got ${sequence} after ${last}`)
    last = Math.max(last, sequence)
    const kept = stored.get(sequence)
    if (!kept) yield fault(evidence, 'loss', `${follower} was told of event ${sequence}, which is gone`)
    else if (canonical(kept) !== canonical(event)) {
      yield fault(evidence, 'contradiction', `${follower} was told another event ${sequence} than the log has`)
    }
  }
  const ended = snapshot && isTerminalStatus(snapshot.status)
  if (whole && ended && last < snapshot.last_sequence) {
    yield fault(evidence, 'gap', `${follower} was told ${last} events of ${snapshot.last_sequence}`)
  }
}
