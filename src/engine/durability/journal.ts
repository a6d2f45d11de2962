// What a run remembers beyond its process, so that one that was interrupted goes on where it stood. The engine says what happened and
// asks what is known; its host stores it. Law 48 and following of the README beside this file.
import type { InputValues, OutputValues } from '../node-api/node-type.ts'
import type { WaitRequest } from '../node-api/wait.ts'
import type { RunError } from '../runtime/run/error.ts'

export type { WaitRequest } from '../node-api/wait.ts'

/** A firing that waits. */
export interface WaitingFiring {
  /** Names the firing within the whole run, called workflows included; opaque to hosts. */
  readonly firing: string
  /** The waiting node; for one of a called workflow, the node of the run's own graph that called. */
  readonly node_id: string
  readonly request: WaitRequest
}

/** A failure that a `Catch` holds. `from`: the node that failed, where the firing only passed it on. */
export interface CaughtFailure {
  readonly type: string
  readonly message: string
  readonly from?: { readonly node_id: string; readonly node_type: string }
}

/** What a firing gave; the failure that stands for it; or that nobody wanted the rest of its stream any more (law 17), so that it never ends. */
export type FiringEnd =
  | { readonly outputs: OutputValues }
  | { readonly failure: CaughtFailure }
  | { readonly unwanted: true }

/** The attempts at a firing that have failed (law 31), where another one follows. */
export interface FailedAttempts {
  readonly failed: number
  /** How many of them count no more, since the run was begun anew. */
  readonly forgiven: number
  /** How many workflows they called: the next attempt counts its calls from there. */
  readonly calls: number
  /** When the next one may begin, in milliseconds since the epoch. */
  readonly next_at: number
}

/** A step of a firing (law 61): a piece of its work that is remembered by itself. */
export interface RecordedStep {
  /** Which of the firing's calls of workflows it makes, if any. */
  readonly call: number
  /** False: the run was begun anew, so that nothing of the step is under way any more. */
  readonly begun: boolean
  /** What it came to; null where it had not ended. */
  readonly end: { readonly value: unknown } | null
}

/** A value that is not in memory: it is read when it is taken. */
export class UnreadValue {
  readonly #read: () => unknown

  /** @throws what `read` throws, when the value is taken */
  constructor(read: () => unknown) {
    this.#read = read
  }

  /** A value, read where it is not in memory. */
  static read<T>(value: T | UnreadValue): T {
    return value instanceof UnreadValue ? (value.#read() as T) : value
  }
}

/** What is known of a firing from before an interruption. */
export interface FiringHistory {
  /** Its start was recorded: its node is not safe to run again. */
  readonly started: boolean
  /** Its attempts that had failed; null: none had. */
  readonly attempts: FailedAttempts | null
  /** The items of its stream that had come, in order: together they may be more than memory has. */
  readonly items: readonly (OutputValues | UnreadValue)[]
  /** By name. */
  readonly steps: ReadonlyMap<string, RecordedStep>
  /** How it ended; null where it had not. */
  readonly end: FiringEnd | null
  /** What it waits for, or waited for; null: it does not wait. */
  readonly wait: WaitRequest | null
  /** The value that it was given for that; null: none yet. */
  readonly answer: { readonly value: unknown } | null
}

/** A change of a node's own values while a run went on: it holds for firings from number `from` of the node on, counted from 0. */
export interface NodeUpdate {
  readonly node_id: string
  readonly from: number
  readonly properties: InputValues
}

/**
 * The memory of one run. A firing is named by its node and its index path, as text: `''` outside of all streams, else `2.0`. All but
 * `start` and those of steps are synchronous: the host commits what it is told, in this order, before or together with anything that follows from it and can be seen.
 */
export interface Journal {
  /** True: nothing is known of any firing, so that there is no need to ask. */
  readonly isBlank?: boolean
  /** The failure that the run had come to; null: none. Asked once, before the run begins. */
  recallFailure(): RunError | null
  /** A firing has failed and nothing holds that: the run ends with it. */
  fail(error: RunError): void
  /** What is known of a firing; null: nothing. Asked once, before the firing begins. */
  recall(node_id: string, path: string): FiringHistory | null
  /** Asked before: reads what is known of a firing where that takes long; null: it does not. It does not reject: `recall` throws what it meets. */
  prepareRecall?(node_id: string, path: string): Promise<void> | null
  /** A firing that must not run twice is about to begin. Resolves when that is committed; rejects where it can not be. */
  start(node_id: string, path: string): Promise<void>
  /** A step of a firing begins, and it ends. Both resolve when that is committed, and reject where it can not be. */
  step(node_id: string, path: string, name: string, call: number): Promise<void>
  stepEnd(node_id: string, path: string, name: string, value: unknown): Promise<void>
  /**
   * An attempt has failed, and another one follows: with what is told here, in place of what was told before. Its start counts no more, nor do
   * its steps that had not ended.
   */
  attempt(node_id: string, path: string, attempts: FailedAttempts): void
  /** An item of a stream has come, and may go out to its consumers. */
  item(node_id: string, path: string, item: OutputValues): void
  end(node_id: string, path: string, end: FiringEnd): void
  /** A firing waits; what it gets later is its `answer`. */
  wait(node_id: string, path: string, request: WaitRequest): void
  /**
   * Resolves when all that was told until now of the whole execution, called workflows included, is durable; null: it is already. Rejects where
   * it can not be.
   */
  whenDurable(): Promise<void> | null
  /** The name of a firing, as `Waiting.firing` has it. */
  formatName(node_id: string, path: string): string
  /** The memory of the workflow that a firing calls; `call` counts the calls of that firing from 0. */
  forCall(node_id: string, path: string, call: number): Journal
}
