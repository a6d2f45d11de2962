// What went over the wire in one scenario, in its order: the evidence for its verdict.

export interface TranscriptEntry {
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
export function isKeepAliveEntry({ what, content }: TranscriptEntry): boolean {
  if (what === PROTOCOL_PING) return true
  const { type, command } = (content ?? {}) as { type?: unknown; command?: unknown }
  return [type, command].some((name) => name === 'ping' || name === 'pong')
}

export class Transcript {
  readonly entries: TranscriptEntry[] = []
  readonly #start = performance.now()

  get elapsed_ms(): number {
    return Math.round(performance.now() - this.#start)
  }

  /** Adds an entry and gives its index. */
  add(direction: TranscriptEntry['direction'], where: string, what: string, content?: unknown): number {
    return (
      this.entries.push({
        ms: this.elapsed_ms,
        direction,
        where,
        what,
        ...(content === undefined ? {} : { content }),
      }) - 1
    )
  }

  addNote(what: string): number {
    return this.add('note', 'play', what)
  }
}
