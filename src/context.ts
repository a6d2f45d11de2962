// The services of one process, which every transport receives as one explicit argument.
import type { AuditLog } from './access/audit-log.ts'
import type { Authenticator } from './access/authenticator.ts'
import type { CredentialRechecker } from './access/credential-rechecker.ts'
import type { RateLimiter } from './access/rate-limiter.ts'
import type { TokenServices } from './access/tokens/token-services.ts'
import type { AssetStore } from './assets/asset-store.ts'
import type { FileLookup } from './assets/file-lookup.ts'
import type { FolderRemovals } from './assets/folder-removals.ts'
import type { PreviewScheduler } from './assets/previews/scheduler.ts'
import type { AssetService } from './assets/service.ts'
import type { StoredObjectService } from './assets/stored-object-service.ts'
import type { TemporaryStore } from './assets/temporary/store.ts'
import type { ChatService } from './chat/service.ts'
import type { CompletionService } from './completions/service.ts'
import type { WorkflowModelService } from './completions/workflow-models/service.ts'
import type { Config } from './config.ts'
import type { OwnerScope } from './db/owner-scope.ts'
import type { SealedCursors } from './db/sealed-cursors.ts'
import type { Store } from './db/store.ts'
import type { DownloadService } from './downloads/service.ts'
import type { NodeRegistry } from './engine/node-api/node-type.ts'
import type { EventLog } from './events/log.ts'
import type { FollowQuota } from './follow-quota.ts'
import type { RetentionSweeper } from './jobs/retention.ts'
import type { JobService } from './jobs/service.ts'
import type { PreflightService } from './lifecycle/preflight/service.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { BillingContext } from './models/billing/billing-context.ts'
import type { SpendingLedger } from './models/billing/spending-ledger.ts'
import type { ModelService } from './models/calls/model-service.ts'
import type { ModelListCache } from './models/catalogue/model-list-cache.ts'
import type { ProviderRegistry } from './models/providers/registry.ts'
import type { OwnRequestDetector } from './net/own-request-detector.ts'
import type { ResponseBuffers } from './net/response-buffers.ts'
import type { UploadStallDetector } from './net/upload-stall-detector.ts'
import type { PayloadValidator } from './payloads/payload-validator.ts'
import type { Platform } from './platform.ts'
import type { Redactor } from './redaction/redactor.ts'
import type { SecretService } from './settings/secret-service.ts'
import type { SettingsService } from './settings/settings-service.ts'
import type { TimeSliceScheduler } from './shared/time-slices.ts'
import type { Vault } from './vault/vault.ts'
import type { WorkflowService } from './workflows/service.ts'

export interface AppContext {
  readonly config: Config
  readonly log: Log
  readonly platform: Platform
  /** Does long work of the main thread in short slices. */
  readonly slices: TimeSliceScheduler
  /** The time slices of readers of stored data. Many of them share each turn, and none waits behind its owner's work in `slices`. */
  readonly reading: TimeSliceScheduler
  /** Validates large bodies and frames in a worker thread. */
  readonly payloads: PayloadValidator
  /** Responses that wait for slow readers. */
  readonly held: ResponseBuffers
  /** The quota of jobs that sockets follow. */
  readonly followed: FollowQuota
  readonly followed_threads: FollowQuota
  /** Redacts everything that is served or logged. */
  readonly redactor: Redactor
  /** Cursors of lists that are ordered by key. */
  readonly cursors: SealedCursors
  /** Encrypts stored data that is never served. */
  readonly vault: Vault
  /** Counts requests and upgrades by client address, before `principalOf` checks the credential. */
  readonly limiter: RateLimiter
  /** Logs what authorized callers did, and which callers were refused. */
  readonly audit: AuditLog
  readonly tokens: TokenServices
  /** Authenticates a request or an upgrade: gives its principal, or why the caller is refused. */
  readonly principalOf: Authenticator
  /** Checks the credentials of open sockets and streams again. */
  readonly rechecks: CredentialRechecker
  readonly store: Store
  /** Secrets of users. */
  readonly secrets: SecretService
  /** Settings of users; the operator's settings are in `config`. */
  readonly settings: SettingsService
  readonly assets: AssetStore
  /** Lists, folders, creation and changes of assets, for callers. */
  readonly library: AssetService
  /** Makes thumbnails and reads facts of assets. */
  readonly previews: PreviewScheduler
  readonly folder_removals: FolderRemovals
  /** Objects that callers store under keys of their own. */
  readonly objects: StoredObjectService
  /** Files that callers uploaded for their runs. */
  readonly temporary: TemporaryStore
  /** Finds the files of assets, objects and temporary files by their URLs. */
  readonly files: FileLookup
  /** Ends uploads that stall. Uploads may take longer than other requests. */
  readonly upload_pace: UploadStallDetector
  /** Recognizes requests that this process sends for users and that come back to it. */
  readonly own_requests: OwnRequestDetector
  readonly registry: NodeRegistry
  /** Model providers. */
  readonly providers: ProviderRegistry
  /** The model lists of the providers. */
  readonly listings: ModelListCache
  /** Calls models. */
  readonly models: ModelService
  /** Downloads of model files. */
  readonly downloads: DownloadService
  /** Whose keys and budget pay for a caller's model calls. */
  customerOf(owner: OwnerScope): BillingContext
  /** Records the cost of model calls. */
  readonly ledger: SpendingLedger
  /** Answers chat completions, with models and with workflows. */
  readonly completions: CompletionService
  /** The workflows that are served as models. */
  readonly workflow_models: WorkflowModelService
  /** Threads, and their running turns. */
  readonly chat: ChatService
  readonly events: EventLog
  readonly workflows: WorkflowService
  readonly jobs: JobService
  /** Checks whether a run could be started. */
  readonly preflight: PreflightService
  readonly retention: RetentionSweeper
  readonly metrics: Metrics
  /** Aborts when everything that is still open must end. */
  readonly stopping: AbortSignal
  /** Milliseconds since the epoch. */
  readonly started_at: number
}
