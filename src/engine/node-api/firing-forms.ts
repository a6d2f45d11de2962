// What a firing takes and gives, and the forms that it may have: plain, aggregate, stream operator or loop.
import type { Wait } from './wait.ts'

export type InputValues = Record<string, unknown>
/** Values by output handle. A missing or undefined handle has no value. */
export type OutputValues = Record<string, unknown>
/** Each yielded record is one item of the node's stream handles; a returned record holds the values of its single handles. */
export type OutputGenerator = Generator<OutputValues, unknown, unknown> | AsyncGenerator<OutputValues, unknown, unknown>
export type NodeRunResult = OutputValues | Wait | Promise<OutputValues | Wait> | OutputGenerator

/** One firing of an aggregate. Items without a value are never pushed. */
export interface AggregateFiring {
  push(value: unknown): void | Promise<void>
  end(): OutputValues | Promise<OutputValues>
}

/**
 * A stream operator's request for the next item of a stream. The `yield` then returns that item, or `STREAM_END`. Items without a value are
 * skipped.
 */
export class ItemRequest {
  readonly input: string
  constructor(input: string) {
    this.input = input
  }
}

/** The result of an `ItemRequest` whose stream has ended. */
export const STREAM_END: unique symbol = Symbol('stream end')

/** One firing of a stream operator. It yields a request or an item of its own stream; it returns its single outputs. */
export type StreamOperatorFiring = Generator<ItemRequest | OutputValues, OutputValues | undefined, unknown>

/** One firing of a loop: computes the first item, and from each round's results the next one. */
export interface LoopFiring {
  /** The item of the first round, or the loop's single outputs if there is no round. */
  first(): { item: OutputValues } | { outputs: OutputValues }
  /** `results`: the feedback of the round, by property; properties without a value are missing. */
  next(results: InputValues): { item: OutputValues } | { outputs: OutputValues }
}
