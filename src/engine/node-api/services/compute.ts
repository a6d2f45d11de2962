// Runs firings in compute threads.

export interface ComputeTask {
  readonly node_type: string
  readonly inputs: Record<string, unknown>
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner: string
  readonly run?: object
  /** Ends the task in any state. */
  readonly signal: AbortSignal
}

/** Runs firings of pure node types outside of the main thread. */
export interface ComputeAccess {
  /** Whether firings of this type may run there. */
  takes(type: { readonly node_type: string }): boolean
  /**
   * The outputs that the type's code returns for these inputs, not validated.
   * @throws errors of that code; NodeError `compute_memory`, `compute_failed`, `unavailable`; the signal's reason
   */
  run(task: ComputeTask): Promise<Record<string, unknown>>
}
