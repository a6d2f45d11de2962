// What a run and the node that takes part in it know of each other.
import type { AttemptHost } from './attempts.ts'
import type { ItemSource } from './firing.ts'
import type { InboxHost } from './intake.ts'
import type { Inputs, NodeContext, Outputs } from './node-type.ts'
import type { Deliver } from './outbox.ts'
import type { PlanNode } from './plan-parts.ts'
import type { Failure } from './tokens.ts'

/** One node in one run, as the scheduler sees it. */
export interface Performer {
  readonly node: PlanNode
  readonly closed: boolean
  /** Whether it waits in the scheduler's queue. */
  queued: boolean
  /** How many of its consumers' inboxes are full. */
  full: number
  /** How many of its consumers' inboxes are deaf. */
  deaf: number
  /** The message of its last failure that was held. */
  failed: string | null
  /** Whether nobody wants what it gives at present. */
  readonly unwanted: boolean
  /** What keeps it from going on: full inboxes behind it, inputs that lack a token, or nothing inside the graph. */
  readonly obstacle: 'consumers' | 'sources' | null
  /** The nodes whose tokens it lacks. */
  readonly missingSources: number[]
  receive(slot: number, token: unknown): void
  /** The level up to which an input of it is deaf, or 0. */
  deafness(slot: number): number
  /** Nobody wants what it gives any more, until the end of a stream. */
  relieve(): void
  /** Works until it has to wait, or for one batch. */
  turn(): void
  /** Replaces own values for firings not yet begun. */
  update(values: Inputs): void
  /** Ends the generators that the run leaves behind. */
  abandon(): void
}

/** The run, as its nodes see it. */
export interface Stage extends InboxHost {
  /** True once the run fails, is cancelled or is over: nothing new begins. */
  readonly stopped: boolean
  readonly deliver: Deliver
  schedule(performer: Performer): void
  /** Whether an asynchronous firing may begin; if not, the performer is scheduled again when one may. */
  admit(performer: Performer): boolean
  /** An asynchronous piece of work began, and ended; `settle` takes in what it gave. */
  launched(): void
  landed(settle: () => void): void
  /** `signal` is the firing's own, where it may abort before the run does. */
  context(performer: Performer, signal?: AbortSignal): NodeContext
  attemptHost(performer: Performer): AttemptHost
  /** The inputs of an input node, from the run's params. */
  inputsFor(performer: Performer, constants: Inputs): Inputs
  /** The items of a streamed input, which come from outside. */
  feedFor(performer: Performer): ItemSource
  /** The level up to which an input of another node is deaf, or 0. */
  deafness(node: number, slot: number): number
  began(performer: Performer): void
  publish(performer: Performer, value: unknown): void
  /** Gives the failure where it is held; else the run fails, and it gives null. */
  fail(performer: Performer, error: unknown): Failure | null
  finished(performer: Performer, fired: boolean, result: Outputs): void
}
