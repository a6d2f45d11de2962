// What one firing waits for, outside of the run.

/** It must stay plain data: it outlives the process. */
export interface WaitRequest {
  /** `approval`: a decision of a person. `value`: a value from outside. `delay`: the passing of time. */
  readonly kind: 'approval' | 'value' | 'delay'
  /** The name under which the value is awaited. */
  readonly name: string | null
  /** What to show to whoever is asked. */
  readonly message: string | null
  /** The JSON schema that the value must satisfy; null: anything. */
  readonly schema: Record<string, unknown> | null
  /** When a delay is over, in milliseconds since the epoch; else null. */
  readonly until: number | null
}

/**
 * What a firing gives that waits: its node type has `answered` for when the answer comes. Only where the context says `waits`; elsewhere
 * the firing fails with `cannot_wait`.
 */
export class Wait {
  readonly request: WaitRequest
  constructor(request: WaitRequest) {
    this.request = request
  }
}
