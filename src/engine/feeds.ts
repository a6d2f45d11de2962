// The streamed inputs of one run: values that come from outside, waiting for their node.
import { ItemSource } from './firing.ts'
import { givenParam } from './given.ts'
import { weightOf } from './held-values.ts'
import { Unread } from './journal.ts'
import { sizeOf } from './measure.ts'
import type { Plan } from './plan.ts'
import type { PlanNode } from './plan-parts.ts'
import { paramValue } from './results.ts'

/** `full`: too much waits already; try again once some of it was taken. */
export type PushResult = 'ok' | 'full' | 'unknown_input' | 'not_a_stream' | 'not_running'

export interface Feed {
  readonly node: PlanNode
  readonly handle: string
  readonly source: ItemSource
  /** Whether its whole stream was given with the params. */
  readonly given: boolean
}

/** Whether nothing more comes from outside. */
export function hasEnded({ given, source }: Feed): boolean {
  return given || source.ended
}

/** A list of millions is neither copied nor judged before its items are asked for. */
function* itemsOf(values: readonly unknown[], node: PlanNode, handle: string) {
  for (const value of values) yield { [handle]: paramValue(node, value) }
}

/** How many pushed values wait for their node, and about how many characters they may have together. */
const MOST_PUSHED = 1024
const HEAVIEST_PUSHED = 32_000_000

/** What is on its way to an input, and will be there before whatever is judged now. */
export interface Underway {
  readonly values: number
  /** About how many characters they have together. */
  readonly weight: number
  /** Whether the end of the stream is on its way. */
  readonly ended: boolean
}

const NOTHING: Underway = { values: 0, weight: 0, ended: false }

function isFull({ source }: Feed, value: unknown, { values, weight }: Underway): boolean {
  return source.size + values >= MOST_PUSHED || source.weight + weight + sizeOf(value) > HEAVIEST_PUSHED
}

/** Appends a value to a stream that has not ended. Before the run has begun its host bounds what it keeps for it. */
export function pushInto(feed: Feed, value: unknown, begun: boolean): PushResult {
  if (begun && isFull(feed, value, NOTHING)) return 'full'
  return takeInto(feed, value)
}

/** The same for a value that was judged before: it is taken however much waits. */
export function takeInto({ source, handle }: Feed, value: unknown): PushResult {
  source.push({ [handle]: value })
  return 'ok'
}

export function endOf({ source }: Feed): PushResult {
  source.ended = true
  return 'ok'
}

export class Feeds {
  readonly #plan: Plan
  readonly #feeds = new Map<string, Feed>()

  /** A list in `params` is the whole stream; without one the stream stays open. */
  constructor(plan: Plan, params: Readonly<Record<string, unknown>>) {
    this.#plan = plan
    for (const input of plan.inputs) {
      if (!input.stream) continue
      const node = plan.nodes[plan.indexById.get(input.node_id)!]!
      const handle = [...node.outputs.keys()][0]!
      const given = givenParam(input, params)
      const values = given && (Array.isArray(given.value) ? given.value : [given.value])
      const source = values ? new ItemSource(itemsOf(values, node, handle), true) : new ItemSource(null, false)
      // The run holds them to its end.
      if (values) source.weight = weightOf(values)
      this.#feeds.set(input.name, { node, handle, source, given: values !== null })
    }
  }

  /** Whether a stream may still get values from outside. */
  get open(): boolean {
    for (const feed of this.#feeds.values()) if (!hasEnded(feed)) return true
    return false
  }

  /** The items of a streamed input node, each found good. Throws NodeError for one that isn't. */
  sourceOf(node: PlanNode): ItemSource {
    const feed = this.#feeds.get(node.input!.name)!
    feed.source.judge = ({ [feed.handle]: value }) => ({
      [feed.handle]: paramValue(node, Unread.now(value)),
    })
    return feed.source
  }

  /** Ends the stream of a node that was skipped or is closed. */
  end(node: PlanNode): void {
    const feed = this.#feeds.get(node.input!.name)
    if (feed) feed.source.ended = true
  }

  /** What a push of the value would give, with what is on its way before it. */
  judgePush(name: string, value: unknown, handle: string | undefined, underway: Underway): PushResult {
    const feed = this.find(name, handle)
    if (typeof feed === 'string') return feed
    if (hasEnded(feed) || underway.ended) return 'not_running'
    return isFull(feed, value, underway) ? 'full' : 'ok'
  }

  /** Finds a stream, which may have ended, or says why there is none. */
  find(name: string, handle: string | undefined): Feed | Exclude<PushResult, 'ok'> {
    const feed = this.#feeds.get(name)
    if (!feed) return this.#plan.inputByName.has(name) ? 'not_a_stream' : 'unknown_input'
    if (handle !== undefined && handle !== feed.handle) return 'unknown_input'
    return feed
  }
}
