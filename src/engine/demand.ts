// How far the streams of one region of a run may be ahead of the weaves that read out of it: law 68 of the README beside this file.
import type { PlanNode, Regions } from './plan-parts.ts'

/** A node, as its region sees it. */
interface Member {
  readonly node: Pick<PlanNode, 'index'>
  readonly closed: boolean
  /** How many reasons it has not to send. */
  full: number
}

/** The bound of one opener: closed, it counts as one more full inbox behind the node. */
export class StreamBound {
  readonly #region: RegionDemand
  readonly #member: Member
  readonly #initial: number
  #sent = 0
  /** How many items of its stream may be sent when nothing more is read out of the region than was when it began. */
  #limit: number
  #read_before = 0
  closed = false

  constructor(region: RegionDemand, member: Member, initial: number) {
    this.#region = region
    this.#member = member
    this.#initial = initial
    this.#limit = initial
  }

  /** An item of the stream went out. */
  sent(): void {
    this.#sent++
    if (this.closed || this.#hasRoom) return
    this.closed = true
    this.#member.full++
    this.#region.closed.add(this)
  }

  /** The stream has ended: the next one begins. */
  reset(): void {
    this.#sent = 0
    this.#limit = this.#initial
    this.#read_before = this.#region.read_count
    this.openWithRoom()
  }

  /** Nobody wants the rest of the stream: its end shall not wait. */
  release(): void {
    this.#limit = Number.POSITIVE_INFINITY
    this.openWithRoom()
  }

  /** Nothing else goes on: as many again. */
  double(): void {
    this.#limit += this.#sent
    this.openWithRoom()
  }

  /** The nodes whose reading opens it. */
  get readers(): readonly number[] {
    return this.#region.readers
  }

  openWithRoom(): void {
    if (!this.closed || !this.#hasRoom) return
    this.closed = false
    this.#region.closed.delete(this)
    this.#member.full--
    if (this.#member.full === 0) this.#region.schedule(this.#member)
  }

  get #hasRoom(): boolean {
    return this.#sent < this.#limit + this.#region.read_count - this.#read_before
  }
}

/** The regions of one run. */
export class RunRegions {
  readonly #regions: Regions
  readonly #schedule: (member: object) => void
  readonly #made: RegionDemand[] = []

  constructor(regions: Regions, schedule: (member: object) => void) {
    this.#regions = regions
    this.#schedule = schedule
  }

  /** The region of a node, or null. */
  of({ index }: PlanNode): RegionDemand | null {
    const number = this.#regions.of[index]!
    if (number < 0) return null
    this.#made[number] ??= new RegionDemand(this.#regions.readers[number]!, this.#schedule)
    return this.#made[number]
  }

  /** Whether all edges of a node stay within its region. */
  isInner({ index }: PlanNode): boolean {
    return this.#regions.inner[index]!
  }
}

export class RegionDemand {
  readonly #expected: number
  readonly #readers: Member[] = []
  readonly #schedule: (member: object) => void
  /** Bounds that are reached. */
  readonly closed = new Set<StreamBound>()
  /** Tokens that were read out of the region. */
  read_count = 0
  /** How many of its nodes wait for their turn or have it, and how many of their firings are in flight. */
  #busy = 0

  /** `readers`: how many weaves read out of it. */
  constructor(readers: number, schedule: (member: object) => void) {
    this.#expected = readers
    this.#schedule = schedule
  }

  schedule(member: object): void {
    this.#schedule(member)
  }

  join(reader: Member): void {
    this.#readers.push(reader)
  }

  /** The weaves that read out of it, as far as they have begun. */
  get readers(): readonly number[] {
    return this.#readers.filter(({ closed }) => !closed).map(({ node }) => node.index)
  }

  read(): void {
    this.read_count++
    if (this.closed.size > 0) this.#openWithRoom()
  }

  #openWithRoom(): void {
    for (const bound of this.closed) bound.openWithRoom()
  }

  enter(): void {
    this.#busy++
  }

  /** Where nothing goes on and somebody wants more, the openers go on. */
  leave(): void {
    if (--this.#busy > 0 || this.closed.size === 0 || !this.#isWanting) return
    for (const bound of [...this.closed]) bound.double()
  }

  /** Whether a weave that reads out of it would take more. One that has not begun would. */
  get #isWanting(): boolean {
    return this.#readers.length < this.#expected || this.#readers.some(({ closed, full }) => !closed && full === 0)
  }
}
