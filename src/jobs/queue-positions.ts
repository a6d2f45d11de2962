// Announces the new positions of waiting jobs, for each user apart. Thousands may wait, and each may have followers: a few jobs get their new position
// in one turn, and the next ones after a pause. Users take turns.

const ANNOUNCED_AT_ONCE = 32
const ANNOUNCE_PAUSE_MS = 20

export interface PositionedJob {
  /** Called when the position among the waiting jobs of the user has changed; 1 is the first. */
  onPositionChanged(position: number): void
}

export class PositionAnnouncer {
  readonly #waitingOf: (user: string) => readonly PositionedJob[]
  /** The next index to announce, by user. */
  readonly #underWay = new Map<string, number>()
  /** The first index that has changed since, by user. */
  readonly #changed = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  /** `waitingOf` returns the waiting jobs of a user in order. */
  constructor(waitingOf: (user: string) => readonly PositionedJob[]) {
    this.#waitingOf = waitingOf
  }

  /** The positions of a user's jobs have changed from this index on. They are announced after `announce`. */
  markChanged(user: string, from: number): void {
    this.#changed.set(user, Math.min(from, this.#changed.get(user) ?? from))
  }

  announce(): void {
    if (this.#timer === null && !this.#isClosed) this.#announceSome()
  }

  close(): void {
    this.#isClosed = true
  }

  #announceSome(): void {
    this.#timer = null
    for (let left = ANNOUNCED_AT_ONCE; left > 0; ) {
      this.#beginChanged()
      const [next] = this.#underWay
      if (!next) return
      const [user, from] = next
      const jobs = this.#waitingOf(user)
      const end = Math.min(from + left, jobs.length)
      left -= Math.max(1, end - from)
      this.#underWay.delete(user)
      if (end < jobs.length) this.#underWay.set(user, end)
      for (let at = from; at < end; at++) jobs[at]?.onPositionChanged(at + 1)
    }
    if (this.#underWay.size + this.#changed.size === 0 || this.#isClosed) return
    this.#timer = setTimeout(() => this.#announceSome(), ANNOUNCE_PAUSE_MS).unref()
  }

  /** Changes during an announcement to a user wait for its end, so that the end of a long queue is announced as well. */
  #beginChanged(): void {
    for (const [user, from] of this.#changed) {
      if (this.#underWay.has(user)) continue
      this.#changed.delete(user)
      this.#underWay.set(user, from)
    }
  }
}
