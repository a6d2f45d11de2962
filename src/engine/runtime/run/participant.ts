// One node in one run: as its scheduler, its run, and the code that fires it see it.
import type { Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { InputValues } from '../../node-api/firing-forms.ts'
import type { RegionDemand, StreamLimit } from '../streams/demand.ts'

/** One node in one run, as seen by the scheduler. */
export interface Schedulable {
  readonly closed: boolean
  /** Whether the node is in the scheduler's queue. */
  isQueued: boolean
  /** Limits work ahead of stream operators, if the node is in such a region. */
  readonly region: RegionDemand | null
  /** The limit of the streams that the node opens in a region. */
  readonly bound: StreamLimit | null
  /** The number of full inboxes of its consumers; one more if its stream has reached the limit of `bound`. */
  fullInboxes: number
  /** The reason why it cannot continue: full inboxes of consumers, missing input tokens, or none inside the graph. */
  readonly obstacle: 'consumers' | 'sources' | null
  /** The nodes whose tokens are missing. */
  readonly missingSources: number[]
  receive(slot: number, token: unknown): void
  /** The level up to which an input is unsubscribed, or 0. */
  unsubscribedLevel(slot: number): number
  /** A consumer's inbox starts or stops dropping tokens. */
  onConsumerUnsubscribed(): void
  onConsumerResubscribed(): void
  /** Works until the node has to wait, for one batch, or for some milliseconds after `began` (monotonic clock). */
  takeTurn(began: number): void
  /** Reports the length of its last turn, in milliseconds. */
  adjustPace(ms: number): void
  /** Replaces constants for firings not yet begun. Returns the number of begun firings. */
  update(values: InputValues): number
  /** Ends open generators when the run is over. */
  abandon(): void
}

/** A node, as seen by its run. */
export interface RunParticipant extends Schedulable {
  readonly node: PlanNode
  /** The message of its last caught failure, and the number of caught failures. */
  lastFailureMessage: string | null
  failureCount: number
  /** Whether no consumer wants its outputs at present. */
  readonly isUnwanted: boolean
  /** Called when a failure is sent as the last item of its stream. */
  onStreamFailed(): void
}

/** A node, as seen by the code that fires it. */
export interface FiringParticipant extends RunParticipant {
  /** Whether its firings may run outside of the main thread. */
  readonly canRunInWorker: boolean
  /** Whether a firing may be heavy; false while all received values are small. */
  readonly mayBeHeavy: boolean
  /** Reports the first firing to followers. */
  reportBegin(): void
  /** Stops reading until `work` resolves, then calls `then`. `work` never rejects. */
  pauseReading(work: Promise<void>, then: () => void): void
  /** Stops reading while the run takes the steps in its time slices, then calls `then`: also if the run was aborted. */
  pauseForSteps(steps: Steps<unknown>, then: () => void): void
}

/** Stands for every closed node; tokens for it are ignored. */
export const CLOSED_PARTICIPANT: Schedulable = Object.freeze<Schedulable>({
  closed: true,
  isQueued: false,
  region: null,
  bound: null,
  fullInboxes: 0,
  obstacle: null,
  missingSources: [],
  receive() {},
  unsubscribedLevel: () => 0,
  onConsumerUnsubscribed() {},
  onConsumerResubscribed() {},
  takeTurn() {},
  adjustPace() {},
  update: () => Number.MAX_SAFE_INTEGER,
  abandon() {},
})
