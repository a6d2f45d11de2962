// What a judgement is told because it cannot find it out: who and what else there is, and how often signs of life are due.

export interface KeepAliveIntervals {
  protocol_ping_ms: number
  frame_ping_ms: number
}

export interface OperatorInputs {
  /** A token of another principal. */
  other_token: string | null
  /** A job of the caller's that is past its retention. */
  expired_job: string | null
  /** A job of the caller's whose events are past their retention. */
  swept_job: string | null
}

export const NO_OPERATOR_INPUTS: OperatorInputs = { other_token: null, expired_job: null, swept_job: null }

/** Of the contract. */
export const KEEP_ALIVE_INTERVALS: KeepAliveIntervals = { protocol_ping_ms: 20_000, frame_ping_ms: 25_000 }
