// What a waiting firing waits for, outside of the run.

/** Must stay plain data, as it outlives the process. */
export interface WaitRequest {
  /** `approval`: a decision of a person. `value`: a value from outside. `delay`: the passing of time. */
  readonly kind: 'approval' | 'value' | 'delay'
  /** The name under which the value is awaited. */
  readonly name: string | null
  /** The text to show to the person who is asked. */
  readonly message: string | null
  /** The JSON schema that the value must satisfy; null: anything. */
  readonly schema: Record<string, unknown> | null
  /** The end of a delay, in milliseconds since the epoch; else null. */
  readonly until: number | null
}

/**
 * The result of a waiting firing; its node type has `onAnswer` for the answer. Allowed only if `NodeContext.canWait`; otherwise the firing
 * fails with `cannot_wait`.
 */
export class Wait {
  readonly request: WaitRequest
  constructor(request: WaitRequest) {
    this.request = request
  }
}
