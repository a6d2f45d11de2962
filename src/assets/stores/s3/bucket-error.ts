// Why an object storage did not do what it was asked for.

export class BucketError extends Error {
  /** Of HTTP; null where nothing was answered. */
  readonly status: number | null
  /** As the storage names it, such as `SlowDown`; null where it named none. */
  readonly code: string | null

  constructor(message: string, { status = null, code = null, cause }: BucketErrorOptions = {}) {
    super(message, { cause })
    this.name = 'BucketFailure'
    this.status = status
    this.code = code
  }

  /** Whether the storage, and not one object alone, cannot be used for now. */
  get isOutage(): boolean {
    const { status, code } = this
    if (status === null || status >= 500 || status === 429) return true
    return status === 401 || status === 403 || code === 'NoSuchBucket'
  }

  /** Whether asking again soon may help. */
  get isTransient(): boolean {
    return this.status === null || this.status >= 500 || this.status === 429 || this.status === 408
  }
}

export interface BucketErrorOptions {
  readonly status?: number | null
  readonly code?: string | null
  readonly cause?: unknown
}

/** Whether an error says that the storage cannot be used for now. */
export function isBucketOutage(error: unknown): boolean {
  return error instanceof BucketError && error.isOutage
}
