// The public types of the client.
export type { WsCommandData, WsRpcCommand, WsRpcResults } from '../../generated/messages.ts'
export type {
  Capabilities,
  JobEvent,
  JobSnapshot,
  JobStatus,
  PreflightRequest,
  PreflightSummary,
  ResultManifest,
  TemporaryAssetUpload,
} from '../../generated/types.ts'
export type { Client, RunOptions } from './client.ts'
export type { Backoff, ClientOptions, ClientTimes } from './client-options.ts'
export type { ClientErrorCode, ServiceErrorCode } from './errors.ts'
export type { HttpClient } from './http-client.ts'
export type { SequenceRange } from './jobs/history.ts'
export type { AttachOptions, Job, WaitOptions } from './jobs/job.ts'
export type { SubmitOptions } from './jobs/transport.ts'
export type { UploadSource } from './uploads/source.ts'
export type { UploadOptions, UploadProgress } from './uploads/upload.ts'
export type { WorkflowInputs, WorkflowOutputs } from './workflow-value-types.ts'
