// The services of one process, which every transport receives as one explicit argument. Groups that span several rooms are declared here, others in
// their room.
import type { AccessServices } from './access/access-services.ts'
import type { AssetServices } from './assets/asset-services.ts'
import type { ChatService } from './chat/service.ts'
import type { CompletionService } from './completions/service.ts'
import type { WorkflowModelService } from './completions/workflow-models/service.ts'
import type { Config } from './config.ts'
import type { OwnerScope } from './db/owner-scope.ts'
import type { Store } from './db/store.ts'
import type { DownloadService } from './downloads/service.ts'
import type { NodeRegistry } from './engine/node-api/node-type.ts'
import type { EventLog } from './events/log.ts'
import type { FollowQuota } from './follow-quota.ts'
import type { JobListParts } from './jobs/queries.ts'
import type { RetentionSweeper } from './jobs/retention.ts'
import type { JobService } from './jobs/service.ts'
import type { PreflightService } from './lifecycle/preflight/service.ts'
import type { JobSubmissionParts } from './lifecycle/submissions.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { BillingContext } from './models/billing/billing-context.ts'
import type { ModelService } from './models/calls/model-service.ts'
import type { ModelListCache } from './models/catalogue/model-list-cache.ts'
import type { ProviderRegistry } from './models/providers/registry.ts'
import type { ResponseBuffers } from './net/response-buffers.ts'
import type { UploadStallDetector } from './net/upload-stall-detector.ts'
import type { PayloadValidator } from './payloads/payload-validator.ts'
import type { Platform } from './platform.ts'
import type { UserServices } from './settings/user-services.ts'
import type { TimeSliceScheduler } from './shared/time-slices.ts'
import type { WorkflowService } from './workflows/service.ts'

export interface AppContext {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly platform: Platform
  readonly schedulers: Schedulers
  readonly lifetime: Lifetime
  readonly store: Store
  readonly access: AccessServices
  readonly users: UserServices
  readonly assets: AssetServices
  readonly models: ModelServices
  readonly runs: RunServices
  /** Threads, and their running turns. */
  readonly chat: ChatService
  readonly transport: TransportLimits
}

/** They divide the time of the main thread among owners. */
export interface Schedulers {
  /** Does long work of the main thread in short slices. */
  readonly slices: TimeSliceScheduler
  /** The time slices of readers of stored data. Many of them share each turn, and none waits behind its owner's work in `slices`. */
  readonly reading: TimeSliceScheduler
}

export interface Lifetime {
  /** Milliseconds since the epoch. */
  readonly started_at: number
  /** Aborts when everything that is still open must end. */
  readonly stopping: AbortSignal
}

export interface ModelServices {
  readonly providers: ProviderRegistry
  /** The model lists of the providers. */
  readonly model_lists: ModelListCache
  /** Calls models. */
  readonly calls: ModelService
  /** Whose keys and budget pay for a caller's model calls. */
  billingOf(owner: OwnerScope): BillingContext
  /** Answers chat completions, with models and with workflows. */
  readonly completions: CompletionService
  /** The workflows that are served as models. */
  readonly workflow_models: WorkflowModelService
  /** Downloads of model files. */
  readonly downloads: DownloadService
}

/** The services of runs, with what the submission and the queries of jobs need besides: a transport passes them the whole group. */
export interface RunServices extends JobSubmissionParts, JobListParts {
  /** The same as `schedulers.slices`. */
  readonly slices: TimeSliceScheduler
  readonly registry: NodeRegistry
  readonly workflows: WorkflowService
  readonly jobs: JobService
  readonly events: EventLog
  /** Checks whether a run could be started. */
  readonly preflight: PreflightService
  /** Removes jobs, events and files that are past their retention. */
  readonly retention: RetentionSweeper
}

/** Limits on what requests and sockets take of this process. */
export interface TransportLimits {
  /** Validates large bodies and frames in a worker thread. */
  readonly payloads: PayloadValidator
  /** Responses that wait for slow readers. */
  readonly response_buffers: ResponseBuffers
  /** The quota of jobs that sockets follow. */
  readonly followed_jobs: FollowQuota
  readonly followed_threads: FollowQuota
  /** Ends uploads that stall. Uploads may take longer than other requests. */
  readonly stall_detector: UploadStallDetector
}
