// DownloadError says why a download failed, in words that are safe to show.

export class DownloadError extends Error {
  /** Whether a retry may succeed. */
  readonly isTransient: boolean
  /** Milliseconds until the next attempt is allowed; null if the hub did not say. */
  readonly retry_after_ms: number | null

  constructor(message: string, { isTransient = false, retry_after_ms = null, cause }: DownloadErrorOptions = {}) {
    super(message, { cause })
    this.name = 'DownloadFault'
    this.isTransient = isTransient
    this.retry_after_ms = retry_after_ms
  }
}

interface DownloadErrorOptions {
  isTransient?: boolean
  retry_after_ms?: number | null
  /** For the log only. */
  cause?: unknown
}
