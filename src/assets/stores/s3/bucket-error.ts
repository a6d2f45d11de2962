// BucketError says why a request to an object storage failed.

export class BucketError extends Error {
  /** The HTTP status; null if there was no response. */
  readonly status: number | null
  /** The error code of the storage, such as `SlowDown`; null if it gave none. */
  readonly code: string | null

  constructor(message: string, { status = null, code = null, cause }: BucketErrorOptions = {}) {
    super(message, { cause })
    this.name = 'BucketFailure'
    this.status = status
    this.code = code
  }

  /** Whether the whole storage, and not only one object, is unavailable for now. */
  get isOutage(): boolean {
    const { status, code } = this
    if (status === null || status >= 500 || status === 429) return true
    return status === 401 || status === 403 || code === 'NoSuchBucket'
  }

  /** Whether a retry soon may help. */
  get isTransient(): boolean {
    return this.status === null || this.status >= 500 || this.status === 429 || this.status === 408
  }
}

export interface BucketErrorOptions {
  readonly status?: number | null
  readonly code?: string | null
  readonly cause?: unknown
}

/** Whether an error says that the storage is unavailable for now. */
export function isBucketOutage(error: unknown): boolean {
  return error instanceof BucketError && error.isOutage
}
