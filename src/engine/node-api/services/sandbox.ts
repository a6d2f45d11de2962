// Runs untrusted code: the scripts of code nodes.
import type { Steps } from '../../../shared/time-slices.ts'

export interface SandboxScript {
  /** The body of an asynchronous generator function: it may `return` outputs by name and `yield` items by name. */
  readonly code: string
  /** The values that the code sees under these names. Plain JSON values. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** The seed of `Math.random`. */
  readonly seed: number
  /** True: the code is only parsed, nothing runs, and the result is empty. */
  readonly syntax_only?: boolean
  /** Time limit until the result or the next item, in milliseconds. */
  readonly time_limit_ms: number
  /** Memory limit for all values together, in megabytes. */
  readonly memory_limit_mb: number
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner?: object | string
  readonly run?: object
  /** Ends the code in any state. */
  readonly signal: AbortSignal
  /** Reads long results in slices, as in `NodeContext`; absent: results are read at once. */
  inSlices?<T>(steps: Steps<T>): Promise<T>
  /** Receives a line that the code wrote to its console. */
  log(severity: 'debug' | 'info' | 'warning' | 'error', content: string): void
}

/**
 * Runs untrusted code. Both methods throw NodeError if the code fails: `code_error`, `code_timeout`, `code_memory`, `code_stack`,
 * `code_output`; also `bad_input`, `too_large`, `too_deep`, `code_busy`, `unavailable`; and the signal's reason.
 */
export interface CodeSandbox {
  /** Returns the result of the code, which may not yield. */
  call(script: SandboxScript): Promise<Record<string, unknown>>
  /** Yields the code's items, then returns its result. Callers must read it to the end or call `return`. */
  stream(script: SandboxScript): AsyncGenerator<Record<string, unknown>, Record<string, unknown>, void>
}
