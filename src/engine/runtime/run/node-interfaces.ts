// The interfaces between a run and its nodes.
import type { Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { FiringRecord } from '../../durability/firing-record.ts'
import type { CaughtFailure, NodeUpdate, WaitRequest } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { InputValues, OutputValues } from '../../node-api/firing-forms.ts'
import type { NodeContext } from '../../node-api/node-context.ts'
import type { NodeInterruptedError } from '../../node-api/node-type.ts'
import type { ComputeAccess } from '../../node-api/services/compute.ts'
import type { AttemptHost } from '../firings/attempts.ts'
import type { FiringContextOptions } from '../firings/context.ts'
import type { ItemSource } from '../firings/firing.ts'
import type { RegionDemand, RunRegions, StreamLimit } from '../streams/demand.ts'
import type { InboxHost } from '../streams/inbox-flow-control.ts'
import type { IndexPath } from '../streams/position.ts'
import type { DeliverToken } from '../streams/token-sender.ts'
import type { FailureToken } from '../streams/tokens.ts'

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

/** The run, as seen by its nodes. */
export interface RunHost extends InboxHost {
  /** True once the run fails, is cancelled or is over: nothing new begins. */
  readonly stopped: boolean
  /** True once the run is over: nothing is reported any more. */
  readonly settled: boolean
  /** Whether firings in flight were aborted. */
  readonly aborted: boolean
  readonly random: () => number
  /** Runs firings that would block the main thread, on behalf of `owner`. */
  readonly compute: ComputeAccess
  readonly owner: string
  /** The durability of the run, or null. */
  readonly durability: RunDurability | null
  readonly deliver: DeliverToken
  /** The regions that stream operators may leave unread; null: none. */
  readonly regions: RunRegions | null
  schedule(executor: Schedulable): void
  /** Creates all nodes that a node feeds, in steps. */
  createTargetSteps(node: PlanNode): Steps<void>
  /** Calls `work` when no node has a turn to take. */
  runLast(work: () => void): void
  /** Whether an asynchronous firing may begin; if not, the executor is scheduled again when one may. */
  admit(executor: Schedulable): boolean
  /** Asynchronous work began, or ended; `settle` processes its result. */
  onWorkBegun(holdsPlace: boolean): void
  onWorkEnded(heldPlace: boolean, settle: () => void): void
  /** A piece of work releases its permit before it ends. */
  onPermitReleased(): void
  context(executor: RunParticipant, own?: FiringContextOptions): NodeContext
  /** A firing starts or stops waiting only for the workflows that it calls. */
  onWaitingChanged(still: boolean): void
  /** Registers a firing that waits for an answer. Returns a function that ends the wait. */
  registerWait(
    executor: RunParticipant,
    record: FiringRecord,
    request: WaitRequest,
    isJournaled: boolean,
    answer: (value: unknown) => void,
  ): () => void
  /** A firing would be interrupted at a point from which it cannot resume. */
  interrupt(executor: RunParticipant, error: NodeInterruptedError, path: IndexPath): void
  /** The engine itself or its host failed: the run cannot continue safely. */
  breakDown(fault: unknown): void
  attemptHost(executor: RunParticipant, record: FiringRecord | null): AttemptHost
  /** The node's property changes from before an interruption, in their order. */
  updatesFor(executor: RunParticipant): readonly NodeUpdate[]
  /** The inputs of an input node, from the run's params. */
  resolveInputs(executor: RunParticipant, constants: InputValues): InputValues
  /** The items of a streamed input, which arrive from outside. */
  openStreamedInput(executor: RunParticipant): ItemSource
  /** The level up to which an input of another node is unsubscribed, or 0. */
  unsubscribedLevel(node: number, slot: number): number
  onNodeBegan(executor: RunParticipant): void
  /** Counts an output value and prepares a large one for `publish`; null if it is ready. Throws NodeError `too_large` beyond the limit. */
  prepareOutput(executor: RunParticipant, value: unknown): Promise<void> | null
  publish(executor: RunParticipant, value: unknown): void
  /** Returns the failure if a Catch receives it; otherwise the run fails, and the result is null. */
  fail(executor: RunParticipant, error: unknown, path: IndexPath): FailureToken | null
  /** Restores a caught failure from before an interruption. */
  restoreFailure(executor: RunParticipant, failure: CaughtFailure): FailureToken
  /** Prepares a large result for `onNodeFinished`; null if it is ready. */
  prepareResult(executor: RunParticipant, result: OutputValues): Promise<void> | null
  onNodeFinished(executor: RunParticipant, fired: boolean, result: OutputValues): void
}
