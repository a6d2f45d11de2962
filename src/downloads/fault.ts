// Why a download failed, in words that are safe to show.

export class DownloadFault extends Error {
  /** Whether the same may go well a little later. */
  readonly passing: boolean
  /** When it may be asked again, in milliseconds; null where nobody said. */
  readonly after_ms: number | null

  constructor(message: string, { passing = false, after_ms = null, cause }: FaultOptions = {}) {
    super(message, { cause })
    this.name = 'DownloadFault'
    this.passing = passing
    this.after_ms = after_ms
  }
}

interface FaultOptions {
  passing?: boolean
  after_ms?: number | null
  /** For the log alone. */
  cause?: unknown
}
