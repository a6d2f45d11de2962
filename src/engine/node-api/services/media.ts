// Work on media files.

export interface MediaTask {
  /** The name of the task, such as `image.resize`. */
  readonly task: string
  readonly files: readonly Uint8Array[]
  /** Plain data. */
  readonly params: Readonly<Record<string, unknown>>
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner: object | string
  readonly run?: object
  /** The longest wait for a turn, in milliseconds; absent: no limit. */
  readonly wait_limit_ms?: number
  /** Time limit of the work itself, in milliseconds, if it is below the general limit of such work. */
  readonly time_limit_ms?: number
  /** Ends the task in any state. */
  readonly signal: AbortSignal
}

export interface MediaResult {
  readonly files: readonly Uint8Array[]
  /** Plain data. */
  readonly value: unknown
}

/** Slow work on files, or work that hostile files could harm: runs in processes of its own, with limits of memory and time. */
export interface MediaAccess {
  /**
   * The same task on the same files gives the same result.
   * @throws NodeError `bad_file`, `unsupported`, `too_large`, `bad_input`, `media_memory`, `media_timeout`, `media_failed`, `unavailable`,
   * and `busy` if its turn did not come in time
   */
  run(task: MediaTask): Promise<MediaResult>
}
