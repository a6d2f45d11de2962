// What a run and the node that takes part in it know of each other.
import type { Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { FiringRecord } from '../../durability/firing-record.ts'
import type { CaughtFailure, NodeUpdate, WaitRequest } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { ComputeAccess } from '../../node-api/node-services.ts'
import type { InputValues, NodeContext, NodeInterruptedError, OutputValues } from '../../node-api/node-type.ts'
import type { AttemptHost } from '../firings/attempts.ts'
import type { FiringContextOptions } from '../firings/context.ts'
import type { ItemSource } from '../firings/firing.ts'
import type { RegionDemand, RunRegions, StreamLimit } from '../streams/demand.ts'
import type { InboxHost } from '../streams/inbox-flow-control.ts'
import type { IndexPath } from '../streams/position.ts'
import type { DeliverToken } from '../streams/token-sender.ts'
import type { FailureToken } from '../streams/tokens.ts'

/** One node in one run, as the scheduler sees it. */
export interface Schedulable {
  readonly closed: boolean
  /** Whether it waits in the scheduler's queue. */
  isQueued: boolean
  /** What bounds the work ahead of the weaves behind it, where it is in such a region. */
  readonly region: RegionDemand | null
  /** The bound of the streams that it opens in a region. */
  readonly bound: StreamLimit | null
  /** How many of its consumers' inboxes are full; one more where its stream is as far ahead of demand as it may be. */
  fullInboxes: number
  /** What keeps it from going on: full inboxes behind it, inputs that lack a token, or nothing inside the graph. */
  readonly obstacle: 'consumers' | 'sources' | null
  /** The nodes whose tokens it lacks. */
  readonly missingSources: number[]
  receive(slot: number, token: unknown): void
  /** The level up to which an input of it is deaf, or 0. */
  unsubscribedLevel(slot: number): number
  /** A consumer's inbox drops what comes, or hears again. */
  onConsumerUnsubscribed(): void
  onConsumerResubscribed(): void
  /** Works until it has to wait, for one batch, or for some milliseconds after `began`, which is of the monotonic clock. */
  takeTurn(began: number): void
  /** How long its last turn took, in milliseconds. */
  adjustPace(ms: number): void
  /** Replaces own values for firings not yet begun. Gives how many have begun. */
  update(values: InputValues): number
  /** Ends the generators that the run leaves behind. */
  abandon(): void
}

/** A node that takes part, as the run sees it. */
export interface RunParticipant extends Schedulable {
  readonly node: PlanNode
  /** The message of its last failure that was held, and how many there were. */
  lastFailureMessage: string | null
  failureCount: number
  /** Whether nobody wants what it gives at present. */
  readonly isUnwanted: boolean
  /** A failure goes out as the last item of its stream. */
  onStreamFailed(): void
}

/** Stands for every node that is closed: what still comes for one is no news. */
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

/** The run, as its nodes see it. */
export interface RunHost extends InboxHost {
  /** True once the run fails, is cancelled or is over: nothing new begins. */
  readonly stopped: boolean
  /** True once it is over: nothing is told any more. */
  readonly settled: boolean
  /** Whether firings in flight were told to end. */
  readonly aborted: boolean
  readonly random: () => number
  /** Where firings run that would take long here, and whose they are. */
  readonly compute: ComputeAccess
  readonly owner: string
  /** What the run remembers by, or null. */
  readonly durability: RunDurability | null
  readonly deliver: DeliverToken
  /** What weaves may leave unread; null: nothing. */
  readonly regions: RunRegions | null
  schedule(executor: Schedulable): void
  /** Makes all nodes that a node feeds ready to be sent something, some at a time. */
  createTargetSteps(node: PlanNode): Steps<void>
  /** Has `work` called when nobody has a turn to take any more. */
  runLast(work: () => void): void
  /** Whether an asynchronous firing may begin; if not, the performer is scheduled again when one may. */
  admit(executor: Schedulable): boolean
  /** An asynchronous piece of work began, and ended; `settle` takes in what it gave. */
  onWorkBegun(holdsPlace: boolean): void
  onWorkEnded(heldPlace: boolean, settle: () => void): void
  /** A piece of work gives its place back before it ends. */
  onPermitReleased(): void
  context(executor: RunParticipant, own?: FiringContextOptions): NodeContext
  /** A firing waits for nothing but the workflows that it calls, or goes on. */
  onWaitingChanged(still: boolean): void
  /** A firing waits until it is answered. Gives what ends that. */
  registerWait(
    executor: RunParticipant,
    record: FiringRecord,
    request: WaitRequest,
    isJournaled: boolean,
    answer: (value: unknown) => void,
  ): () => void
  /** A firing would be interrupted where it may not be. */
  interrupt(executor: RunParticipant, error: NodeInterruptedError, path: IndexPath): void
  /** The engine's own work, or its host, failed: the run can't be trusted to go on. */
  breakDown(fault: unknown): void
  attemptHost(executor: RunParticipant, record: FiringRecord | null): AttemptHost
  /** The changes of its own values from before an interruption, in their order. */
  updatesFor(executor: RunParticipant): readonly NodeUpdate[]
  /** The inputs of an input node, from the run's params. */
  resolveInputs(executor: RunParticipant, constants: InputValues): InputValues
  /** The items of a streamed input, which come from outside. */
  openStreamedInput(executor: RunParticipant): ItemSource
  /** The level up to which an input of another node is deaf, or 0. */
  unsubscribedLevel(node: number, slot: number): number
  onNodeBegan(executor: RunParticipant): void
  /**
   * Counts what the run hands out, and has a large value made ready for `publish`; null where it is ready. Throws NodeError where it is too
   * much.
   */
  prepareOutput(executor: RunParticipant, value: unknown): Promise<void> | null
  publish(executor: RunParticipant, value: unknown): void
  /** Gives the failure where it is held; else the run fails, and it gives null. */
  fail(executor: RunParticipant, error: unknown, path: IndexPath): FailureToken | null
  /** The failure that was held before an interruption. */
  restoreFailure(executor: RunParticipant, failure: CaughtFailure): FailureToken
  /** Has a large result made ready for `finished`; null where it is ready. */
  prepareResult(executor: RunParticipant, result: OutputValues): Promise<void> | null
  onNodeFinished(executor: RunParticipant, fired: boolean, result: OutputValues): void
}
