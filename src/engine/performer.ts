// What a run and the node that takes part in it know of each other.
import type { Steps } from '../time-slices.ts'
import type { AttemptHost } from './attempts.ts'
import type { OwnContext } from './context.ts'
import type { RegionDemand, RunRegions, StreamBound } from './demand.ts'
import type { ItemSource } from './firing.ts'
import type { InboxHost } from './intake.ts'
import type { HeldFailure, NodeUpdate, WaitRequest } from './journal.ts'
import type { Memo } from './memo.ts'
import type { Memory } from './memory.ts'
import type { Inputs, Interrupted, NodeContext, Outputs } from './node-type.ts'
import type { Deliver } from './outbox.ts'
import type { Path } from './place.ts'
import type { PlanNode } from './plan-parts.ts'
import type { ComputeAccess } from './services.ts'
import type { Failure } from './tokens.ts'

/** One node in one run, as the scheduler sees it. */
export interface Performer {
  readonly closed: boolean
  /** Whether it waits in the scheduler's queue. */
  queued: boolean
  /** What bounds the work ahead of the weaves behind it, where it is in such a region. */
  readonly region: RegionDemand | null
  /** The bound of the streams that it opens in a region. */
  readonly bound: StreamBound | null
  /** How many of its consumers' inboxes are full; one more where its stream is as far ahead of demand as it may be. */
  full: number
  /** What keeps it from going on: full inboxes behind it, inputs that lack a token, or nothing inside the graph. */
  readonly obstacle: 'consumers' | 'sources' | null
  /** The nodes whose tokens it lacks. */
  readonly missingSources: number[]
  receive(slot: number, token: unknown): void
  /** The level up to which an input of it is deaf, or 0. */
  deafness(slot: number): number
  /** A consumer's inbox drops what comes, or hears again. */
  deafened(): void
  heard(): void
  /** Works until it has to wait, for one batch, or for some milliseconds after `began`, which is of the monotonic clock. */
  turn(began: number): void
  /** How long its last turn took, in milliseconds. */
  paced(ms: number): void
  /** Replaces own values for firings not yet begun. Gives how many have begun. */
  update(values: Inputs): number
  /** Ends the generators that the run leaves behind. */
  abandon(): void
}

/** A node that takes part, as the run sees it. */
export interface Member extends Performer {
  readonly node: PlanNode
  /** The message of its last failure that was held, and how many there were. */
  failed: string | null
  failures: number
  /** Whether nobody wants what it gives at present. */
  readonly unwanted: boolean
  /** A failure goes out as the last item of its stream. */
  failsStream(): void
}

/** Stands for every node that is closed: what still comes for one is no news. */
export const CLOSED: Performer = Object.freeze<Performer>({
  closed: true,
  queued: false,
  region: null,
  bound: null,
  full: 0,
  obstacle: null,
  missingSources: [],
  receive() {},
  deafness: () => 0,
  deafened() {},
  heard() {},
  turn() {},
  paced() {},
  update: () => Number.MAX_SAFE_INTEGER,
  abandon() {},
})

/** The run, as its nodes see it. */
export interface Stage extends InboxHost {
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
  readonly memory: Memory | null
  readonly deliver: Deliver
  /** What weaves may leave unread; null: nothing. */
  readonly regions: RunRegions | null
  schedule(performer: Performer): void
  /** Makes all nodes that a node feeds ready to be sent something, some at a time. */
  targetSteps(node: PlanNode): Steps<void>
  /** Has `work` called when nobody has a turn to take any more. */
  afterOthers(work: () => void): void
  /** Whether an asynchronous firing may begin; if not, the performer is scheduled again when one may. */
  admit(performer: Performer): boolean
  /** An asynchronous piece of work began, and ended; `settle` takes in what it gave. */
  launched(holdsPlace: boolean): void
  landed(heldPlace: boolean, settle: () => void): void
  /** A piece of work gives its place back before it ends. */
  gaveBack(): void
  context(performer: Member, own?: OwnContext): NodeContext
  /** A firing waits for nothing but the workflows that it calls, or goes on. */
  stilled(still: boolean): void
  /** A firing waits until it is answered. Gives what ends that. */
  park(performer: Member, memo: Memo, request: WaitRequest, told: boolean, answer: (value: unknown) => void): () => void
  /** A firing would be interrupted where it may not be. */
  interrupt(performer: Member, error: Interrupted, path: Path): void
  /** The engine's own work, or its host, failed: the run can't be trusted to go on. */
  breakDown(fault: unknown): void
  attemptHost(performer: Member, memo: Memo | null): AttemptHost
  /** The changes of its own values from before an interruption, in their order. */
  updatesFor(performer: Member): readonly NodeUpdate[]
  /** The inputs of an input node, from the run's params. */
  inputsFor(performer: Member, constants: Inputs): Inputs
  /** The items of a streamed input, which come from outside. */
  feedFor(performer: Member): ItemSource
  /** The level up to which an input of another node is deaf, or 0. */
  deafness(node: number, slot: number): number
  began(performer: Member): void
  /**
   * Counts what the run hands out, and has a large value made ready for `publish`; null where it is ready. Throws NodeError where it is too
   * much.
   */
  prepareOutput(performer: Member, value: unknown): Promise<void> | null
  publish(performer: Member, value: unknown): void
  /** Gives the failure where it is held; else the run fails, and it gives null. */
  fail(performer: Member, error: unknown, path: Path): Failure | null
  /** The failure that was held before an interruption. */
  failAgain(performer: Member, failure: HeldFailure): Failure
  /** Has a large result made ready for `finished`; null where it is ready. */
  prepareResult(performer: Member, result: Outputs): Promise<void> | null
  finished(performer: Member, fired: boolean, result: Outputs): void
}
