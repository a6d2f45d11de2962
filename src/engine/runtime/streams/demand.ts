// How far the streams of one region of a run may be ahead of the weaves that read out of it: law 68 of the README beside this file.
import type { PlanNode, StreamRegions } from '../../compile/plan.ts'

/** A node, as its region sees it. */
interface RegionNode {
  readonly node: Pick<PlanNode, 'index'>
  readonly closed: boolean
  /** How many reasons it has not to send. */
  fullInboxes: number
}

/** The bound of one opener: closed, it counts as one more full inbox behind the node. */
export class StreamLimit {
  readonly #region: RegionDemand
  readonly #node: RegionNode
  readonly #initial: number
  #sent = 0
  /** How many items of its stream may be sent when nothing more is read out of the region than was when it began. */
  #limit: number
  #readBefore = 0
  closed = false

  constructor(region: RegionDemand, member: RegionNode, initial: number) {
    this.#region = region
    this.#node = member
    this.#initial = initial
    this.#limit = initial
  }

  /** An item of the stream went out. */
  countSent(): void {
    this.#sent++
    if (this.closed || this.#hasRoom) return
    this.closed = true
    this.#node.fullInboxes++
    this.#region.closedLimits.add(this)
  }

  /** The stream has ended: the next one begins. */
  reset(): void {
    this.#sent = 0
    this.#limit = this.#initial
    this.#readBefore = this.#region.readCount
    this.reopen()
  }

  /** Nobody wants the rest of the stream: its end shall not wait. */
  lift(): void {
    this.#limit = Number.POSITIVE_INFINITY
    this.reopen()
  }

  /** Nothing else goes on: as many again. */
  doubleLimit(): void {
    this.#limit += this.#sent
    this.reopen()
  }

  /** The nodes whose reading opens it. */
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
  /** Bounds that are reached. */
  readonly closedLimits = new Set<StreamLimit>()
  /** Tokens that were read out of the region. */
  readCount = 0
  /** How many of its nodes wait for their turn or have it, and how many of their firings are in flight. */
  #workInProgress = 0

  /** `readers`: how many weaves read out of it. */
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

  /** The weaves that read out of it, as far as they have begun. */
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

  /** Where nothing goes on and somebody wants more, the openers go on. */
  endWork(): void {
    if (--this.#workInProgress > 0 || this.closedLimits.size === 0 || !this.#hasDemand) return
    for (const bound of [...this.closedLimits]) bound.doubleLimit()
  }

  /** Whether a weave that reads out of it would take more. One that has not begun would. */
  get #hasDemand(): boolean {
    return (
      this.#readers.length < this.#expected ||
      this.#readers.some(({ closed, fullInboxes: full }) => !closed && full === 0)
    )
  }
}
