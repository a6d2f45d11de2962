// The messages of one scenario in their order, as the evidence for its verdict.

export interface TranscriptEntry {
  /** Milliseconds since the scenario began. */
  readonly ms: number
  readonly direction: 'from_client' | 'to_client' | 'note'
  /** `socket 1`, `http 3`, or `play` for actions of the server. */
  readonly where: string
  readonly what: string
  /** The decoded frame or body. */
  readonly content?: unknown
}

/** A ping of the WebSocket protocol. */
export const PROTOCOL_PING = 'ping of the protocol'

/** Whether the entry is a ping or pong. Such entries only keep a socket open. */
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

  /** Adds an entry and returns its index. */
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
