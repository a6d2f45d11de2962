// What went over the wire in one scenario, in its order: the evidence for its verdict.

export interface Entry {
  /** Milliseconds since the scenario began. */
  readonly ms: number
  readonly direction: 'from_client' | 'to_client' | 'note'
  /** `socket 1`, `http 3`, or `play` for what the server did by itself. */
  readonly where: string
  readonly what: string
  /** The frame or body, decoded. */
  readonly content?: unknown
}

/** A ping that is no frame. */
export const PROTOCOL_PING = 'ping of the protocol'

/** Pings and pongs, of the protocol and as frames: they keep a socket, and say nothing of a job. */
export function isBeat({ what, content }: Entry): boolean {
  if (what === PROTOCOL_PING) return true
  const { type, command } = (content ?? {}) as { type?: unknown; command?: unknown }
  return [type, command].some((name) => name === 'ping' || name === 'pong')
}

export class Transcript {
  readonly entries: Entry[] = []
  readonly #start = performance.now()

  get ms(): number {
    return Math.round(performance.now() - this.#start)
  }

  /** Adds an entry and gives its index. */
  add(direction: Entry['direction'], where: string, what: string, content?: unknown): number {
    return this.entries.push({ ms: this.ms, direction, where, what, ...(content === undefined ? {} : { content }) }) - 1
  }

  note(what: string): number {
    return this.add('note', 'play', what)
  }
}
