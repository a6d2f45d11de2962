// What a history is made of, in the contract's types.
import type {
  ChunkFrame,
  EdgeUpdateFrame,
  JobEvent,
  JobUpdateFrame,
  LogUpdateFrame,
  NodeProgressFrame,
  NodeUpdateFrame,
  OutputUpdateFrame,
  ToolCallUpdateFrame,
  ToolResultUpdateFrame,
} from '../../generated/types.ts'

type SharedEventField = 'sequence' | 'job_id' | 'workflow_id' | 'workspace_id' | 'timestamp'
type WithoutSharedFields<Event> = Event extends unknown ? Omit<Event, SharedEventField> : never

/** A persisted fact about one job, without what all its events share. */
export type EventBody = WithoutSharedFields<JobEvent>

/** What a socket shows of a persisted event. */
export type EventFrame = JobUpdateFrame | NodeUpdateFrame | OutputUpdateFrame

/** What a socket shows of a job, live. */
export type JobFrame =
  | EventFrame
  | NodeProgressFrame
  | ChunkFrame
  | EdgeUpdateFrame
  | LogUpdateFrame
  | ToolCallUpdateFrame
  | ToolResultUpdateFrame
