// Limits how far the streams of a region may run ahead of the stream operators that read out of it: law 68 in ../../README.md.
import type { PlanNode, StreamRegions } from '../../compile/plan.ts'

/** A node, as seen by its region. */
interface RegionNode {
  readonly node: Pick<PlanNode, 'index'>
  readonly closed: boolean
  /** The number of reasons why it must not send. */
  fullInboxes: number
}

/** The limit of one opener's stream. While closed, it counts as one more full inbox of the node's consumers. */
export class StreamLimit {
  readonly #region: RegionDemand
  readonly #node: RegionNode
  readonly #initial: number
  #sent = 0
  /** The number of items that may be sent if nothing more is read out of the region than when the stream began. */
  #limit: number
  #readBefore = 0
  closed = false

  constructor(region: RegionDemand, member: RegionNode, initial: number) {
    this.#region = region
    this.#node = member
    this.#initial = initial
    this.#limit = initial
  }

  /** Counts a sent item. */
  countSent(): void {
    this.#sent++
    if (this.closed || this.#hasRoom) return
    this.closed = true
    this.#node.fullInboxes++
    this.#region.closedLimits.add(this)
  }

  /** Resets the limit for the next stream. */
  reset(): void {
    this.#sent = 0
    this.#limit = this.#initial
    this.#readBefore = this.#region.readCount
    this.reopen()
  }

  /** Removes the limit, as no consumer wants the rest of the stream and its end must not wait. */
  lift(): void {
    this.#limit = Number.POSITIVE_INFINITY
    this.reopen()
  }

  /** Allows as many items again, as no other work is in progress. */
  doubleLimit(): void {
    this.#limit += this.#sent
    this.reopen()
  }

  /** The nodes whose reading reopens the limit. */
  get readers(): readonly number[] {
    return this.#region.readers
  }

  reopen(): void {
    if (!this.closed || !this.#hasRoom) return
    this.closed = false
    this.#region.closedLimits.delete(this)
    this.#node.fullInboxes--
    if (this.#node.fullInboxes === 0) this.#region.schedule(this.#node)
  }

  get #hasRoom(): boolean {
    return this.#sent < this.#limit + this.#region.readCount - this.#readBefore
  }
}

/** The regions of one run. */
export class RunRegions {
  readonly #regions: StreamRegions
  readonly #schedule: (member: object) => void
  readonly #demandByRegion: RegionDemand[] = []

  constructor(regions: StreamRegions, schedule: (member: object) => void) {
    this.#regions = regions
    this.#schedule = schedule
  }

  /** The region of a node, or null. */
  regionOf({ index }: PlanNode): RegionDemand | null {
    const number = this.#regions.regionByNode[index]!
    if (number < 0) return null
    this.#demandByRegion[number] ??= new RegionDemand(this.#regions.readers[number]!, this.#schedule)
    return this.#demandByRegion[number]
  }

  /** Whether all edges of a node stay within its region. */
  isInner({ index }: PlanNode): boolean {
    return this.#regions.isInnerByNode[index]!
  }
}

export class RegionDemand {
  readonly #expected: number
  readonly #readers: RegionNode[] = []
  readonly #schedule: (member: object) => void
  /** Limits that are reached. */
  readonly closedLimits = new Set<StreamLimit>()
  /** Tokens that were read out of the region. */
  readCount = 0
  /** Nodes of the region that wait for a turn or have one, plus firings in flight. */
  #workInProgress = 0

  /** `readers`: the number of stream operators that read out of the region. */
  constructor(readers: number, schedule: (member: object) => void) {
    this.#expected = readers
    this.#schedule = schedule
  }

  schedule(member: object): void {
    this.#schedule(member)
  }

  addReader(reader: RegionNode): void {
    this.#readers.push(reader)
  }

  /** The open stream operators that read out of the region, as far as they have begun. */
  get readers(): readonly number[] {
    return this.#readers.filter(({ closed }) => !closed).map(({ node }) => node.index)
  }

  countRead(): void {
    this.readCount++
    if (this.closedLimits.size > 0) this.#reopenLimits()
  }

  #reopenLimits(): void {
    for (const bound of this.closedLimits) bound.reopen()
  }

  beginWork(): void {
    this.#workInProgress++
  }

  /** If no work is in progress and a reader wants more, the openers continue. */
  endWork(): void {
    if (--this.#workInProgress > 0 || this.closedLimits.size === 0 || !this.#hasDemand) return
    for (const bound of [...this.closedLimits]) bound.doubleLimit()
  }

  /** Whether a reader of the region would take more. A reader that has not begun would. */
  get #hasDemand(): boolean {
    return (
      this.#readers.length < this.#expected ||
      this.#readers.some(({ closed, fullInboxes }) => !closed && fullInboxes === 0)
    )
  }
}
