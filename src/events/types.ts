// The events and frames of a job's history, in the contract's types.
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

/** A persisted event of a job, without the fields that all its events share. */
export type EventBody = WithoutSharedFields<JobEvent>

/** The frame of a persisted event on sockets. */
export type EventFrame = JobUpdateFrame | NodeUpdateFrame | OutputUpdateFrame

/** A frame of a job on sockets, persisted or live only. */
export type JobFrame =
  | EventFrame
  | NodeProgressFrame
  | ChunkFrame
  | EdgeUpdateFrame
  | LogUpdateFrame
  | ToolCallUpdateFrame
  | ToolResultUpdateFrame
