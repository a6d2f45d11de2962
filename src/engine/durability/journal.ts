// The interface through which a run is made durable, so that an interrupted run continues where it stopped. The engine reports events and
// asks for known ones; the host stores them. See law 48 and following in ../README.md.
import type { InputValues, OutputValues } from '../node-api/firing-forms.ts'
import type { WaitRequest } from '../node-api/wait.ts'
import type { RunError } from '../runtime/run/error.ts'

export type { WaitRequest } from '../node-api/wait.ts'

/** A waiting firing. */
export interface WaitingFiring {
  /** Names the firing within the whole run, called workflows included; opaque to hosts. */
  readonly firing: string
  /** The waiting node; in a called workflow, the calling node of the root's graph. */
  readonly node_id: string
  readonly request: WaitRequest
}

/** A failure that a Catch receives. `from`: the node that failed, if the firing only passed the failure on. */
export interface CaughtFailure {
  readonly type: string
  readonly message: string
  readonly from?: { readonly node_id: string; readonly node_type: string }
}

/** The end of a firing: its outputs, its failure, or the fact that no consumer wanted the rest of its stream (law 17). */
export type FiringEnd =
  | { readonly outputs: OutputValues }
  | { readonly failure: CaughtFailure }
  | { readonly unwanted: true }

/** The failed attempts of a firing (law 31) that is tried again. */
export interface FailedAttempts {
  readonly failed: number
  /** The number of failed attempts that no longer count, as the run was restarted. */
  readonly forgiven: number
  /** The number of workflows that the attempts called: the next attempt counts on from there. */
  readonly calls: number
  /** When the next attempt may begin, in milliseconds since the epoch. */
  readonly next_at: number
}

/** A step of a firing (law 61): a piece of its work that is recorded by itself. */
export interface RecordedStep {
  /** The number of the step's workflow call among the calls of the firing. */
  readonly call: number
  /** False: the run was restarted, so nothing of the step is under way. */
  readonly begun: boolean
  /** The recorded value; null if the step had not ended. */
  readonly end: { readonly value: unknown } | null
}

/** A value that is not in memory and is read when it is used. */
export class UnreadValue {
  readonly #read: () => unknown

  /** @throws errors of `read`, when the value is used */
  constructor(read: () => unknown) {
    this.#read = read
  }

  /** Returns a value, reading it if it is not in memory. */
  static read<T>(value: T | UnreadValue): T {
    return value instanceof UnreadValue ? (value.#read() as T) : value
  }
}

/** What the journal knows of a firing from before an interruption. */
export interface FiringHistory {
  /** The start was recorded: the node is not safe to run again. */
  readonly started: boolean
  /** The failed attempts; null: none. */
  readonly attempts: FailedAttempts | null
  /** The recorded items of its stream, in order. All together may exceed the memory. */
  readonly items: readonly (OutputValues | UnreadValue)[]
  /** The recorded steps by name. */
  readonly steps: ReadonlyMap<string, RecordedStep>
  /** The end; null if the firing had not ended. */
  readonly end: FiringEnd | null
  /** The request that the firing waits or waited for; null: none. */
  readonly wait: WaitRequest | null
  /** The answer to that request; null: none yet. */
  readonly answer: { readonly value: unknown } | null
}

/** A change of a node's own values during a run. It applies from firing number `from` of the node, counted from 0. */
export interface NodeUpdate {
  readonly node_id: string
  readonly from: number
  readonly properties: InputValues
}

/**
 * The journal of one run. A firing is named by its node and its index path as text: `''` outside of all streams, else `2.0`. Most methods
 * are synchronous: the host commits their events in order, before or together with any visible consequence. Only `start` and the methods of
 * steps resolve when committed.
 */
export interface Journal {
  /** True: no firing has a history, so that it need not be read. */
  readonly isBlank?: boolean
  /** The failure of the run; null: none. Read once, before the run begins. */
  recallFailure(): RunError | null
  /** A firing has failed and no Catch holds it: the run ends with this failure. */
  fail(error: RunError): void
  /** The history of a firing; null: none. Read once, before the firing begins. */
  recall(node_id: string, path: string): FiringHistory | null
  /** Called before `recall`: loads the history if that takes long; null: it does not. Never rejects; `recall` throws its errors. */
  prepareRecall?(node_id: string, path: string): Promise<void> | null
  /** A firing that must not run twice is about to begin. Resolves when that is committed; rejects if it cannot be. */
  start(node_id: string, path: string): Promise<void>
  /** The begin and the end of a step. Both resolve when they are committed, and reject if they cannot be. */
  step(node_id: string, path: string, name: string, call: number): Promise<void>
  stepEnd(node_id: string, path: string, name: string, value: unknown): Promise<void>
  /** An attempt failed and another one follows. `attempts` replaces the previous state; the recorded start and unfinished steps no longer count. */
  attempt(node_id: string, path: string, attempts: FailedAttempts): void
  /** A stream item was produced and may be sent to its consumers. */
  item(node_id: string, path: string, item: OutputValues): void
  end(node_id: string, path: string, end: FiringEnd): void
  /** A firing waits; its answer comes later. */
  wait(node_id: string, path: string, request: WaitRequest): void
  /**
   * Resolves when all events of the whole execution so far, including called workflows, are durable; null: they already are. Rejects if
   * they cannot become durable.
   */
  whenDurable(): Promise<void> | null
  /** The name of a firing, as in `WaitingFiring.firing`. */
  formatName(node_id: string, path: string): string
  /** The journal of a workflow that a firing calls; `call` counts the calls of that firing from 0. */
  forCall(node_id: string, path: string, call: number): Journal
}
