// The types that users of the client may name.
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
export type { SubmitOptions } from './door.ts'
export type { ClientErrorCode, ServiceErrorCode } from './errors.ts'
export type { SequenceRange } from './history.ts'
export type { HttpClient } from './http.ts'
export type { WorkflowInputs, WorkflowOutputs } from './inputs.ts'
export type { AttachOptions, Job, WaitOptions } from './job.ts'
export type { Backoff, ClientOptions, ClientTimes } from './settings.ts'
export type { UploadOptions, UploadProgress } from './upload.ts'
export type { UploadSource } from './upload-source.ts'
