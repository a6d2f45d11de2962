// Why a download failed, in words that are safe to show.

export class DownloadError extends Error {
  /** Whether the same may go well a little later. */
  readonly isTransient: boolean
  /** When it may be asked again, in milliseconds; null where nobody said. */
  readonly retry_after_ms: number | null

  constructor(
    message: string,
    { isTransient: passing = false, retry_after_ms: after_ms = null, cause }: DownloadErrorOptions = {},
  ) {
    super(message, { cause })
    this.name = 'DownloadFault'
    this.isTransient = passing
    this.retry_after_ms = after_ms
  }
}

interface DownloadErrorOptions {
  isTransient?: boolean
  retry_after_ms?: number | null
  /** For the log alone. */
  cause?: unknown
}
