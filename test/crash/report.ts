// The verdict on a run, in figures and in words.
import { cannotMount } from '../db/kit.ts'
import { cutOff, judgeCalls } from './audit/calls.ts'
import { coverage, type WayName } from './audit/coverage.ts'
import { judgeFollowers } from './audit/followers.ts'
import { judgeLog } from './audit/log.ts'
import { judgeResult } from './audit/results.ts'
import { judgeSaved } from './audit/saved.ts'
import { judgeSockets } from './audit/sockets.ts'
import type { DamageTrials } from './damage/trials.ts'
import type { Evidence, Fault, FaultKind, Judge } from './evidence.ts'
import type { FileWays, Shelf } from './files/shelf.ts'
import type { Ledger } from './ledger.ts'

const JUDGES: readonly Judge[] = [judgeLog, judgeFollowers, judgeSockets, judgeCalls, judgeResult, judgeSaved]

/** The share of the kills that must find a running job. */
const LEAST_HITS = 0.9

/** Whether small disks can be created here, or are expected. */
const canFill = cannotMount === false

/** How many nodes may be given up without a call: a few, and a share of all nodes that were given up. */
const FEW = 3
const SOME = 0.2

export interface Findings {
  readonly kills: number
  readonly hits: number
  readonly seed: string
  readonly seconds: number
  readonly evidence: readonly Evidence[]
  readonly ledger: Ledger
  readonly shelf: Pick<Shelf, 'faults' | 'ways'>
  readonly damages: Pick<DamageTrials, 'faults' | 'tally'>
  /** Faults of the database and the folder. */
  readonly faults: readonly Fault[]
}

export interface Report {
  /** Why the run failed, one line each. Empty where it is sound. */
  readonly wrong: readonly string[]
  /** Paths that the run never took. With few kills chance may miss some, and an untested path proves nothing. */
  readonly missed: readonly string[]
  readonly faults: readonly Fault[]
  readonly evidence: readonly Evidence[]
  readonly ways: Readonly<Record<WayName | keyof FileWays | keyof Ledger['ways'] | 'a damaged copy was opened', number>>
  readonly summary: string
}

export function judge(evidence: Evidence): Fault[] {
  return JUDGES.flatMap((one) => [...one(evidence)])
}

export function report(findings: Findings): Report {
  const { kills, hits, evidence, ledger, shelf, damages } = findings
  const own = [...shelf.faults, ...damages.faults, ...findings.faults]
  const faults = [...evidence.flatMap(judge), ...ledger.invalid(), ...own]
  const { refused, found, harmless } = damages.tally
  const disks = canFill ? { 'a full disk': ledger.full_disks } : {}
  const mixed = { 'a damaged copy was opened': refused + found + harmless, ...disks }
  const ways = { ...coverage(evidence), ...shelf.ways, ...ledger.ways, ...mixed }
  const wrong = [
    ...ledger.complaints.map((what) => `complaint: ${what}`),
    ...faults.map(({ kind, job_id, what }) => `${kind}: ${job_id === null ? '' : `${job_id} `}${what}`),
    ...(hits < kills * LEAST_HITS ? [`only ${hits} of ${kills} kills met a running job`] : []),
    ...rashness(evidence),
  ]
  const missed = Object.entries(ways).flatMap(([way, count]) => (count === 0 ? [way] : []))
  return { wrong, missed, faults, evidence, ways, summary: summary(findings, faults, ways) }
}

/** A node may be given up whose call had begun in the database, but was not made: the kill came in between. That is rare. */
function rashness(evidence: readonly Evidence[]): string[] {
  const given = evidence.filter(({ work, snapshot }) => work && snapshot?.error?.type === 'node_interrupted')
  const rash = given.filter((one) => cutOff(one, one.snapshot!.error!.node_id ?? '') === null)
  // Four standard deviations above the share: with few nodes, chance alone may take many.
  const most = FEW + given.length * SOME + 4 * Math.sqrt(given.length * SOME * (1 - SOME))
  return rash.length > most
    ? [`${rash.length} of ${given.length} nodes were given up before they had done anything`]
    : []
}

function summary(
  { kills, hits, seed, seconds, evidence, ledger, damages }: Findings,
  faults: readonly Fault[],
  ways: object,
): string {
  const count = (kind: FaultKind) => faults.filter((one) => one.kind === kind).length
  const by = (status: string) => evidence.filter(({ snapshot }) => snapshot?.status === status).length
  const told = evidence.flatMap(({ tapes }) => tapes).reduce((sum, { events }) => sum + events.length, 0)
  const frames = evidence.flatMap(({ sockets }) => sockets).reduce((sum, tape) => sum + tape.frames.length, 0)
  const posts = ledger.counter.calls.filter(({ method }) => method === 'POST').length
  return [
    `seed ${seed}: ${kills} kills in ${seconds.toFixed(0)} s, ${hits} of them met running jobs`,
    `jobs ${evidence.length}: ${by('completed')} completed, ${by('failed')} failed, ${by('cancelled')} cancelled`,
    `events ${evidence.reduce((sum, { log }) => sum + log.length, 0)}, told ${told} times, and ${frames} frames`,
    `calls ${ledger.counter.calls.length}, of which ${posts} POST`,
    `submissions without an answer ${ledger.lost}, refused ${ledger.refusals}, named in an error ${ledger.named}`,
    cannotMount ||
      `full disks ${ledger.full_disks}, killed meanwhile ${ledger.killed_full}, jobs interrupted ${ledger.interrupted}`,
    `damaged copies: ${damages.tally.refused} refused, ${damages.tally.found} found, ${damages.tally.harmless} harmless`,
    ...Object.entries(ways).map(([way, times]) => `${String(times).padStart(6)} × ${way}`),
    `losses ${count('loss')}, gaps ${count('gap')}, doubles ${count('double')}, contradictions ${count('contradiction')}`,
  ].join('\n')
}
