// Work on files in processes of their own: who works when, and which process does it.
import { NodeError } from '../engine/node-error.ts'
import type { MediaAccess, MediaResult, MediaTask } from '../engine/services.ts'
import { type Owner, Places } from '../sandbox/places.ts'
import { MEDIA_LIMITS, type MediaLimits } from './limits.ts'
import { Member } from './member.ts'

export interface MediaOptions extends Partial<MediaLimits> {
  /** What a process runs. */
  readonly script?: URL
  /** Told, for the log, of what is nobody's file's fault. */
  failed?(detail: string): void
}

export type Media = MediaAccess & AsyncDisposable

/** Starts nothing before there is a task; ends everything when disposed of. */
export function createMedia({ script, failed = () => {}, ...limits }: MediaOptions = {}): Media {
  return new MediaPool({ ...MEDIA_LIMITS, ...limits }, (all) => new Member(all, failed, script))
}

interface Idle {
  readonly member: Member
  readonly until: NodeJS.Timeout
}

class MediaPool implements Media {
  readonly #limits: MediaLimits
  readonly #start: (limits: MediaLimits) => Member
  readonly #places: Places
  readonly #idle: Idle[] = []
  readonly #all = new Set<Member>()
  #closed = false

  constructor(limits: MediaLimits, start: (limits: MediaLimits) => Member) {
    this.#limits = limits
    this.#start = start
    this.#places = new Places(limits.processes)
  }

  async run(task: MediaTask): Promise<MediaResult> {
    const { owner } = task
    if (this.#closed) throw closed()
    await this.#places.turn(owner, task.signal)
    if (this.#closed) {
      this.#places.giveBack(owner)
      throw closed()
    }
    const member = this.#take()
    try {
      return await member.run(task)
    } finally {
      this.#give(member, owner)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    this.#places.refuseAll(closed)
    for (const { until } of this.#idle.splice(0)) clearTimeout(until)
    for (const member of this.#all) {
      // Who waits for its end is not to end before.
      member.hold(true)
      member.kill()
    }
    await Promise.all([...this.#all].map((member) => member.gone))
  }

  #take(): Member {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.until)
      if (idle.member.fit) {
        idle.member.hold(true)
        return idle.member
      }
      idle.member.kill()
    }
    const member = this.#start(this.#limits)
    this.#all.add(member)
    void member.gone.then(() => this.#all.delete(member))
    return member
  }

  #give(member: Member, owner: Owner): void {
    if (member.fit && !this.#closed) {
      const until = setTimeout(() => this.#leave(member), this.#limits.idle_ms)
      until.unref()
      member.hold(false)
      this.#idle.push({ member, until })
      return this.#places.giveBack(owner)
    }
    member.kill()
    // What a process takes is taken until it is gone.
    void member.gone.then(() => this.#places.giveBack(owner))
  }

  #leave(member: Member): void {
    const at = this.#idle.findIndex((idle) => idle.member === member)
    if (at >= 0) this.#idle.splice(at, 1)
    member.kill()
  }
}

function closed(): NodeError {
  return new NodeError('The server is stopping.', 'unavailable')
}
