// Inputs that the suite cannot find out: another principal's token, jobs past their retention, and the intervals of pings.

export interface KeepAliveIntervals {
  protocol_ping_ms: number
  frame_ping_ms: number
}

export interface OperatorInputs {
  /** A token of another principal. */
  other_token: string | null
  /** A job of the caller past its retention. */
  expired_job: string | null
  /** A job of the caller whose events are past their retention. */
  swept_job: string | null
}

export const NO_OPERATOR_INPUTS: OperatorInputs = { other_token: null, expired_job: null, swept_job: null }

/** The intervals of the contract. */
export const KEEP_ALIVE_INTERVALS: KeepAliveIntervals = { protocol_ping_ms: 20_000, frame_ping_ms: 25_000 }
